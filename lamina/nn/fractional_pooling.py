"""Max pooling with windows of random, uneven strides, as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue
from lamina.nn import functional as F
from lamina.nn.module import Module
from lamina.nn.sizes import each_dim

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]


class _FractionalMaxPoolNd(Module):
    """What the two share."""

    _dims: ClassVar[int]
    _random_samples: Tensor | None

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        kind, dims = type(self).__name__, self._dims
        sizes = each_dim(kernel_size, dims)
        if any(size <= 0 for size in sizes):
            raise InvalidValue(f"kernel_size must be greater than zero, but got {kernel_size}")
        if (output_size is None) == (output_ratio is None):
            which = "only one of" if output_size is not None else "either"
            word = "and" if output_size is not None else "or"
            raise InvalidValue(f"{kind} takes {which} output_size {word} output_ratio")
        self.kernel_size = sizes
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each_dim(output_size, dims)
        self.output_ratio = None if output_ratio is None else each_dim(output_ratio, dims)
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise InvalidValue(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """Return the largest element of each window, and its place if asked for."""
        return self._function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Max pooling of images to a size of any ratio, with windows at random steps.

    From Graham, "Fractional max-pooling" (2014).

    Args:
        kernel_size: the size of the window, one number or one a dimension; so too below.
        output_size: the lengths of the output.
        output_ratio: the ratio of the output's lengths to the input's, instead.
        return_indices: whether to return also where the elements were.

    Example:
        >>> import lamina
        >>> lamina.nn.FractionalMaxPool2d(3, output_ratio=0.5)(lamina.ones(1, 2, 10, 12)).shape
        torch.Size([1, 2, 5, 6])
    """

    _dims = 2

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.fractional_max_pool2d(*args, **kwargs)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Max pooling of volumes to a size of any ratio; see `FractionalMaxPool2d`."""

    _dims = 3

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.fractional_max_pool3d(*args, **kwargs)
