"""Checkpointing by a backward pass inside the backward pass: one node for a whole function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lamina import errors
from lamina.amp.casting import settings as autocast_settings
from lamina.autograd.backward import backward
from lamina.autograd.function import Function
from lamina.core import blame
from lamina.core.definitions import definition
from lamina.core.modes import enable_grad, no_grad, state
from lamina.core.streams import restore, states
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.errors import Note

__all__ = ["CheckpointFunction", "check_backward_validity", "detach_variable", "random_state"]


@contextmanager
def random_state(wanted: Any) -> Iterator[None]:
    """Random numbers as they were; afterwards the stream goes on where it was."""
    if wanted is None:
        yield
        return
    before = states()
    restore(wanted)
    try:
        yield
    finally:
        restore(before)


class CheckpointFunction(Function):
    """The node that stands for a whole function, for `use_reentrant=True`."""

    @staticmethod
    def forward(
        ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any
    ) -> Any:
        """Run the function without recording, and keep its arguments."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random = states() if preserve_rng_state else None
        ctx.autocast = autocast_settings.now()
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.positions = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[k] for k in ctx.positions))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Run the function again, recording it, and a backward pass from its outputs."""
        if state.run is not None and state.run.limited:
            raise errors.InvalidArgument(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward().",
                [(definition(ctx.run_function), "the function")],
                ["use use_reentrant=False, or call .backward() without `inputs`"],
            )
        values = list(ctx.others)
        for position, tensor in zip(ctx.positions, ctx.saved_tensors, strict=True):
            values[position] = tensor
        given = detach_variable(tuple(values))
        with random_state(ctx.random), enable_grad(), autocast_settings.again(ctx.autocast):
            outputs = ctx.run_function(*given)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [
            (output, gradient)
            for output, gradient in zip(outputs, gradients, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise errors.NoGraph(
                "none of output has requires_grad=True, this checkpoint() is not necessary",
                [(definition(ctx.run_function), "the function")],
            )
        backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
        return (None, None, *(g._grad if isinstance(g, Tensor) else None for g in given))


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs, tensors among them as fresh leaves with the same flags."""
    if not isinstance(inputs, tuple):
        raise errors.InvalidArgument(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    found = []
    for value in inputs:
        if isinstance(value, Tensor):
            flag = value.requires_grad
            value = value.detach()
            value.requires_grad = flag
        found.append(value)
    return tuple(found)


def _made(inputs: Sequence[Any]) -> list[Note]:
    """Where the first of the inputs was made."""
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    return [n for t in tensors[:1] for n in blame.made_note(t, "this input requires no grad")]


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warn if none of the inputs leads a gradient anywhere."""
    if not any(isinstance(value, Tensor) and value.requires_grad for value in inputs):
        warn(
            errors.CheckpointWarning(
                "None of the inputs have requires_grad=True. Gradients will be None",
                [(blame.this_place(), "checkpointed here"), *_made(inputs)],
                ["use use_reentrant=False, which needs no such input"],
            )
        )
