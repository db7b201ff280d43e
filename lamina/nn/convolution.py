"""Convolutions over one, two or three dimensions, and their transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue
from lamina.nn import functional as F
from lamina.nn import init
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.nn.sizes import each_dim
from lamina.ops.creation import empty

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
]

Lengths: TypeAlias = int | Sequence[int]


def _check_channels(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise InvalidValue("groups must be a positive integer")
    for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
        if channels % groups != 0:
            raise InvalidValue(f"{name} must be divisible by groups: {channels} is not by {groups}")


class _ConvNd(Module):
    """What all convolutions share: sizes, weights and their first values."""

    _dims: ClassVar[int]
    _transposed: ClassVar[bool] = False

    def _set_up(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Lengths,
        stride: Lengths,
        padding: Any,
        dilation: Lengths,
        groups: int,
        bias: bool,
        padding_mode: str,
        output_padding: Lengths,
        device: Any,
        dtype: Any,
    ) -> None:
        _check_channels(in_channels, out_channels, groups)
        dims = self._dims
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = each_dim(kernel_size, dims)
        self.stride = each_dim(stride, dims)
        self.padding = padding if isinstance(padding, str) else each_dim(padding, dims)
        self.dilation = each_dim(dilation, dims)
        self.transposed = self._transposed
        self.output_padding = each_dim(output_padding, dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_padding()
        inner, outer = in_channels, out_channels // groups
        if not self._transposed:
            inner, outer = out_channels, in_channels // groups
        size = (inner, outer, *self.kernel_size)
        self.weight = Parameter(empty(size, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check_padding(self) -> None:
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise InvalidValue(
                    f"Invalid padding string {self.padding!r}: it is 'same' or 'valid'"
                )
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise InvalidValue("padding='same' is not supported for strided convolutions")
        modes = ("zeros",) if self._transposed else ("zeros", "reflect", "replicate", "circular")
        if self.padding_mode not in modes:
            raise InvalidValue(f"padding_mode must be one of {modes}, not {self.padding_mode!r}")

    def reset_parameters(self) -> None:
        """Draw the first values again."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that differ from the default."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Convolution(_ConvNd):
    """What the three convolutions share."""

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Lengths,
        stride: Lengths = 1,
        padding: Any = 0,
        dilation: Lengths = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            0,
            device,
            dtype,
        )

    def _pad_lengths(self) -> list[int]:
        """Return what `F.pad` wants for a padding that is not zeros: last dimension first."""
        if self.padding == "valid":
            return [0, 0] * self._dims
        lengths: list[int] = []
        for i in reversed(range(self._dims)):
            if isinstance(self.padding, str):
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                lengths += [total // 2, total - total // 2]
            else:
                lengths += [self.padding[i], self.padding[i]]
        return lengths

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._pad_lengths(), mode=self.padding_mode)
            padding = (0,) * self._dims
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """Return the convolution of `input`."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Convolution):
    """A convolution over sequences; see `Conv2d` for the arguments.

    Shape:
        `(N, C_in, L)` or `(C_in, L)` to the same with `C_out` channels.
    """

    _dims = 1

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.conv1d(*args, **kwargs)


class Conv2d(_Convolution):
    """A convolution over images: each output channel is a sum of filtered input channels.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        kernel_size: the size of the filter, one number or one a dimension; so too below.
        stride: how far the filter moves.
        padding: how many zeros are put around the input; or "valid" (none), or "same" (as many as
            keep the size).
        dilation: how far apart the filter's elements are.
        groups: how many groups the channels fall into, which do not mix.
        bias: whether to add a learned number to each output channel.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device: where the parameters live.
        dtype: their dtype.

    Shape:
        `(N, C_in, H, W)` or `(C_in, H, W)` to the same with `C_out` channels and lengths
        `floor((H + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)`.

    Attributes:
        weight: `(out_channels, in_channels / groups, *kernel_size)`, uniform in `[-k, k)` with
            `k = 1 / sqrt(in_channels / groups * prod(kernel_size))`.
        bias: `(out_channels,)`, from the same distribution; None without bias.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.Conv2d(3, 8, kernel_size=3, padding=1)
        >>> layer(lamina.ones(2, 3, 16, 16)).shape
        torch.Size([2, 8, 16, 16])
    """

    _dims = 2

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.conv2d(*args, **kwargs)


class Conv3d(_Convolution):
    """A convolution over volumes; see `Conv2d` for the arguments.

    Shape:
        `(N, C_in, D, H, W)` or `(C_in, D, H, W)` to the same with `C_out` channels.
    """

    _dims = 3

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.conv3d(*args, **kwargs)


class _ConvTransposeNd(_ConvNd):
    """What the three transposed convolutions share."""

    _transposed = True

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Lengths,
        stride: Lengths = 1,
        padding: Lengths = 0,
        output_padding: Lengths = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Lengths = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            output_padding,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """Return how much to add at the end so that the output has the size that is asked for."""
        if output_size is None:
            return self.output_padding
        sizes = tuple(output_size)[-self._dims :]
        lengths = input.shape[-self._dims :]
        least = tuple(
            (lengths[i] - 1) * self.stride[i]
            - 2 * self.padding[i]
            + self.dilation[i] * (self.kernel_size[i] - 1)
            + 1
            for i in range(self._dims)
        )
        extra = tuple(size - low for size, low in zip(sizes, least, strict=True))
        if any(not 0 <= more < step for more, step in zip(extra, self.stride, strict=True)):
            most = tuple(low + step - 1 for low, step in zip(least, self.stride, strict=True))
            raise InvalidValue(
                f"requested an output size of {sizes}, but valid sizes range from {least} to {most}"
            )
        return extra

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Return the transposed convolution of `input`.

        Args:
            input: the input.
            output_size: the lengths of the output, where the stride leaves a choice.
        """
        return self._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d`; see `ConvTranspose2d`."""

    _dims = 1

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.conv_transpose1d(*args, **kwargs)


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of `Conv2d` with respect to its input, as a layer that makes images larger.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        kernel_size: the size of the filter, one number or one a dimension; so too below.
        stride: how far apart the input's elements land in the output.
        padding: how much is cut off at each side of the output.
        output_padding: how much is added at the end of the output.
        groups: how many groups the channels fall into, which do not mix.
        bias: whether to add a learned number to each output channel.
        dilation: how far apart the filter's elements are.
        padding_mode: "zeros".
        device: where the parameters live.
        dtype: their dtype.

    Shape:
        `(N, C_in, H, W)` or `(C_in, H, W)` to the same with `C_out` channels and lengths
        `(H - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1`.

    Attributes:
        weight: `(in_channels, out_channels / groups, *kernel_size)`, uniform in `[-k, k)` with
            `k = 1 / sqrt(out_channels / groups * prod(kernel_size))`.
        bias: `(out_channels,)`, from the same distribution; None without bias.
    """

    _dims = 2

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.conv_transpose2d(*args, **kwargs)


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`; see `ConvTranspose2d`."""

    _dims = 3

    @staticmethod
    def _function(*args: Any, **kwargs: Any) -> Any:
        return F.conv_transpose3d(*args, **kwargs)
