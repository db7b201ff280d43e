"""Recurrent layers: RNN, LSTM and GRU."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError, InvalidArgument, InvalidValue, ShapeMismatch
from lamina.nn import functional as F
from lamina.nn import init
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.nn.recurrent_checks import check_sizes, with_batch
from lamina.nn.utils.rnn import PackedSequence
from lamina.ops.creation import empty, zeros
from lamina.ops.joining import cat, stack
from lamina.ops.recurrent_layers import recurrent_layer

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]


class RNNBase(Module):
    """What the recurrent layers share: weights, layers, directions.

    A subclass says how many gates it has. The state is a tuple of tensors: `(h,)`, or `(h, c)` for
    an LSTM.
    """

    _gates: ClassVar[int] = 1

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_sizes(mode, hidden_size, num_layers, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        directions = 2 if bidirectional else 1
        out_size = proj_size or hidden_size
        for layer in range(num_layers):
            in_size = input_size if layer == 0 else out_size * directions
            for suffix in ("", "_reverse")[:directions]:
                self._make_weights(f"l{layer}{suffix}", in_size, out_size, device, dtype)
        self.reset_parameters()

    def _make_weights(
        self, suffix: str, in_size: int, out_size: int, device: Any, dtype: Any
    ) -> None:
        rows = self._gates * self.hidden_size
        sizes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, in_size)}
        sizes["weight_hh"] = (rows, out_size)
        if self.bias:
            sizes["bias_ih"] = sizes["bias_hh"] = (rows,)
        if self.proj_size:
            sizes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for name, size in sizes.items():
            names.append(f"{name}_{suffix}")
            setattr(self, names[-1], Parameter(empty(size, device=device, dtype=dtype)))
        self._all_weights.append(names)

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights, one list a layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def reset_parameters(self) -> None:
        """Draw the first values again: uniform in `[-k, k)` with `k = 1/sqrt(hidden_size)`."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Do nothing: the weights need no special place in memory."""

    def _state_sizes(self) -> tuple[int, ...]:
        """Return the length of each part of the state."""
        return (self.proj_size or self.hidden_size,)

    def _run(self, input: Any, state: tuple[Tensor, ...] | None) -> tuple[Any, tuple[Tensor, ...]]:
        """Run all layers; `input` is as the user gave it, the results too."""
        if isinstance(input, PackedSequence):
            return self._run_packed(input, state)
        if not isinstance(input, Tensor):
            raise ArgumentTypeError(
                f"the input of {type(self).__name__} is a Tensor or a PackedSequence, "
                f"not {type(input).__name__}"
            )
        if input.ndim not in (2, 3):
            raise InvalidValue(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D instead"
            )
        is_batched = input.ndim == 3
        if not is_batched:
            input = input.unsqueeze(1)
            state = None if state is None else tuple(with_batch(part) for part in state)
        elif self.batch_first:
            input = input.transpose(0, 1)
        self._check_input(input)
        if input.shape[0] == 0:
            raise InvalidArgument("Expected sequence length to be larger than 0 in RNN")
        state = self._checked_state(input, input.shape[1], state)
        output, last = self._run_layers(input, state, None)
        if not is_batched:
            return output.squeeze(1), tuple(part.squeeze(1) for part in last)
        return (output.transpose(0, 1) if self.batch_first else output), last

    def _run_packed(
        self, input: PackedSequence, state: tuple[Tensor, ...] | None
    ) -> tuple[PackedSequence, tuple[Tensor, ...]]:
        """Run all layers on sequences without padding, longest first."""
        data, batch_sizes, order, back = input
        self._check_input(data)
        sizes = batch_sizes.tolist()
        state = self._checked_state(data, sizes[0], state)
        if order is not None:
            state = tuple(part.index_select(1, order) for part in state)
        output, last = self._run_layers(data, state, sizes)
        if back is not None:
            last = tuple(part.index_select(1, back) for part in last)
        return PackedSequence(output, batch_sizes, order, back), last

    def _check_input(self, input: Tensor) -> None:
        if input.shape[-1] != self.input_size:
            raise ShapeMismatch(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                f"got {input.shape[-1]}"
            )
        wanted = getattr(self, self._flat_weights_names[0]).dtype
        if input.dtype != wanted:
            raise InvalidValue(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({wanted})",
                help=[f"convert the input, `input.to({wanted})`, or the model"],
            )

    def _checked_state(
        self, input: Tensor, batch: int, state: tuple[Tensor, ...] | None
    ) -> tuple[Tensor, ...]:
        wanted = [(len(self._all_weights), batch, size) for size in self._state_sizes()]
        if state is None:
            return tuple(zeros(size, dtype=input.dtype, device=input.device) for size in wanted)
        for i, (part, size) in enumerate(zip(state, wanted, strict=True)):
            if tuple(part.shape) != size:
                which = f"hidden[{i}]" if len(wanted) > 1 else "hidden"
                raise ShapeMismatch(
                    f"Expected {which} size {size}, got {list(part.shape)}",
                    help=["its dimensions are layers * directions, batch, size"],
                )
        return state

    def _run_layers(
        self, input: Tensor, state: tuple[Tensor, ...], sizes: list[int] | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        directions = 2 if self.bidirectional else 1
        lasts: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(directions):
                row = layer * directions + direction
                first = tuple(part[row] for part in state)
                output, last = self._run_direction(input, first, row, sizes, direction == 1)
                outputs.append(output)
                lasts.append(last)
            input = outputs[0] if directions == 1 else cat(outputs, -1)
            if self.dropout > 0 and layer < self.num_layers - 1:
                input = F.dropout(input, self.dropout, self.training)
        return input, tuple(stack(parts) for parts in zip(*lasts, strict=True))

    def _run_direction(
        self,
        input: Tensor,
        state: tuple[Tensor, ...],
        row: int,
        sizes: list[int] | None,
        is_reverse: bool,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        weights = {name.rpartition("_l")[0]: getattr(self, name) for name in self._all_weights[row]}
        return recurrent_layer(self.mode, input, weights, state, sizes, is_reverse)

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that differ from the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


class RNN(RNNBase):
    """A simple recurrent network: `h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`.

    Args:
        input_size: the length of the input at one time.
        hidden_size: the length of the state.
        num_layers: how many layers stand on each other.
        nonlinearity: "tanh" or "relu".
        bias: whether there are the two bias vectors.
        batch_first: whether the batch is the first dimension of input and output (not of states).
        dropout: the probability of dropout between layers.
        bidirectional: whether a second run goes backwards in time.
        device: where the parameters live.
        dtype: their dtype.

    Shape:
        Input `(L, N, input_size)`, or without N; output `(L, N, directions * hidden_size)` and the
        last state `(num_layers * directions, N, hidden_size)`.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.RNN(4, 8, batch_first=True)
        >>> output, last = layer(lamina.ones(2, 5, 4))
        >>> output.shape, last.shape
        (torch.Size([2, 5, 8]), torch.Size([1, 2, 8]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise InvalidValue(
                f"Unknown nonlinearity {nonlinearity!r}. Select from 'tanh' or 'relu'."
            )
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """Return the outputs of the last layer at all times, and the last state of each layer.

        A `PackedSequence` gives one.
        """
        output, last = self._run(input, None if hx is None else (hx,))
        return output, last[0]


class GRU(RNNBase):
    """Gated recurrent units.

        r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)
        z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
        n = tanh(W_in x + b_in + r * (W_hn h + b_hn))
        h' = (1 - z) * n + z * h

    From Cho et al., "Learning phrase representations using RNN encoder-decoder" (2014). Arguments
    and shapes are those of `RNN`, without `nonlinearity`; the weights of r, z and n stand in one
    matrix, in this order.
    """

    _gates = 3

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """Return the outputs of the last layer at all times, and the last state of each layer.

        A `PackedSequence` gives one.
        """
        output, last = self._run(input, None if hx is None else (hx,))
        return output, last[0]


class LSTM(RNNBase):
    """Long short-term memory.

        i = sigmoid(W_ii x + b_ii + W_hi h + b_hi)
        f = sigmoid(W_if x + b_if + W_hf h + b_hf)
        g = tanh(W_ig x + b_ig + W_hg h + b_hg)
        o = sigmoid(W_io x + b_io + W_ho h + b_ho)
        c' = f * c + i * g
        h' = o * tanh(c')

    From Hochreiter and Schmidhuber, "Long short-term memory" (1997). Arguments and shapes are those
    of `RNN`, without `nonlinearity`; the state is a pair `(h, c)`. With `proj_size`, h is
    multiplied by one more matrix and has that length.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.LSTM(4, 8, num_layers=2)
        >>> output, (h, c) = layer(lamina.ones(5, 2, 4))
        >>> output.shape, h.shape, c.shape
        (torch.Size([5, 2, 8]), torch.Size([2, 2, 8]), torch.Size([2, 2, 8]))
    """

    _gates = 4

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _state_sizes(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size, self.hidden_size)

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, ...]]:
        """Return the outputs of the last layer at all times, and the last states (h, c).

        A `PackedSequence` gives one.
        """
        return self._run(input, None if hx is None else tuple(hx))
