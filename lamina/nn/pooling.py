"""Pooling: the largest or the mean of the elements in a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina.core.tensor import Tensor
from lamina.nn import functional as F
from lamina.nn.module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
]


class _MaxPoolNd(Module):
    """What the three max poolings share."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """Return the largest element of each window, and its place if asked for."""
        return self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of a sequence; see `MaxPool2d`."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.max_pool1d(*args, **kwargs)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of an image.

    Args:
        kernel_size: the size of the window, one number or one a dimension; so too below.
        stride: how far the window moves; its size when left out.
        padding: how much minus infinity is put around the input.
        dilation: how far apart the elements of the window are.
        return_indices: whether to return also where the elements were.
        ceil_mode: whether a window that leaves the input at the end counts.

    Shape:
        `(N, C, H, W)` or `(C, H, W)` to the same with lengths
        `floor((H + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)`.

    Example:
        >>> import lamina
        >>> lamina.nn.MaxPool2d(2)(lamina.arange(16.0).reshape(1, 4, 4))
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.max_pool2d(*args, **kwargs)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of a volume; see `MaxPool2d`."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.max_pool3d(*args, **kwargs)


class AvgPool1d(Module):
    """The mean of each window of a sequence.

    Args:
        kernel_size: the size of the window.
        stride: how far the window moves; its size when left out.
        padding: how many zeros are put around the input.
        ceil_mode: whether a window that leaves the input at the end counts.
        count_include_pad: whether the zeros around the input count in the mean.
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        # PyTorch keeps tuples here, and shows them.
        self.kernel_size = _tuple(kernel_size)
        self.stride = self.kernel_size if stride is None else _tuple(stride)
        self.padding = _tuple(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """Return the mean of each window."""
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


def _tuple(value: int | Sequence[int]) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


class _AvgPoolNd(Module):
    """What the two average poolings with a divisor share."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Return the mean of each window."""
        return self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of an image.

    Args:
        kernel_size: the size of the window, one number or one a dimension; so too below.
        stride: how far the window moves; its size when left out.
        padding: how many zeros are put around the input.
        ceil_mode: whether a window that leaves the input at the end counts.
        count_include_pad: whether the zeros around the input count in the mean.
        divisor_override: what to divide the sum by instead of the count.
    """

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.avg_pool2d(*args, **kwargs)


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of a volume; see `AvgPool2d`."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.avg_pool3d(*args, **kwargs)


class _AdaptivePoolNd(Module):
    """What adaptive poolings share: the size of the output is given, not that of the window."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        """Return `input` pooled to the size."""
        return self._function(input, self.output_size)

    def extra_repr(self) -> str:
        """Return the size."""
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    """Adaptive pooling by means."""


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of as many windows as the output is long; see `AdaptiveAvgPool2d`."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.adaptive_avg_pool1d(*args, **kwargs)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of windows, as many as make an output of the given size.

    Args:
        output_size: one number or one a dimension; None keeps that of the input.

    Shape:
        `(N, C, H, W)` or `(C, H, W)` to the same with the given lengths.

    Example:
        >>> import lamina
        >>> lamina.nn.AdaptiveAvgPool2d(1)(lamina.ones(2, 3, 7, 5)).shape
        torch.Size([2, 3, 1, 1])
    """

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.adaptive_avg_pool2d(*args, **kwargs)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of windows of a volume; see `AdaptiveAvgPool2d`."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.adaptive_avg_pool3d(*args, **kwargs)


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    """Adaptive pooling that can return where the elements were."""

    def __init__(
        self, output_size: int | Sequence[int | None] | None, return_indices: bool = False
    ) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """Return `input` pooled to the size."""
        return self._function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of as many windows as the output is long."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.adaptive_max_pool1d(*args, **kwargs)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of windows, as many as make an output of the given size."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.adaptive_max_pool2d(*args, **kwargs)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of windows of a volume, as many as make an output of the given size."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.adaptive_max_pool3d(*args, **kwargs)
