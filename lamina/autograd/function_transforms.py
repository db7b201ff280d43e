"""Custom Functions in forward mode, and mapped over samples: their `jvp` and `vmap` are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina import errors
from lamina.autograd import function_blame
from lamina.core import blame, tangents
from lamina.core.batches import Mapping
from lamina.core.modes import state
from lamina.core.op import traced
from lamina.core.tensor import Tensor, wrap
from lamina.devices.batched import Batch, batches_of

Applied = Callable[[tuple[Any, ...]], tuple[Any, Any]]


# --- forward mode --------------------------------------------------------------------------------


def level_of(args: Sequence[Any]) -> tangents.Level | None:
    """The innermost open level at which an argument has a tangent."""
    return tangents.innermost_level([value for value in args if isinstance(value, Tensor)])


def with_tangents(cls: Any, args: tuple[Any, ...], applied: Applied, level: tangents.Level) -> Any:
    """Run a Function, and then its `jvp` for the tangents of its outputs."""
    held = [tangents.tangent_of(a, level) if isinstance(a, Tensor) else None for a in args]
    with tangents.hidden(level):
        made, ctx = applied(args)
        given = [_shown(ctx, value, t) for value, t in zip(args, held, strict=True)]
        ctx.is_in_jvp = True
        try:
            found = cls.jvp(ctx, *given)
        finally:
            ctx.is_in_jvp = False
    outputs = made if isinstance(made, tuple) else (made,)
    parts = found if isinstance(found, tuple) else (found,)
    if len(parts) != len(outputs):
        raise errors.InvalidArgument(
            f"Function's jvp returned an invalid number of forward gradients (expected "
            f"{len(outputs)} but got {len(parts)})",
            [(blame.this_place(), "applied here"), function_blame.forward_note(cls)],
            ["return one tangent for each output of forward, None where it has none"],
        )
    for index, (output, tangent) in enumerate(zip(outputs, parts, strict=True)):
        _check_tangent(cls, index, output, tangent)
        if tangent is not None and output.dtype.is_differentiable:
            tangents.attach(output, level, tangent)
    return made


def _shown(ctx: Any, value: Any, tangent: Tensor | None) -> Any:
    """An argument's tangent as `jvp` sees it: zeros for a tensor that has none."""
    if tangent is not None or not isinstance(value, Tensor) or not ctx.materialize_grads:
        return tangent
    return wrap(np.zeros_like(value._array), None)


def _check_tangent(cls: Any, index: int, output: Any, tangent: Any) -> None:
    if tangent is None:
        return
    if not isinstance(tangent, Tensor):
        raise errors.InvalidArgument(
            f"expected Variable or None (got {type(tangent).__name__}) for grad output {index}.",
            [(blame.this_place(), "applied here"), function_blame.forward_note(cls)],
            [f"the jvp of {cls.__name__} returns one tensor, or None, for each output"],
        )
    if tangent.shape != output.shape:
        raise errors.InvalidArgument(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(output.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}.",
            [(blame.this_place(), "applied here"), function_blame.forward_note(cls)],
            ["a tangent has the shape of its output"],
        )


# --- mapping -------------------------------------------------------------------------------------


class VmapInfo(NamedTuple):
    """What the `vmap` method of a Function is told."""

    batch_size: int
    randomness: str


def mapping_of(args: Sequence[Any]) -> Mapping | None:
    """The innermost mapping whose samples are among the arguments, or in lists among them."""
    found = set(_batches_among(args))
    for mapping in reversed(state.mappings):
        if mapping.batch in found:
            return mapping
    return None


def _batches_among(values: Sequence[Any]) -> Iterator[Batch]:
    for value in values:
        if isinstance(value, Tensor):
            yield from batches_of(value._array)
        elif isinstance(value, list | tuple):
            yield from _batches_among(value)


def check_rule(cls: Any) -> None:
    """Raise for a Function that has a rule of its own and asks for one to be made."""
    if cls.generate_vmap_rule:
        raise errors.InvalidArgument(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and "
            "an overridden vmap staticmethod.",
            [(blame.this_place(), "applied here")],
            ["set generate_vmap_rule=False, or delete the vmap staticmethod"],
        )


def by_own_rule(
    rule: Callable[..., Any], args: Sequence[Any], mapping: Mapping,
    kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Call a rule for many samples, such as the `vmap` method of a Function, with all of them.

    Args:
        rule: Takes a `VmapInfo`, the dimensions in which the arguments hold samples, and these.
    """
    batch = mapping.batch
    assert batch is not None
    pairs = [_left(value, batch) for value in args]
    before = state.mappings
    state.mappings = tuple([each for each in before if each is not mapping])
    try:
        info = VmapInfo(mapping.size, mapping.randomness)
        dims = tuple([dim for _, dim in pairs])
        found = rule(info, dims, *[value for value, _ in pairs], **(kwargs or {}))
    finally:
        state.mappings = before
    if not isinstance(found, tuple) or len(found) != 2:
        raise errors.InvalidArgument(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output. Got a {type(found)} instead",
            [(blame.this_place(), "applied here")],
            ["end it with `return output, out_dims`, such as `return y, 0`"],
        )
    return _entered(*found, batch)


def _left(value: Any, batch: Batch) -> tuple[Any, Any]:
    """An argument with all samples, and the dimension that holds them; lists part by part."""
    if isinstance(value, list | tuple):
        pairs = [_left(each, batch) for each in value]
        return type(value)(each for each, _ in pairs), type(value)(dim for _, dim in pairs)
    if isinstance(value, Tensor) and batch in batches_of(value._array):
        return traced.leave_batch(value, batch, 0), 0
    return value, None


def _entered(output: Any, dim: Any, batch: Any) -> Any:
    if isinstance(output, tuple | list):
        dims = dim if isinstance(dim, tuple | list) else [dim] * len(output)
        return type(output)(_entered(o, d, batch) for o, d in zip(output, dims, strict=True))
    if dim is None or not isinstance(output, Tensor):
        return output
    return traced.enter_batch(output, batch, dim % output.ndim)
