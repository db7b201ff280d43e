"""Pooling with norms, and undoing max pooling, as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.nn import functional as F
from lamina.nn.module import Module
from lamina.nn.sizes import each_dim

__all__ = ["LPPool1d", "LPPool2d", "LPPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _LPPoolNd(Module):
    """What the three share."""

    @staticmethod
    def _function(*args: Any) -> Any:
        raise NotImplementedError

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """Return the norm of each window."""
        return self._function(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of a sequence; see `LPPool2d`."""

    @staticmethod
    def _function(*args: Any) -> Any:
        return F.lp_pool1d(*args)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of an image: `sum(x**p) ** (1/p)`.

    Args:
        norm_type: p.
        kernel_size: the size of the window, one number or one a dimension.
        stride: how far the window moves; its size when left out.
        ceil_mode: whether a window that leaves the input at the end counts.

    Example:
        >>> import lamina
        >>> lamina.nn.LPPool2d(2, 2)(lamina.ones(1, 1, 4, 4))
        tensor([[[[2., 2.],
                  [2., 2.]]]])
    """

    @staticmethod
    def _function(*args: Any) -> Any:
        return F.lp_pool2d(*args)


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of a volume; see `LPPool2d`."""

    @staticmethod
    def _function(*args: Any) -> Any:
        return F.lp_pool3d(*args)


class _MaxUnpoolNd(Module):
    """What the three share."""

    _dims: ClassVar[int]

    @staticmethod
    def _function(*args: Any) -> Any:
        raise NotImplementedError

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = each_dim(kernel_size, self._dims)
        self.stride = each_dim(kernel_size if stride is None else stride, self._dims)
        self.padding = each_dim(padding, self._dims)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """Return the larger tensor.

        Args:
            input: what max pooling returned.
            indices: where the elements were, as it returned with `return_indices=True`.
            output_size: the lengths of the result, where the stride leaves a choice.
        """
        return self._function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the results of `MaxPool1d` back where they were; see `MaxUnpool2d`."""

    _dims = 1

    @staticmethod
    def _function(*args: Any) -> Any:
        return F.max_unpool1d(*args)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the results of `MaxPool2d` back where they were, with zeros elsewhere.

    Args:
        kernel_size: the window of the pooling, one number or one a dimension.
        stride: how far it moved; its size when left out.
        padding: how much was put around the input.

    Example:
        >>> import lamina
        >>> x = lamina.tensor([[[1.0, 2.0], [4.0, 3.0]]])
        >>> top, places = lamina.nn.MaxPool2d(2, return_indices=True)(x)
        >>> lamina.nn.MaxUnpool2d(2)(top, places)
        tensor([[[0., 0.],
                 [4., 0.]]])
    """

    _dims = 2

    @staticmethod
    def _function(*args: Any) -> Any:
        return F.max_unpool2d(*args)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the results of `MaxPool3d` back where they were; see `MaxUnpool2d`."""

    _dims = 3

    @staticmethod
    def _function(*args: Any) -> Any:
        return F.max_unpool3d(*args)
