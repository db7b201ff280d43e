"""Making images larger or smaller by interpolation, as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina.core.tensor import Tensor
from lamina.nn import functional as F
from lamina.nn.module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resizes all dimensions but batch and channels; see `nn.functional.interpolate`.

    Args:
        size: the new lengths, one number or one a dimension.
        scale_factor: by what to multiply them instead.
        mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear".
        align_corners: whether the corner elements of input and output lie on each other.
        recompute_scale_factor: whether to go on with the factor that the rounded lengths give.

    Shape:
        `(N, C, L)`, `(N, C, H, W)` or `(N, C, D, H, W)`.

    Example:
        >>> import lamina
        >>> lamina.nn.Upsample(scale_factor=2)(lamina.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        factor: Any = scale_factor
        if isinstance(factor, tuple):
            factor = tuple(map(float, factor))
        elif factor is not None:
            factor = float(factor) or None
        self.scale_factor = factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return `input`, resized."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """Return the size or the factor, and the mode."""
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images with the nearest element.

    Args:
        size: the new lengths.
        scale_factor: by what to multiply them instead.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images, bilinear with aligned corners.

    Args:
        size: the new lengths.
        scale_factor: by what to multiply them instead.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
