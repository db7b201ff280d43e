"""Lamina's own programs, as the doctor sees them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final, final

import numpy as np

from lamina.core import records
from lamina.core.blame.words import name_of_object, node_place, nodes_behind, op_word
from lamina.core.modes import state
from lamina.core.positions import here
from lamina.core.tensor import Tensor
from lamina.core.versions import next_stamp
from lamina.doctor.events import Events
from lamina.doctor.library import MOST_NODES, Library, step_hooks
from lamina.errors import Place
from lamina.explain import Cause, Explanation
from lamina.explain.answer import explanation_of
from lamina.explain.graphs.kept import Keeping, kept_arrays
from lamina.nn import Module
from lamina.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook
from lamina.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

_WITH_DOMAINS: Final = frozenset(
    {"sqrt", "rsqrt", "log", "log2", "log10", "log1p", "pow", "div", "reciprocal", "norm"}
    | {"acos", "asin", "acosh", "atanh"}
)
"""Operations that have no value for some numbers."""

_RECORDS_OF_GRADIENTS: Final = ("grad_filled_at", "grad_cleared_at", "returned_at")


@final
class OwnLibrary(Library):
    """Lamina."""

    tensor_type = Tensor
    module_type = Module

    def watch(self, events: Events) -> ExitStack:
        stack = ExitStack()
        before, after = step_hooks(events)
        for handle in (
            register_optimizer_step_pre_hook(before),
            register_optimizer_step_post_hook(after),
            register_module_forward_pre_hook(lambda m, args: events.enter(m)),
            register_module_forward_hook(
                lambda m, args, output: events.leave(m, output), always_call=True
            ),
        ):
            stack.callback(handle.remove)
        watcher = events.backward
        records.watchers.append(watcher)
        stack.callback(records.watchers.remove, watcher)
        return stack

    def position(self) -> Any:
        return here()

    def values(self, tensor: Any) -> Any:
        array = tensor._array
        return array if array.__class__ is np.ndarray else None

    def is_recording(self) -> bool:
        return state.grad_enabled

    def is_computed(self, tensor: Any) -> bool:
        return tensor._node is not None

    def nodes_behind(self, tensor: Any) -> list[Any]:
        found = nodes_behind(tensor._node, limit=MOST_NODES)
        return sorted(found, key=self.age, reverse=True)

    def node_place(self, node: Any) -> Place | None:
        return node_place(node)

    def operand_shapes(self, node: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        context = getattr(node, "context", None)
        if context.__class__ is not tuple or len(context) != 2:
            return None
        shapes = [part[0] if part.__class__ is tuple and part else None for part in context]
        first, second = (tuple(s) if isinstance(s, tuple) else None for s in shapes)
        return None if first is None or second is None else (first, second)

    def has_domains(self, root: Any) -> bool:
        return any(op_word(node) in _WITH_DOMAINS for node in self.nodes_behind(root))

    def hidden_nan(self, root: Any) -> tuple[str, Place] | None:
        for node in reversed(self.nodes_behind(root)):
            if op_word(node) in _WITH_DOMAINS and any(map(_has_nan, kept_arrays(node))):
                return op_word(node), node_place(node)
        return None

    def kept_bytes(self, roots: Sequence[Any]) -> list[tuple[Any, int]]:
        keeping, seen = Keeping({}, {}), set[int]()
        found = []
        for node in (node for root in roots for node in self.nodes_behind(root)):
            kept = [k for k in keeping.of(node) if k.is_extra and k.memory not in seen]
            seen.update(k.memory for k in kept)
            found.append((node, sum({k.memory: k.memory_bytes for k in kept}.values())))
        return found

    def age(self, node: Any) -> int:
        return int(node.stamp)

    def age_now(self) -> int:
        return next_stamp()

    def is_never_reached(self, tensor: Any) -> bool:
        is_leaf = tensor._requires_grad and tensor._node is None and tensor._view is None
        had_one = any(getattr(tensor, name, None) for name in _RECORDS_OF_GRADIENTS)
        return is_leaf and tensor._grad is None and not had_one

    def explain(self, tensor: Any, name: str | None = None) -> Explanation | None:
        found = explanation_of(tensor, name)
        return None if found.cause is Cause.FINE else found

    def name(self, tensor: Any) -> str | None:
        return name_of_object(tensor)

    def built_at(self, optimizer: Any) -> Place | None:
        position = getattr(optimizer, "_built_at", None)
        return None if position is None else self.place_of(position)


def _has_nan(array: Any) -> bool:
    return array.__class__ is np.ndarray and array.dtype.kind == "f" and bool(np.isnan(array).any())
