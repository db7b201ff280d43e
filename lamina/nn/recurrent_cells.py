"""The cells: one step in time of a recurrent layer."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.op import traced
from lamina.core.tensor import Tensor
from lamina.errors import InvalidArgument, InvalidValue
from lamina.nn import functional as F
from lamina.nn import init
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.ops.creation import empty, zeros
from lamina.ops.recurrent_steps import Weights, next_state

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """What the cells share: the weights of one layer, and one step at a call.

    Args:
        input_size: the length of the input.
        hidden_size: the length of the state.
        bias: whether there are the two bias vectors.
        num_chunks: how many gates the weights serve.
        device: where the parameters live.
        dtype: their dtype.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        sizes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, input_size)}
        sizes["weight_hh"] = (rows, hidden_size)
        sizes["bias_ih"] = sizes["bias_hh"] = (rows,)
        for name, size in sizes.items():
            exists = bias or name.startswith("weight")
            made = Parameter(empty(size, device=device, dtype=dtype)) if exists else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the first values again: uniform in `[-k, k)` with `k = 1/sqrt(hidden_size)`."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _next(
        self, mode: str, input: Tensor, state: tuple[Tensor, ...] | None
    ) -> tuple[Tensor, ...]:
        if input.ndim not in (1, 2):
            raise InvalidValue(
                f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        if state is None:
            size = (*input.shape[:-1], self.hidden_size)
            zero = zeros(size, dtype=input.dtype, device=input.device)
            state = (zero, zero) if mode == "LSTM" else (zero,)
        gates = F.linear(input, self.weight_ih, self.bias_ih)
        weights = Weights(self.weight_hh, self.bias_hh)
        return next_state(traced, mode, gates, state, weights)[0]

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that differ from the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias is True else text + f", bias={self.bias}"


class RNNCell(RNNCellBase):
    """One step of `RNN`: takes `(N, input_size)` and `(N, hidden_size)`, returns the next state.

    Args:
        input_size: the length of the input.
        hidden_size: the length of the state.
        bias: whether there are the two bias vectors.
        nonlinearity: "tanh" or "relu".
        device: where the parameters live.
        dtype: their dtype.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise InvalidArgument(f"Unknown nonlinearity: {self.nonlinearity}")
        mode = f"RNN_{self.nonlinearity.upper()}"
        return self._next(mode, input, None if hx is None else (hx,))[0]

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that differ from the default."""
        text = super().extra_repr()
        if self.nonlinearity == "tanh":
            return text
        return text + f", nonlinearity={self.nonlinearity}"


class _GatedCell(RNNCellBase):
    """A cell whose gates are of a fixed number, and whose activations are no setting."""

    _gates: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, self._gates, device, dtype)


class GRUCell(_GatedCell):
    """One step of `GRU`; arguments as for `RNNCell`, without `nonlinearity`."""

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state."""
        return self._next("GRU", input, None if hx is None else (hx,))[0]


class LSTMCell(_GatedCell):
    """One step of `LSTM`; arguments as for `RNNCell`, without `nonlinearity`."""

    _gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, ...]:
        """Return the next `(h, c)`."""
        return self._next("LSTM", input, None if hx is None else tuple(hx))
