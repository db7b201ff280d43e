"""Checkpointing: less memory for the backward pass, by running parts of the forward pass again.

What a checkpointed function would keep for its derivatives is forgotten, and computed anew from its
arguments when the backward pass asks for it.

Two ways. The newer one (`use_reentrant=False`) runs the function as ever, with hooks on the tensors
that its nodes save: the graph looks the same as without a checkpoint. The older one hides the whole
function in one node, and runs a backward pass inside the backward pass.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, final

from lamina import errors
from lamina.amp.casting import settings as autocast_settings
from lamina.autograd.graph import saved_tensors_hooks
from lamina.core import blame
from lamina.core.definitions import definition
from lamina.core.modes import enable_grad, state
from lamina.core.node import Node
from lamina.core.op import traced
from lamina.core.op_node import edge_of
from lamina.core.positions import here
from lamina.core.saved import keep_input, unpack
from lamina.core.streams import states, stream_of
from lamina.core.tensor import Tensor
from lamina.core.versions import next_stamp
from lamina.core.warning import warn
from lamina.devices import device
from lamina.utils.checkpoint_reentrant import (
    CheckpointFunction,
    check_backward_validity,
    detach_variable,
    random_state,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

CheckpointError = errors.CheckpointMismatch

Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Two contexts that do nothing: the default for the first run and the second."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, whose inner values are computed again in the backward pass.

    Args:
        use_reentrant: Better False; True needs an argument that requires grad, and `backward()`
            without `inputs`.
        context_fn: Gives two contexts, for the first run and for the second.
        determinism_check: "default" compares shapes and dtypes of the two runs, "none" does not.
        debug: Accepted; errors always say what differed and where.
        early_stop: End the second run once everything that is needed is there.
        preserve_rng_state: Give the second run the random numbers of the first.

    >>> import lamina
    >>> x = lamina.tensor([0.0, 1.0], requires_grad=True)
    >>> y = checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([0.0000, 5.4366])
    """
    if use_reentrant is None:
        warn(_EXPLICIT.format("checkpoint"))
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise errors.InvalidValue(
                f"Unexpected keyword arguments: {','.join(kwargs)}",
                [(blame.this_place(), "called here")],
                ["use use_reentrant=False, which passes keyword arguments on"],
            )
        if context_fn is not noop_context_fn or debug:
            raise errors.InvalidValue(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise errors.InvalidValue(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    first, second = context_fn()
    if not state.grad_enabled:
        with first:
            return function(*args, **kwargs)
    stops = early_stop if _Settings.early_stop is None else _Settings.early_stop
    region = _Region(function, args, kwargs, second, determinism_check, stops, preserve_rng_state)
    with saved_tensors_hooks(region.pack, region.unpack), first:
        return function(*args, **kwargs)


_EXPLICIT: Final = (
    "torch.utils.checkpoint.{}: the use_reentrant parameter should be passed explicitly. "
    "use_reentrant=False is the better one; without it, True is assumed"
)


class _Settings:
    early_stop: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Within it, `early_stop` of all checkpoints is as given here."""
    before, _Settings.early_stop = _Settings.early_stop, enable
    try:
        yield
    finally:
        _Settings.early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Accepted: errors always say what differed and where."""
    yield


# --- with hooks on saved tensors ------------------------------------------------------------------


class _Kept:
    """Stands for one saved tensor; holds its value only between the second run and its use."""

    __slots__ = ("__weakref__", "metadata", "position", "value")

    def __init__(self, position: int, tensor: Tensor) -> None:
        self.position = position
        self.metadata = _metadata(tensor)
        self.value: Tensor | None = None


def _metadata(tensor: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.dtype, tensor.device


class _Enough(Exception):
    """Ends a second run when all values that are needed are there."""


@final
class _Arguments(Node):
    """Keeps the arguments as a node keeps its inputs: checked, and through the hooks outside."""

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """Never called: nothing leads here."""
        raise NotImplementedError


@final
class _Region:
    """One call of a checkpointed function."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        context: AbstractContextManager[Any], determinism_check: str, stops: bool, random: bool,
    ) -> None:  # fmt: skip
        self.function = function
        self.names = tuple(kwargs)
        self.context = context
        self.is_checked = determinism_check == "default"
        self.stops = stops
        self.random = states() if random else None
        self.autocast = autocast_settings.now()
        self.count = 0
        self.waiting: list[weakref.ref[_Kept]] = []
        self.place = here()
        self.arguments = node = _Arguments()
        values = (*args, *kwargs.values())
        node.next = tuple(edge_of(value) for value in values)
        node.code, node.lasti = self.place
        node.context = node.freed_at = node._hooks = None
        node.saved = tuple(keep_input(value) for value in values)
        node.stamp = next_stamp()

    def pack(self, tensor: Tensor) -> _Kept:
        """The hook of the first run: the value is dropped."""
        kept = _Kept(self.count, tensor)
        self.count += 1
        self.waiting.append(weakref.ref(kept))
        return kept

    def unpack(self, kept: _Kept) -> Tensor:
        """The hook of the backward pass. A value is given out once, and then computed again."""
        if kept.value is None:
            self._run_again()
        value, kept.value = kept.value, None
        if value is None:
            raise self._different_number(kept.position)
        return value

    def _run_again(self) -> None:
        self.seen = 0
        self.found = 0
        self.needed = sum(reference() is not None for reference in self.waiting)
        values = [unpack(self.arguments, entry, traced) for entry in self.arguments.saved]
        count = len(values) - len(self.names)
        kwargs = dict(zip(self.names, values[count:], strict=True))
        hooks = saved_tensors_hooks(self._receive, _not_now)
        as_then = autocast_settings.again(self.autocast)
        with random_state(self.random), enable_grad(), as_then, hooks, self.context:
            try:
                self.function(*values[:count], **kwargs)
            except _Enough:
                return
        if self.is_checked and self.seen != self.count:
            raise self._different_number(None)

    def _receive(self, tensor: Tensor) -> None:
        """The hook of the second run: the value goes where it is needed."""
        position, self.seen = self.seen, self.seen + 1
        if position >= self.count:
            return
        kept = self.waiting[position]()
        if kept is not None:
            if self.is_checked and kept.metadata != _metadata(tensor):
                raise self._different_values(kept, tensor)
            kept.value = tensor.detach()
            self.found += 1
        if self.stops and self.found == self.needed:
            raise _Enough

    def _notes(self) -> list[tuple[Any, str]]:
        node = self.arguments
        return [
            (definition(self.function), "the function"),
            (blame.node_place(node), "checkpointed here"),
        ]

    def _different_number(self, position: int | None) -> errors.CheckpointMismatch:
        return errors.CheckpointMismatch(
            "torch.utils.checkpoint: A different number of tensors was saved during the original "
            f"forward and recomputation: {self.count} first, {self.seen} when run again",
            self._notes(),
            _DETERMINISTIC,
        )

    def _different_values(self, kept: _Kept, tensor: Tensor) -> errors.CheckpointMismatch:
        return errors.CheckpointMismatch(
            "torch.utils.checkpoint: Recomputed values for the following tensors have different "
            f"metadata than during the forward pass: saved tensor {kept.position} was "
            f"{_words(kept.metadata)}, and {_words(_metadata(tensor))} when run again",
            self._notes(),
            _DETERMINISTIC,
        )


_DETERMINISTIC: Final = [
    "the function must do the same each time: nothing in it may depend on what changed since, such "
    "as a counter, a global, or a module's training flag",
    "determinism_check='none' turns this check off",
]


def _words(metadata: tuple[Any, ...]) -> str:
    shape, kind, place = metadata
    return f"{list(shape)} {kind} on {place}"


def _not_now(packed: Any) -> Tensor:
    raise errors.CheckpointMismatch(
        "torch.utils.checkpoint: a tensor that was saved while running a function again was asked "
        "for: only the first run's graph is used"
    )


# --- sequences ------------------------------------------------------------------------------------


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run a sequence of modules in `segments` checkpointed parts; the last part is not."""
    if use_reentrant is None:
        warn(_EXPLICIT.format("checkpoint_sequential"))
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise errors.InvalidValue(f"Unexpected keyword arguments: {','.join(kwargs)}")
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def part(start: int, stop: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for step in steps[start:stop]:
                value = step(value)
            return value

        return run

    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(
            part(start, start + size),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return part(size * (segments - 1), len(steps))(input)


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The CUDA devices among those of the arguments, and the states of their random numbers."""
    tensors = [argument for argument in args if isinstance(argument, Tensor)]
    places = list(dict.fromkeys(t.device for t in tensors if t.device.type == "cuda"))
    return [place.index or 0 for place in places], [stream_of(p).get_state() for p in places]


def set_device_states(devices: Sequence[int], states: Sequence[Any], **_: Any) -> None:
    """The counterpart of `get_device_states`."""
    for index, found in zip(devices, states, strict=True):
        stream_of(device("cuda", index)).set_state(found)
