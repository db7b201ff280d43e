"""Functions that squash, shrink or weigh as layers: sigmoid, tanh, softmax and relations."""

from __future__ import annotations

from lamina.core.tensor import Tensor
from lamina.nn import functional as F
from lamina.nn.module import Module

__all__ = [
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "LogSigmoid",
    "LogSoftmax",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]


class _AlongDim(Module):
    """What the softmax family shares: the dimension that sums to one."""

    __constants__ = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """Return the dimension."""
        return f"dim={self.dim}"


class Sigmoid(Module):
    """`1 / (1 + exp(-x))`.

    Example:
        >>> import lamina
        >>> lamina.nn.Sigmoid()(lamina.zeros(1))
        tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return input.sigmoid()


class LogSigmoid(Module):
    """`log(1 / (1 + exp(-x)))`, without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.logsigmoid(input)


class Tanh(Module):
    """`tanh(x)`."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return input.tanh()


class Softplus(Module):
    """`log(1 + exp(beta * x)) / beta`, a smooth relu.

    Args:
        beta: the sharpness of the bend.
        threshold: above it (of `beta * x`), `x` is returned.
    """

    __constants__ = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softsign(Module):
    """`x / (1 + |x|)`."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.softsign(input)


class Tanhshrink(Module):
    """`x - tanh(x)`."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.tanhshrink(input)


class Hardshrink(Module):
    """`x`, with values in `[-lambd, lambd]` set to zero.

    Args:
        lambd: the edge of the zero region.
    """

    __constants__ = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"{self.lambd}"


class Softshrink(Module):
    """`x` moved towards zero by `lambd`, and zero within that distance.

    Args:
        lambd: how far; not negative.
    """

    __constants__ = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"{self.lambd}"


class Hardsigmoid(Module):
    """`relu6(x + 3) / 6`, a cheap sigmoid.

    Args:
        inplace: whether to change the input itself.
    """

    __constants__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.hardsigmoid(input, self.inplace)


class GLU(Module):
    """`a * sigmoid(b)`, a and b the two halves of the input along `dim`.

    Args:
        dim: the dimension to split.
    """

    __constants__ = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """`exp(x) / sum(exp(x))` along one dimension: positive numbers that sum to one.

    Args:
        dim: the dimension whose elements sum to one.

    Example:
        >>> import lamina
        >>> lamina.nn.Softmax(dim=-1)(lamina.zeros(2))
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """`log(softmax(x))`, computed without overflow.

    Args:
        dim: the dimension whose exponentials sum to one.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.log_softmax(input, self.dim)


class Softmin(_AlongDim):
    """`softmax(-x)`.

    Args:
        dim: the dimension whose elements sum to one.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """Softmax over the channels of `(N, C, H, W)` or `(C, H, W)`, at each place by itself."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the activation of `input`."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)
