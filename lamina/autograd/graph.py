"""The graph itself: its nodes and edges, hooks on what nodes keep, and hooks on many gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, final
from weakref import WeakKeyDictionary, WeakSet

from lamina import errors
from lamina.autograd.edges import GradientEdge, get_gradient_edge
from lamina.core.engine import root_edge
from lamina.core.hooks import RemovableHandle
from lamina.core.modes import door, state
from lamina.core.node import Node
from lamina.core.op import traced
from lamina.core.positions import here
from lamina.core.tensor import Tensor, cell_of
from lamina.core.versions import INFERENCE
from lamina.devices import device

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


# --- hooks on saved tensors -----------------------------------------------------------------------


class saved_tensors_hooks:
    """Within it, `pack_hook(t)` is kept for the backward pass instead of each tensor to be saved.

    `unpack_hook` gets what `pack_hook` returned, and must return a tensor with the same values.
    Useful to move saved values to disk or another device, or to compress them.

    >>> import lamina
    >>> from lamina.autograd.graph import saved_tensors_hooks
    >>> x = lamina.tensor(3.0, requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t.item(), lambda number: lamina.tensor(number)):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise errors.ArgumentTypeError("saved_tensors_hooks: both hooks must be callable")
        if state.saved_tensors_disabled is not None:
            raise errors.InvalidArgument(state.saved_tensors_disabled)
        state.pack_hooks = (*state.pack_hooks, (self.pack_hook, self.unpack_hook))
        door.watch(1)

    def __exit__(self, *_: object) -> None:
        door.watch(-1)
        state.pack_hooks = state.pack_hooks[:-1]


class save_on_cpu(saved_tensors_hooks):
    """Within it, tensors saved for the backward pass are kept in the computer's own memory."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[device, Tensor]:
            if tensor.device.type == "cpu":
                return tensor.device, traced.clone(tensor)
            return tensor.device, tensor.to("cpu")

        def unpack(packed: tuple[device, Tensor]) -> Tensor:
            where, tensor = packed
            return tensor.to(where)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within it, entering `saved_tensors_hooks` raises an error with this message."""
    if state.pack_hooks:
        raise errors.InvalidArgument(error_message)
    before = state.saved_tensors_disabled
    state.saved_tensors_disabled = error_message
    try:
        yield
    finally:
        state.saved_tensors_disabled = before


@final
class SavedCopies:
    """What `allow_mutation_on_saved_tensors` gives."""

    def clear(self) -> None:
        """Nothing to do: each copy is freed together with the node that it was made for."""


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[SavedCopies]:
    """Within it, tensors that are saved for the backward pass may be changed in place afterwards.

    A copy of each is kept instead of it.
    """
    with saved_tensors_hooks(lambda tensor: traced.clone(tensor), lambda copy: copy):
        yield SavedCopies()


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that values were changed where autograd does not see it."""
    for changed in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if changed._cell is not INFERENCE:
            cell_of(changed).bump(*here())


# --- hooks on many gradients ----------------------------------------------------------------------


@final
class _Handles:
    """Takes several hooks off at once."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take the hooks off."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> _Handles:
    """Call `fn` once in each backward pass that computes gradients of some of these tensors.

    With mode "all" it is called with the list of gradients, when the last one of those that the
    pass reaches is there; the others are None. With "any", it is called with the first gradient.
    """
    if mode not in ("all", "any"):
        raise errors.InvalidValue(f"Expects mode to be one of ('all', 'any') but got {mode}")
    watch = _AllGradients(tensors, fn) if mode == "all" else _FirstGradient(fn)
    return _Handles([t.register_hook(functools.partial(watch, k)) for k, t in enumerate(tensors)])


@final
class _AllGradients:
    """Collects the gradients of each pass, and calls the function when the last one is there."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[..., None]) -> None:
        self.edges = [root_edge(tensor) for tensor in tensors]
        self.fn = fn
        # Several threads may be in a pass at a time.
        self.passes: WeakKeyDictionary[Any, list[Tensor | None]] = WeakKeyDictionary()
        self.missing: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def __call__(self, index: int, gradient: Tensor) -> None:
        run = state.run
        if run not in self.passes:
            self.passes[run] = [None] * len(self.edges)
            self.missing[run] = sum(run.reaches(edge) for edge in self.edges)
        self.passes[run][index] = gradient
        self.missing[run] -= 1
        if self.missing[run] == 0:
            del self.missing[run]
            self.fn(self.passes.pop(run))


@final
class _FirstGradient:
    """Calls the function with the first gradient of each pass."""

    def __init__(self, fn: Callable[..., None]) -> None:
        self.fn = fn
        self.seen: WeakSet[Any] = WeakSet()

    def __call__(self, index: int, gradient: Tensor) -> None:
        if state.run not in self.seen:
            self.seen.add(state.run)
            self.fn(gradient)


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Does nothing: there is one stream."""


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Does nothing: there is one stream."""
