"""Layers that normalize each sample by itself: over its last dimensions or groups of channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue
from lamina.nn import functional as F
from lamina.nn import init
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.ops.creation import empty

__all__ = ["Affine", "GroupNorm", "LayerNorm", "RMSNorm"]


class Affine(Module):
    """What all of them share: a learned scale and shift, or None for each."""

    def _make_scale(
        self, size: Any, has_weight: bool, has_bias: bool, device: Any, dtype: Any
    ) -> None:
        for name, exists in (("weight", has_weight), ("bias", has_bias)):
            made = Parameter(empty(size, device=device, dtype=dtype)) if exists else None
            self.register_parameter(name, made)

    def reset_parameters(self) -> None:
        """Set the scale to one and the shift to zero."""
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            parameter = self._parameters.get(name)
            if parameter is not None:
                fill(parameter)


def _sizes(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


class LayerNorm(Affine):
    """Normalizes the last dimensions: `(x - mean) / sqrt(var + eps) * weight + bias`.

    From Ba et al., "Layer normalization" (2016).

    Args:
        normalized_shape: the sizes of those dimensions.
        eps: added to the variance.
        elementwise_affine: whether there is a learned scale and shift.
        bias: whether there is a shift.
        device: where the parameters live.
        dtype: their dtype.

    Shape:
        `(*, *normalized_shape)`, and the same for the output.

    Attributes:
        weight: the scale, of `normalized_shape`, first one.
        bias: the shift, of `normalized_shape`, first zero.

    Example:
        >>> import lamina
        >>> lamina.nn.LayerNorm(2)(lamina.tensor([1.0, 3.0])).detach()
        tensor([-1.0000,  1.0000])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make_scale(
            self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype
        )
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` normalized over its last dimensions."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Affine):
    """Divides by the root mean square of the last dimensions: `x / sqrt(mean(x**2) + eps) * w`.

    From Zhang and Sennrich, "Root mean square layer normalization" (2019).

    Args:
        normalized_shape: the sizes of those dimensions.
        eps: added to the mean square; the dtype's machine epsilon when left out.
        elementwise_affine: whether there is a learned scale.
        device: where the parameter lives.
        dtype: its dtype.

    Shape:
        `(*, *normalized_shape)`, and the same for the output.

    Attributes:
        weight: the scale, of `normalized_shape`, first one.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        size = self.normalized_shape
        made = Parameter(empty(size, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", made)
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` divided by its root mean square."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        affine = self.elementwise_affine
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={affine}"


class GroupNorm(Affine):
    """Normalizes groups of channels, each sample by itself.

    From Wu and He, "Group normalization" (2018).

    Args:
        num_groups: how many groups the channels fall into.
        num_channels: the number of channels, a multiple of it.
        eps: added to the variance.
        affine: whether there is a learned scale and shift.
        device: where the parameters live.
        dtype: their dtype.
        bias: whether there is a shift.

    Shape:
        `(N, C, *)`, and the same for the output.

    Attributes:
        weight: the scale, one a channel, first one.
        bias: the shift, one a channel, first zero.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise InvalidValue(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make_scale(num_channels, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with each group normalized."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )
