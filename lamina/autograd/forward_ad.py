"""Forward mode by hand: tensors made dual inside a level carry tangents through every operation.

    with torch.autograd.forward_ad.dual_level():
        y = f(make_dual(x, v))
        primal, tangent = unpack_dual(y)

`torch.func.jvp` does the same for a function.
"""

from __future__ import annotations

from typing import NamedTuple, final

from lamina import errors
from lamina.core import blame, tangents
from lamina.core.modes import Mode, state
from lamina.core.tensor import Tensor

__all__ = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
    "unpack_dual",
]  # fmt: skip


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: a tensor without its tangent, and the tangent or None."""

    primal: Tensor
    tangent: Tensor | None


def _current() -> tangents.Level | None:
    level: tangents.Level | None = state.dual_level
    return level


def enter_dual_level() -> int:
    """Open a level of forward mode; `exit_dual_level` closes it. Prefer `dual_level`.

    Raises:
        InvalidArgument: (RuntimeError) If one is open: levels do not nest. (`func.jvp` does.)
    """
    if _current() is not None:
        raise errors.InvalidArgument(
            "Nested forward mode AD is not supported at the moment",
            [(blame.this_place(), "entered here, inside a level")],
            ["use torch.func.jvp, which nests"],
        )
    state.dual_level = tangents.open_level()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: all its tangents are gone."""
    current = _current()
    if current is None:
        raise errors.InvalidArgument(
            "Dual level must be a positive number: no level is open",
            [(blame.this_place(), "left here")],
            ["call enter_dual_level() first, or use `with dual_level():`"],
        )
    state.dual_level = None
    tangents.close_level(current)


@final
class dual_level(Mode):
    """A context in which tensors can carry tangents; after it they are gone.

    >>> import lamina
    >>> from lamina.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(lamina.tensor(3.0), lamina.tensor(1.0))
    ...     print(forward_ad.unpack_dual(x * x).tangent)
    tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a tangent: another object, with the same memory.

    Raises:
        InvalidArgument: (RuntimeError) Without an open level, or if the shapes differ.
        InvalidValue: (ValueError) For whole numbers.
    """
    current = _current()
    if current is None:
        raise errors.InvalidArgument(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first.",
            [(blame.this_place(), "made here")],
            ["write it inside `with torch.autograd.forward_ad.dual_level():`"],
        )
    for each in (tensor, tangent):
        if not isinstance(each, Tensor):
            raise errors.ArgumentTypeError(
                f"make_dual(): expected two tensors, got {type(each).__name__}",
                [(blame.this_place(), "made here")],
            )
    return with_tangent(tensor, tangent, current)


def with_tangent(tensor: Tensor, tangent: Tensor, level: tangents.Level) -> Tensor:
    """A tensor with the memory, and the place in the graph, of another one, and a tangent."""
    for what, each in (("primal", tensor), ("tangent", tangent)):
        if not each.dtype.is_differentiable:
            raise errors.InvalidValue(
                f"Expected {what} to be floating point or complex, but got: {each.dtype}",
                [(blame.this_place(), "given here")],
                ["whole numbers have no derivatives: convert with .float()"],
            )
    if tensor.shape != tangent.shape:
        raise errors.InvalidArgument(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}.",
            [(blame.this_place(), "given here"), *blame.made_note(tangent, "the tangent")],
        )
    made = tangents.without_tangent(tensor, level)
    tangents.set_tangent(made, level, tangent)
    return made


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent (None if it has none)."""
    current = _current()
    tangent = None if current is None else tangents.tangent_of(tensor, current)
    if current is None or tangent is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(tangents.without_tangent(tensor, current), tangent)
