"""Moving elements between channels and places, as layers."""

from __future__ import annotations

from collections.abc import Sequence

from lamina.core.tensor import Tensor
from lamina.nn import functional as F
from lamina.nn.module import Module

__all__ = ["ChannelShuffle", "Fold", "PixelShuffle", "PixelUnshuffle", "Unfold"]


class PixelShuffle(Module):
    """Turns channels into places: `(*, C * r**2, H, W)` becomes `(*, C, H * r, W * r)`.

    From Shi et al., "Real-time single image and video super-resolution using an efficient
    sub-pixel convolutional neural network" (2016).

    Args:
        upscale_factor: r.

    Example:
        >>> import lamina
        >>> lamina.nn.PixelShuffle(3)(lamina.ones(1, 9, 4, 4)).shape
        torch.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with channels as places."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Undoes `PixelShuffle`: `(*, C, H * r, W * r)` becomes `(*, C * r**2, H, W)`.

    Args:
        downscale_factor: r.
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with places as channels."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Deals the channels of each group to all groups: `(g, C / g)` channels are transposed.

    From Zhang et al., "ShuffleNet" (2017).

    Args:
        groups: g.
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with its channels in another order."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Return the number of groups."""
        return f"groups={self.groups}"


class Unfold(Module):
    """Cuts images into overlapping blocks, one a column.

    Args:
        kernel_size: the size of a block, one number or one a dimension; so too below.
        dilation: how far apart the elements of a block are.
        padding: how many zeros are put around the image.
        stride: how far a block is from the next.

    Shape:
        `(N, C, H, W)` to `(N, C * prod(kernel_size), blocks)`.

    Example:
        >>> import lamina
        >>> lamina.nn.Unfold(2)(lamina.ones(1, 3, 4, 5)).shape
        torch.Size([1, 12, 12])
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Return the blocks of `input`."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Module):
    """Adds the blocks that `Unfold` cuts up to an image again; where they overlap, to sums.

    Args:
        output_size: the size of the image.
        kernel_size: as for `Unfold`.
        dilation: as for `Unfold`.
        padding: as for `Unfold`.
        stride: as for `Unfold`.

    Shape:
        `(N, C * prod(kernel_size), blocks)` to `(N, C, *output_size)`.
    """

    def __init__(
        self,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Return the image."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )
