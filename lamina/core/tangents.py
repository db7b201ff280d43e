"""Forward mode: tensors that carry tangents, and the levels to which these belong.

One `jvp` or `dual_level` opens a level; at each level a tensor has one tangent or none. The memory
has it, so to say: only a base holds one, and a view's is the same view of it. What operations do
with tangents stands in `tangent_calls`, and how they find that of a result in `tangent_rules`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

import numpy as np

from lamina.core.modes import door, state
from lamina.core.node import OutputEdge
from lamina.core.op import traced
from lamina.core.saved import KeptResult
from lamina.core.tensor import Tensor, wrap
from lamina.core.views import replay


@final
class Level:
    """One forward pass: what its tangents are kept by."""

    __slots__ = ("_carriers",)

    def __init__(self) -> None:
        self._carriers: list[weakref.ref[Tensor]] = []

    def note(self, tensor: Tensor) -> None:
        """Remember a tensor that got a tangent of this level."""
        self._carriers.append(weakref.ref(tensor))

    def forget(self) -> None:
        """Drop all tangents of this level."""
        for reference in self._carriers:
            tensor = reference()
            if tensor is not None:
                tensor.__dict__.get("tangents", {}).pop(self, None)
        self._carriers.clear()


def open_level() -> Level:
    """Begin a level inside those that are open."""
    level = Level()
    state.duals = (*state.duals, level)
    door.watch(1)
    return level


def close_level(level: Level) -> None:
    """End a level; its tangents are dropped."""
    door.watch(-1)
    state.duals = tuple([each for each in state.duals if each is not level])
    level.forget()


@contextmanager
def hidden(level: Level) -> Iterator[None]:
    """Inside, a level and those inside it are not seen by operations."""
    before = state.duals
    state.duals = before[: before.index(level)]
    try:
        yield
    finally:
        state.duals = before


# --- the tangent of a tensor ---------------------------------------------------------------------


def tangent_of(tensor: Tensor, level: Level) -> Tensor | None:
    """A tensor's tangent at a level, if it has one."""
    view = tensor._view
    held: Tensor | None = (
        (tensor if view is None else view.base).__dict__.get("tangents", {}).get(level)
    )
    if held is None or view is None:
        return held
    with hidden(level):
        seen: Tensor = replay(traced, held, view.steps)
    return seen


def set_tangent(tensor: Tensor, level: Level, tangent: Tensor) -> None:
    """Give a tensor a tangent; a view gives its part to the base."""
    view = tensor._view
    if view is not None:
        base = view.base
        with hidden(level):
            whole = tangent_of(base, level)
            whole = traced.zeros_like(base).detach() if whole is None else whole
            tangent = traced.overwrite_view(whole, tangent, view.steps)
        tensor = base
    tensor.__dict__.setdefault("tangents", {})[level] = tangent
    level.note(tensor)


def without_tangent(tensor: Tensor, level: Level) -> Tensor:
    """The tensor as another object of the same memory, without its tangent at a level."""
    made: Tensor = traced.view(tensor, tensor._array.shape)
    made._view = None  # else tangents would be the original's too
    for other in state.duals:
        if other is not level and (tangent := tangent_of(tensor, other)) is not None:
            set_tangent(made, other, tangent)
    return made


def innermost_level(tensors: Sequence[Any]) -> Level | None:
    """The innermost open level at which one of the tensors has a tangent."""
    for level in reversed(state.duals):
        for tensor in tensors:
            base = tensor if tensor._view is None else tensor._view.base
            tangents = base.__dict__.get("tangents")
            if tangents is not None and level in tangents:
                return level  # type: ignore[no-any-return]
    return None


def attach(output: Tensor, level: Level, tangent: Tensor) -> None:
    """Give a new tensor its tangent; what its node keeps of it gets it too."""
    set_tangent(output, level, tangent)
    node = output._node.node if output._node.__class__ is OutputEdge else output._node
    if node is None or node.saved.__class__ is not tuple:
        return
    for entry in node.saved:
        if entry.__class__ is KeptResult and entry.array is output._array:
            entry.tangents = output.__dict__.get("tangents")


def carry_over(tensor: Tensor, other: Tensor) -> None:
    """Give another tensor of the same elements the tangents that one has, at whatever level."""
    view = tensor._view
    held = (tensor if view is None else view.base).__dict__.get("tangents")
    if held:
        other.__dict__["tangents"] = {
            level: tangent if view is None else replay(traced, tangent, view.steps)
            for level, tangent in held.items()
        }
        for level in held:
            level.note(other)


def move_tangents(target: Tensor, function: Callable[..., Any], *args: Any) -> None:
    """A tensor became the view of itself that an operation makes: its tangents do so too."""
    if target._view is not None:
        return  # they are the base's
    for level in state.duals:
        tangent = tangent_of(target, level)
        if tangent is not None:
            with hidden(level):
                set_tangent(target, level, function(tangent, *args))


def forget_tangents(target: Tensor) -> None:
    """A tensor was overwritten with values that depend on nothing: its tangents are zero."""
    for level in state.duals:
        if tangent_of(target, level) is not None:
            set_tangent(target, level, zeros_like(target))


def zeros_like(tensor: Tensor) -> Tensor:
    """The tangent of what depends on nothing."""
    return wrap(np.zeros_like(tensor._array), None)
