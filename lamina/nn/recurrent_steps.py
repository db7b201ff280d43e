"""One step in time of each recurrent layer, on the input's share of the gates; and the cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lamina.core.tensor import Tensor
from lamina.errors import InvalidArgument, InvalidValue
from lamina.nn import functional as F
from lamina.nn import init
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.ops.creation import empty, zeros
from lamina.ops.joining import cat
from lamina.ops.recurrent_gates import gru_gates, lstm_gates

__all__ = [
    "GRUCell",
    "LSTMCell",
    "RNNCell",
    "RNNCellBase",
    "backward_in_time",
    "forward_in_time",
    "gru_step",
    "lstm_step",
    "rnn_step",
]

Weights = Mapping[str, Tensor]


def _from_state(state: tuple[Tensor, ...], weights: Weights) -> Tensor:
    return F.linear(state[0], weights["weight_hh"], weights.get("bias_hh"))


def rnn_step(
    gates: Tensor, state: tuple[Tensor, ...], weights: Weights, nonlinearity: str
) -> tuple[Tensor, ...]:
    """Return the next `(h,)`."""
    total = gates + _from_state(state, weights)
    return (total.tanh() if nonlinearity == "tanh" else total.relu(),)


def gru_step(gates: Tensor, state: tuple[Tensor, ...], weights: Weights) -> tuple[Tensor, ...]:
    """Return the next `(h,)`."""
    following, _ = gru_gates(gates, _from_state(state, weights), state[0])
    return (following,)


def lstm_step(gates: Tensor, state: tuple[Tensor, ...], weights: Weights) -> tuple[Tensor, ...]:
    """Return the next `(h, c)`."""
    hidden, cell, _ = lstm_gates(gates + _from_state(state, weights), state[1])
    projection = weights.get("weight_hr")
    return (hidden if projection is None else F.linear(hidden, projection)), cell


Step = Callable[[Tensor, tuple[Tensor, ...]], tuple[Tensor, ...]]


def forward_in_time(
    times: Sequence[Tensor], state: tuple[Tensor, ...], step: Step
) -> tuple[list[Tensor], tuple[Tensor, ...]]:
    """Return the outputs at all times, and the last state of each sequence.

    Args:
        times: the gates at each time, of as many sequences as go on at it, the longest first.
        state: the first state of all sequences.
        step: takes gates and state to the next state.
    """
    outputs = []
    ended: list[tuple[Tensor, ...]] = []
    for gates in times:
        count = gates.shape[0]
        if count < state[0].shape[0]:
            ended.append(tuple(part[count:] for part in state))
            state = tuple(part[:count] for part in state)
        state = step(gates, state)
        outputs.append(state[0])
    if ended:
        parts = zip(state, *reversed(ended), strict=True)
        state = tuple(cat(pieces) for pieces in parts)
    return outputs, state


def backward_in_time(
    times: Sequence[Tensor], state: tuple[Tensor, ...], step: Step
) -> tuple[list[Tensor], tuple[Tensor, ...]]:
    """Do what `forward_in_time` does from the end; each sequence begins at its own last element."""
    first, outputs = state, []
    state = tuple(part[: times[-1].shape[0]] for part in first)
    for gates in reversed(times):
        count, before = gates.shape[0], state[0].shape[0]
        if count > before:
            begin = (part[before:count] for part in first)
            state = tuple(cat(pieces) for pieces in zip(state, begin, strict=True))
        state = step(gates, state)
        outputs.append(state[0])
    return outputs[::-1], state


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

    def _prepared(
        self, input: Tensor, state: tuple[Tensor, ...] | None, parts: int
    ) -> tuple[Tensor, tuple[Tensor, ...], Weights]:
        if input.ndim not in (1, 2):
            raise InvalidValue(
                f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        if state is None:
            size = (*input.shape[:-1], self.hidden_size)
            state = (zeros(size, dtype=input.dtype, device=input.device),) * parts
        gates = F.linear(input, self.weight_ih, self.bias_ih)
        weights = {"weight_hh": self.weight_hh}
        if self.bias_hh is not None:
            weights["bias_hh"] = self.bias_hh
        return gates, state, weights

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
        gates, state, weights = self._prepared(input, None if hx is None else (hx,), 1)
        return rnn_step(gates, state, weights, self.nonlinearity)[0]

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that differ from the default."""
        text = super().extra_repr()
        if self.nonlinearity == "tanh":
            return text
        return text + f", nonlinearity={self.nonlinearity}"


class GRUCell(RNNCellBase):
    """One step of `GRU`; arguments as for `RNNCell`, without `nonlinearity`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state."""
        prepared = self._prepared(input, None if hx is None else (hx,), 1)
        return gru_step(*prepared)[0]


class LSTMCell(RNNCellBase):
    """One step of `LSTM`; arguments as for `RNNCell`, without `nonlinearity`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, ...]:
        """Return the next `(h, c)`."""
        prepared = self._prepared(input, None if hx is None else tuple(hx), 2)
        return lstm_step(*prepared)
