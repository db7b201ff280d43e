"""Layers whose number of inputs is that of the first input they get."""

from __future__ import annotations

from typing import Any

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.errors import InvalidArgument, InvalidValue
from lamina.nn.channel_normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _NormBase,
)
from lamina.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Lengths,
    _ConvNd,
)
from lamina.nn.lazy import LazyModuleMixin
from lamina.nn.linear import Linear
from lamina.nn.parameter import UninitializedBuffer, UninitializedParameter
from lamina.ops.data import tensor

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes `in_features` from its first input.

    Args:
        out_features: the size of the last dimension of the output.
        bias: whether to add a learned vector.
        device: where the parameters live.
        dtype: their dtype.
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the first values again, if there is something to fill."""
        if self.in_features != 0 and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the number of inputs from `input`."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        self.in_features = self.weight.shape[-1]


class _LazyConvNd(LazyModuleMixin, _ConvNd):
    """What the lazy convolutions share."""

    def _make_lazy(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the first values again, if there is something to fill."""
        if self.in_channels != 0 and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the number of input channels from `input`."""
        channels = self._channels_of(input)
        if self.has_uninitialized_params():
            if channels % self.groups:
                raise InvalidValue("in_channels must be divisible by groups")
            self.in_channels = channels
            inner, outer = self.out_channels, channels // self.groups
            if self.transposed:
                inner, outer = channels, self.out_channels // self.groups
            with no_grad():
                self.weight.materialize((inner, outer, *self.kernel_size))
                if self.bias is not None:
                    self.bias.materialize((self.out_channels,))
                self.reset_parameters()
        elif self.in_channels == 0:  # the values were loaded
            per_group = 1 if self.transposed else self.groups
            self.in_channels = self.weight.shape[0 if self.transposed else 1] * per_group

    def _channels_of(self, input: Tensor) -> int:
        single, batched = self._dims + 1, self._dims + 2
        if input.dim() not in (single, batched):
            raise InvalidArgument(
                f"Expected {single}D (unbatched) or {batched}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[-self._dims - 1]


class _LazyConvolution(_LazyConvNd):
    def __init__(
        self,
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
        more = (padding, dilation, groups, False, padding_mode)
        super().__init__(0, 0, kernel_size, stride, *more)  # type: ignore[call-arg]
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvolution, Conv1d):
    """A `Conv1d` that takes `in_channels` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """A `Conv2d` that takes `in_channels` from its first input.

    The arguments are those of `Conv2d` without `in_channels`.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.LazyConv2d(8, kernel_size=3)
        >>> layer(lamina.ones(2, 3, 6, 6)).shape
        torch.Size([2, 8, 4, 4])
        >>> layer
        Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """A `Conv3d` that takes `in_channels` from its first input."""

    cls_to_become = Conv3d


class _LazyConvTransposeNd(_LazyConvNd):
    def __init__(
        self,
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
        more = (output_padding, groups, False, dilation, padding_mode)
        super().__init__(0, 0, kernel_size, stride, padding, *more)  # type: ignore[call-arg]
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvTransposeNd, ConvTranspose1d):
    """A `ConvTranspose1d` that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTransposeNd, ConvTranspose2d):
    """A `ConvTranspose2d` that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTransposeNd, ConvTranspose3d):
    """A `ConvTranspose3d` that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin, _NormBase):
    """What the lazy norms share."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, affine=False, track_running_stats=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**kind)
            if bias:
                self.bias = UninitializedParameter(**kind)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**kind)
            self.running_var = UninitializedBuffer(**kind)
            self.num_batches_tracked = tensor(0, device=device)

    def reset_parameters(self) -> None:
        """Forget the averages and set scale and shift, if there is something to fill."""
        if self.num_features != 0 and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the number of channels from `input`."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            held: Any = (self.weight, self.bias, self.running_mean, self.running_var)
            for each in held:
                if isinstance(each, UninitializedParameter | UninitializedBuffer):
                    each.materialize((self.num_features,))
            self.reset_parameters()
        elif self.num_features == 0:  # the values were loaded
            self.num_features = input.shape[1]


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` that takes `num_features` from its first input.

    The arguments are those of `BatchNorm1d` without `num_features`.
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` that takes `num_features` from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` that takes `num_features` from its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An `InstanceNorm1d` that takes `num_features` from its first input.

    As in PyTorch `affine` and `track_running_stats` are on, other than for `InstanceNorm1d`.
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An `InstanceNorm2d` that takes `num_features` from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An `InstanceNorm3d` that takes `num_features` from its first input."""

    cls_to_become = InstanceNorm3d
