"""Affine maps: `Linear`, `Bilinear`, and `Identity`, which is none."""

from __future__ import annotations

import math
from typing import Any

from lamina.core.tensor import Tensor
from lamina.nn import functional as F
from lamina.nn import init
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.ops.creation import empty

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Returns its input: a place holder. Takes any arguments and ignores them.

    Example:
        >>> import lamina
        >>> lamina.nn.Identity(54, unused=True)(lamina.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return `input`."""
        return input


class Linear(Module):
    """An affine map of the last dimension: `y = x @ weight.T + bias`.

    Args:
        in_features: the size of the last dimension of the input.
        out_features: the size of the last dimension of the output.
        bias: whether to add a learned vector.
        device: where the parameters live.
        dtype: their dtype.

    Shape:
        `(*, in_features)` to `(*, out_features)`.

    Attributes:
        weight: `(out_features, in_features)`, uniform in `[-k, k)` with `k = 1/sqrt(in_features)`.
        bias: `(out_features,)`, from the same distribution; None without bias.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.Linear(20, 30)
        >>> layer(lamina.ones(128, 20)).shape
        torch.Size([128, 30])
    """

    __constants__ = ("in_features", "out_features")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the first values again."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Return `input @ weight.T + bias`."""
        parameters = self._parameters
        weight = parameters.get("weight")
        if weight is None or "bias" not in parameters:  # computed from others, most often
            return F.linear(input, self.weight, self.bias)
        # Past `Module.__getattr__`, which takes 0.5 us for each.
        return F.linear(input, weight, parameters["bias"])

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """A bilinear map of two inputs: `y[k] = x1 @ weight[k] @ x2 + bias[k]`.

    Args:
        in1_features: the size of the last dimension of the first input.
        in2_features: the size of the last dimension of the second input.
        out_features: the size of the last dimension of the output.
        bias: whether to add a learned vector.
        device: where the parameters live.
        dtype: their dtype.

    Shape:
        `(*, in1_features)` and `(*, in2_features)` to `(*, out_features)`.

    Attributes:
        weight: `(out_features, in1_features, in2_features)`, uniform in `[-k, k)` with
            `k = 1/sqrt(in1_features)`.
        bias: `(out_features,)`, from the same distribution; None without bias.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.Bilinear(2, 3, 4)
        >>> layer(lamina.ones(5, 2), lamina.ones(5, 3)).shape
        torch.Size([5, 4])
    """

    __constants__ = ("in1_features", "in2_features", "out_features")

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        size = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(size, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the first values again."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Return the bilinear form of the two inputs."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
