"""Small questions about tensors and objects."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor

__all__ = [
    "get_device", "is_conj", "is_distributed", "is_inference", "is_neg", "is_nonzero",
    "is_same_size", "is_signed", "typename",
]  # fmt: skip


def typename(obj: Any, /) -> str:
    """The full name of an object's type: of tensors `torch.FloatTensor`, of classes their own.

    >>> import lamina
    >>> typename(1), typename(lamina.ones(1))
    ('int', 'torch.FloatTensor')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if isinstance(obj, type) else type(obj)
    home = kind.__module__
    return kind.__qualname__ if home in ("builtins", "", None) else f"{home}.{kind.__qualname__}"


@native
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero."""
    if input.numel() != 1:
        few = "no values" if not input.numel() else "more than one value"
        raise errors.AmbiguousTruth(
            f"Boolean value of Tensor with {few} is ambiguous", [(this_place(), "asked for here")]
        )
    return bool(input)


@native
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return input.shape == other.shape


@native
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.dtype.is_signed


@native
def is_conj(input: Tensor) -> bool:
    """False: conjugates are computed."""
    return input.is_conj()


@native
def is_neg(input: Tensor) -> bool:
    """False: negated tensors are computed."""
    return input.is_neg()


@native
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return input.is_inference()


@native
def is_distributed(input: Tensor) -> bool:
    """False: no tensor is spread over processes."""
    return False


@native
def get_device(input: Tensor) -> int:
    """The number of the CUDA device that a tensor is on; -1 for the CPU."""
    return input.get_device()
