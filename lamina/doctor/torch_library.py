"""PyTorch's own programs, as the doctor sees them: what can be known from outside."""

from __future__ import annotations

import importlib
import sys
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any, Final, final

import numpy as np

from lamina.core.names import name_of
from lamina.core.positions import internal_files
from lamina.doctor.events import Events
from lamina.doctor.library import MOST_NODES, Library, step_hooks
from lamina.errors import Place
from lamina.explain import Cause, Explanation
from lamina.explain.foreign import explain_foreign, operations_behind

_WORTH_SAYING: Final = frozenset(
    {Cause.NOT_REACHED, Cause.FROZEN, Cause.INTEGER_DTYPE, Cause.ZERO_GRADIENT}
)
"""Of these more is known than the finding itself says."""


@final
class TorchLibrary(Library):
    """The real PyTorch.

    Raises:
        ImportError: If it is not installed.
    """

    def __init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._folder = str(Path(str(self._torch.__file__)).parent)
        self._roots: list[weakref.ref[Any]] = []
        self.tensor_type = self._torch.Tensor
        self.module_type = self._torch.nn.Module

    def watch(self, events: Events) -> ExitStack:
        stack, torch = ExitStack(), self._torch
        before, after = step_hooks(events)
        optimizers: Any = importlib.import_module("torch.optim.optimizer")
        modules: Any = importlib.import_module("torch.nn.modules.module")
        for handle in (
            optimizers.register_optimizer_step_pre_hook(before),
            optimizers.register_optimizer_step_post_hook(after),
            modules.register_module_forward_pre_hook(lambda m, args: events.enter(m)),
            modules.register_module_forward_hook(
                lambda m, args, output: events.leave(m, output), always_call=True
            ),
        ):
            stack.callback(handle.remove)
        run = torch.autograd.backward

        def watched(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
            self._roots = [weakref.ref(root) for root in roots]
            events.backward(roots)
            return run(tensors, *args, **kwargs)

        # Nothing else tells that a pass begins; `Tensor.backward` comes here too.
        torch.autograd.backward = watched
        stack.callback(setattr, torch.autograd, "backward", run)
        return stack

    def position(self) -> Any:
        frame = self._user_frame()
        return frame.f_code, frame.f_lasti

    def _user_frame(self) -> FrameType:
        """The nearest frame that is neither Lamina's nor PyTorch's."""
        start: FrameType | None = sys._getframe(1)
        frame = start
        while frame is not None and self._is_internal(frame.f_code.co_filename):
            frame = frame.f_back
        found = frame or start
        assert found is not None
        return found

    def _is_internal(self, file: str) -> bool:
        return file in internal_files or file.startswith(self._folder)

    def values(self, tensor: Any) -> Any:
        if tensor.layout is not self._torch.strided or tensor.is_meta:
            return None
        found = tensor.detach()
        if found.dtype in (self._torch.bfloat16, self._torch.float16):
            found = found.float()
        try:
            return np.asarray(found.cpu().numpy())
        except (RuntimeError, TypeError):  # a dtype that NumPy has not
            return None

    def is_recording(self) -> bool:
        return bool(self._torch.is_grad_enabled())

    def is_computed(self, tensor: Any) -> bool:
        return tensor.grad_fn is not None

    def nodes_behind(self, tensor: Any) -> list[Any]:
        return sorted(operations_behind(tensor, MOST_NODES), key=self.age, reverse=True)

    def node_place(self, node: Any) -> Place | None:
        return None

    def operand_shapes(self, node: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        return None  # nodes do not keep them

    def has_domains(self, root: Any) -> bool:
        return False  # it would not help

    def hidden_nan(self, root: Any) -> tuple[str, Place] | None:
        return None  # nodes do not know where they were made

    def kept_bytes(self, roots: Sequence[Any]) -> list[tuple[Any, int]]:
        return []  # nodes do not know where they were made

    def age(self, node: Any) -> int:
        return int(node._sequence_nr())

    def age_now(self) -> int:
        made = self._torch.ones((), requires_grad=True) * 1
        return self.age(made.grad_fn)

    def is_never_reached(self, tensor: Any) -> bool:
        return False  # a gradient that was there and was cleared leaves no trace

    def explain(self, tensor: Any, name: str | None = None) -> Explanation | None:
        if not tensor.is_leaf:
            return None
        loss = next((root for one in self._roots if (root := one()) is not None), None)
        found = explain_foreign(self._torch, tensor, self._user_frame(), name, loss)
        return found if found.cause in _WORTH_SAYING else None

    def name(self, tensor: Any) -> str | None:
        return name_of(tensor, self._user_frame())

    def built_at(self, optimizer: Any) -> Place | None:
        return None
