"""Padding as layers: with a number, a mirror, the edge, or the other end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue
from lamina.nn import functional as F
from lamina.nn.module import Module
from lamina.nn.sizes import each_dim

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """What all padding layers share: how much at each end, the last dimension first."""

    _dims: ClassVar[int]
    _mode: ClassVar[str] = "constant"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = each_dim(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        """Return `input`, padded."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Return how much is added at each end."""
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """Padding with one number."""

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Return `input`, padded."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads a sequence with one number; see `ConstantPad2d`."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads an image with one number.

    Args:
        padding: how much at every end, or `(left, right, top, bottom)`; negative numbers crop.
        value: the number.

    Shape:
        `(*, H, W)` to `(*, top + H + bottom, left + W + right)`.

    Example:
        >>> import lamina
        >>> lamina.nn.ConstantPad2d((1, 0, 0, 1), 3.5)(lamina.zeros(1, 2))
        tensor([[3.5000, 0.0000, 0.0000],
                [3.5000, 3.5000, 3.5000]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads a volume with one number, `(left, right, top, bottom, front, back)`."""

    _dims = 3


class _ZeroPad(_ConstantPadNd):
    """Padding with zeros."""

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return how much is added at each end."""
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads a sequence with zeros.

    Args:
        padding: how much at both ends, or `(left, right)`.
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads an image with zeros.

    Args:
        padding: how much at every end, or `(left, right, top, bottom)`.

    Example:
        >>> import lamina
        >>> lamina.nn.ZeroPad2d(1)(lamina.ones(3, 4, 4)).shape
        torch.Size([3, 6, 6])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads a volume with zeros, `(left, right, top, bottom, front, back)`."""


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads a sequence with its mirror image, the edge not repeated.

    Args:
        padding: how much at both ends, or `(left, right)`; less than the length.

    Example:
        >>> import lamina
        >>> lamina.nn.ReflectionPad1d(2)(lamina.arange(4.0)[None])
        tensor([[2., 1., 0., 1., 2., 3., 2., 1.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads an image with its mirror image, `(left, right, top, bottom)`; see `ReflectionPad1d`."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads a volume with its mirror image; see `ReflectionPad1d`."""

    _dims = 3


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads a sequence with the elements at its ends.

    Args:
        padding: how much at both ends, or `(left, right)`.

    Example:
        >>> import lamina
        >>> lamina.nn.ReplicationPad1d(2)(lamina.arange(3.0)[None])
        tensor([[0., 0., 0., 1., 2., 2., 2.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads an image with its edges, `(left, right, top, bottom)`; see `ReplicationPad1d`."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads a volume with its faces; see `ReplicationPad1d`."""

    _dims = 3


class _CircularPadNd(_Pad):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise InvalidValue(
                f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)"
            )

    def forward(self, input: Tensor) -> Tensor:
        """Return `input`, padded."""
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads a sequence with what stands at its other end.

    Args:
        padding: how much at both ends, or `(left, right)`; at most the length.

    Example:
        >>> import lamina
        >>> lamina.nn.CircularPad1d((2, 1))(lamina.arange(3.0)[None])
        tensor([[1., 2., 0., 1., 2., 0.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pads an image as if it were a torus, `(left, right, top, bottom)`; see `CircularPad1d`."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pads a volume with what stands at its other end; see `CircularPad1d`."""

    _dims = 3
