"""Reshaping as a layer."""

from __future__ import annotations

from collections.abc import Sequence

from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError
from lamina.nn.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins a run of dimensions into one; by default all but the first, the batch.

    Args:
        start_dim: the first dimension to join.
        end_dim: the last dimension to join.

    Shape:
        `(N, a, b, ...)` to `(N, a * b * ...)`.

    Example:
        >>> import lamina
        >>> lamina.nn.Flatten()(lamina.ones(32, 1, 5, 5)).shape
        torch.Size([32, 25])
    """

    __constants__ = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` flattened."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several.

    Args:
        dim: the dimension to split.
        unflattened_size: the sizes it becomes; one of them may be -1.

    Shape:
        `(*, a * b, *)` to `(*, a, b, *)`.

    Example:
        >>> import lamina
        >>> lamina.nn.Unflatten(1, (5, 5))(lamina.ones(2, 25)).shape
        torch.Size([2, 5, 5])
    """

    __constants__ = ("dim", "unflattened_size")

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise ArgumentTypeError("nn.Unflatten takes an int for `dim`")
        is_sizes = isinstance(unflattened_size, tuple | list)
        if not is_sizes or not all(isinstance(size, int) for size in unflattened_size):
            raise ArgumentTypeError(
                f"unflattened_size must be a tuple or list of ints, and {unflattened_size!r} is not"
            )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with the dimension split."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
