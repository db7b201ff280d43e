"""Rectifiers as layers: ReLU and its relations, which pass large inputs on."""

from __future__ import annotations

from typing import Any

from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.errors import LayerMismatch
from lamina.nn import functional as F
from lamina.nn.init import constant_
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.ops.creation import empty

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Threshold",
]


class _Inplace(Module):
    """What activations with `inplace` as their only setting share."""

    __constants__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the setting, if it is set."""
        return "inplace=True" if self.inplace else ""


def _also_inplace(inplace: bool) -> str:
    return ", inplace=True" if inplace else ""


class ReLU(_Inplace):
    """`max(0, x)`, element by element.

    Args:
        inplace: whether to change the input itself.

    Shape:
        Any, and the same for the output.

    Example:
        >>> import lamina
        >>> lamina.nn.ReLU()(lamina.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.relu(input, inplace=self.inplace)


class Hardtanh(Module):
    """`x` clipped to `[min_val, max_val]`.

    Args:
        min_val: the least value.
        max_val: the greatest value.
        inplace: whether to change the input itself.
        min_value: an old name of `min_val`.
        max_value: an old name of `max_val`.
    """

    __constants__ = ("min_val", "max_val", "inplace")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            warn("min_value is now called min_val", FutureWarning)
            min_val = min_value
        if max_value is not None:
            warn("max_value is now called max_val", FutureWarning)
            max_val = max_value
        if max_val <= min_val:
            raise LayerMismatch(f"max_val {max_val} must be greater than min_val {min_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"min_val={self.min_val}, max_val={self.max_val}{_also_inplace(self.inplace)}"


class ReLU6(Hardtanh):
    """`min(max(0, x), 6)`: a `Hardtanh` from 0 to 6.

    Args:
        inplace: whether to change the input itself.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return the setting, if it is set."""
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """`max(0, x) + negative_slope * min(0, x)`.

    Args:
        negative_slope: the slope below zero.
        inplace: whether to change the input itself.
    """

    __constants__ = ("negative_slope", "inplace")

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"negative_slope={self.negative_slope}{_also_inplace(self.inplace)}"


class RReLU(Module):
    """A leaky relu whose slope is drawn anew for each negative element while training.

    Args:
        lower: the least slope.
        upper: the greatest slope.
        inplace: whether to change the input itself.

    In evaluation mode the slope is the mean of the two. From Xu et al., "Empirical evaluation of
    rectified activations in convolution network" (2015).
    """

    __constants__ = ("lower", "upper", "inplace")

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"lower={self.lower}, upper={self.upper}{_also_inplace(self.inplace)}"


class PReLU(Module):
    """`max(0, x) + weight * min(0, x)` with a learned slope, one for all channels or one for each.

    Args:
        num_parameters: 1, or the number of channels (dimension 1 of the input).
        init: the first value of the slope.
        device: where the slope lives.
        dtype: its dtype.

    Attributes:
        weight: `(num_parameters,)`.

    From He et al., "Delving deep into rectifiers" (2015).
    """

    __constants__ = ("num_parameters",)

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slope to its first value again."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of slopes."""
        return f"num_parameters={self.num_parameters}"


class ELU(Module):
    """`x` above zero, `alpha * (exp(x) - 1)` below.

    Args:
        alpha: the limit below is `-alpha`.
        inplace: whether to change the input itself.

    From Clevert et al., "Fast and accurate deep network learning by exponential linear units"
    (2015).
    """

    __constants__ = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"alpha={self.alpha}{_also_inplace(self.inplace)}"


class SELU(_Inplace):
    """`scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))`, with the self-normalizing constants.

    From Klambauer et al., "Self-normalizing neural networks" (2017).
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.selu(input, self.inplace)


class CELU(Module):
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`.

    Args:
        alpha: the limit below is `-alpha`.
        inplace: whether to change the input itself.
    """

    __constants__ = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"alpha={self.alpha}{_also_inplace(self.inplace)}"


class GELU(Module):
    """`x * Phi(x)`, Phi the distribution function of the standard normal distribution.

    Args:
        approximate: "none" for the error function, "tanh" for a formula with tanh.

    From Hendrycks and Gimpel, "Gaussian error linear units" (2016).

    Example:
        >>> import lamina
        >>> lamina.nn.GELU()(lamina.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8413])
    """

    __constants__ = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"approximate={self.approximate!r}"


class SiLU(_Inplace):
    """`x * sigmoid(x)`, also called swish.

    From Elfwing et al., "Sigmoid-weighted linear units for neural network function approximation
    in reinforcement learning" (2017).
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.silu(input, inplace=self.inplace)


class Mish(_Inplace):
    """`x * tanh(softplus(x))`.

    From Misra, "Mish: a self regularized non-monotonic neural activation function" (2019).
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.mish(input, inplace=self.inplace)


class Hardswish(Module):
    """`x * relu6(x + 3) / 6`, a cheap `x * sigmoid(x)`.

    Args:
        inplace: whether to change the input itself.
    """

    __constants__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.hardswish(input, self.inplace)


class Threshold(Module):
    """`x` where it is above `threshold`, else `value`.

    Args:
        threshold: the edge.
        value: what replaces values at or below it.
        inplace: whether to change the input itself.
    """

    __constants__ = ("threshold", "value", "inplace")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"threshold={self.threshold}, value={self.value}{_also_inplace(self.inplace)}"
