"""Recurrent layers as operations: one layer in one direction, through all of time.

A layer that runs step by step would be dozens of operations a step; as one it is one node, keeps
only what its derivative needs, and multiplies all inputs, and the gradients of all gates, at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lamina.codegen.fused import fused
from lamina.core.call import operation
from lamina.core.modes import state as modes
from lamina.core.op import Declared, offer, raw, traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.halves import in_float
from lamina.ops.product_checks import rows_of
from lamina.ops.recurrent_kernels import (
    sizes_of,
    step_back,
    step_forward,
    walk_back,
    walk_forward,
)
from lamina.ops.recurrent_steps import Weights, before_all, walk_back_by_steps, walk_by_steps

__all__ = ["recurrent_layer"]


# --- one operation -------------------------------------------------------------------------------


def _layer(
    input: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, weight_hr: Any,
    hidden: Any, cell: Any, mode: str, sizes: Any, is_reverse: bool, is_recorded: bool = True,
) -> Any:  # fmt: skip
    """The outputs, the last state, what the gradients need, and the last cell of an LSTM."""
    options = sizes, is_reverse, is_recorded
    weights = weight_ih, weight_hh, bias_ih, bias_hh
    if weight_hr is not None:
        return step_forward(mode, input, *weights, weight_hr, hidden, cell, *options)
    return walk_forward(mode, input, *weights, hidden, cell, *options)


def _gradients(
    F: Any, g: Any, input: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any,
    weight_hr: Any, hidden: Any, cell: Any, out2: Any, mode: str, sizes: Any, is_reverse: bool,
    needs: Any,
) -> Any:  # fmt: skip
    return F.recurrent_backward(
        g, input, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, hidden, cell, out2, mode,
        sizes, is_reverse, needs,
    )  # fmt: skip


def _declared(name: str, modes: tuple[str, ...], node_name: str, doc: str) -> Declared:
    declared = operation(
        name,
        _layer,
        tensors="input weight_ih weight_hh ?bias_ih ?bias_hh ?weight_hr hidden ?cell",
        grad=_gradients,
        node_name=node_name,
        samples=lambda make: [each for mode in modes for each in _samples(make, mode)],
        doc=doc,
    )
    declared.op.constants = (2,)
    return declared


def _samples(make: Any, mode: str) -> list[Any]:
    size, is_lstm = 3, mode == "LSTM"
    rows = {"LSTM": 4, "GRU": 3}.get(mode, 1) * size

    def one(shape: tuple[int, ...], batch: int, sizes: Any, is_reverse: bool, *more: Any) -> Any:
        has_bias, projection = more
        out = projection or size
        return sample(
            make(*shape), make(rows, 2), make(rows, out), *_pair(make, rows, has_bias),
            make(projection, size) if projection else None, make(batch, out),
            make(batch, size) if is_lstm else None, mode, sizes, is_reverse,
        )  # fmt: skip

    found = [
        one((3, 2, 2), 2, None, False, True, 0),
        one((4, 2), 2, (2, 1, 1), True, False, 0),
        one((4, 2), 2, (2, 2), True, True, 0),
    ]
    return [*found, one((5, 2), 3, (3, 2), False, True, 2)] if is_lstm else found


def _pair(make: Any, rows: int, exists: bool) -> tuple[Any, Any]:
    return (make(rows), make(rows)) if exists else (None, None)


_OPERATIONS: Final[Mapping[str, Declared]] = {
    "LSTM": _declared(
        "lstm_layer", ("LSTM",), "MkldnnRnnLayerBackward0",
        "One layer of an LSTM in one direction: outputs, the last state, what is kept, and the "
        "last cell.",
    ),
    "GRU": _declared(
        "gru_layer", ("GRU",), "GruLayerBackward0",
        "One layer of a GRU in one direction: outputs, the last state, and what is kept.",
    ),
    "RNN": _declared(
        "rnn_layer", ("RNN_TANH", "RNN_RELU"), "RnnLayerBackward0",
        "One layer of an RNN in one direction: outputs, the last state, and what is kept.",
    ),
}  # fmt: skip


def recurrent_layer(
    mode: str, input: Tensor, weights: Mapping[str, Tensor], state: tuple[Tensor, ...],
    sizes: list[int] | None, is_reverse: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:  # fmt: skip
    """The outputs of one layer in one direction at all times, and its last state.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input: (T, N, I); or (sum of sizes, I), packed.
        weights: By name: "weight_ih", "weight_hh"; "bias_ih", "bias_hh"; "weight_hr".
        state: The first one, `(h,)` or `(h, c)`.
        sizes: How many sequences have an element at each time, where they are packed.
        is_reverse: Whether it goes through time from the end.
    """
    held = [weights.get(f"{kind}_{name}") for kind, name in _NAMES]
    given = [each for each in (input, *held, *state) if each is not None]
    kinds = {tensor._array.dtype for tensor in given}
    # Autocast decides for each step; and what doesn't fit, the steps refuse with the better words.
    if modes.autocast is not None or len(kinds) > 1:
        return _by_steps(mode, input, held, state, sizes, is_reverse)
    is_recorded = modes.grad_enabled and any(tensor.requires_grad for tensor in given)
    hidden, cell = (*state, None)[:2]
    output, last, _, *more = _OPERATIONS[mode[:4].rstrip("_")](
        input, *held, hidden, cell, mode, None if sizes is None else tuple(sizes), is_reverse,
        is_recorded,
    )  # fmt: skip
    return output, (last, *more)


_NAMES: Final = (
    ("weight", "ih"), ("weight", "hh"), ("bias", "ih"), ("bias", "hh"), ("weight", "hr"),
)  # fmt: skip


def _by_steps(
    mode: str, input: Tensor, held: list[Tensor | None], state: tuple[Tensor, ...],
    sizes: list[int] | None, is_reverse: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:  # fmt: skip
    weight_ih, weight_hh, bias_ih, bias_hh, weight_hr = held
    gates = traced.linear(input, weight_ih, bias_ih)
    if sizes is None:
        gates = gates.flatten(0, 1)
    outputs, last, _ = walk_by_steps(
        traced, mode, gates, state, Weights(weight_hh, bias_hh, weight_hr),
        sizes_of(input.shape, sizes), is_reverse,
    )  # fmt: skip
    return (traced.stack(outputs) if sizes is None else traced.cat(outputs, 0)), last


# --- its derivative ------------------------------------------------------------------------------


def _on_arrays(
    g: Any, input: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, weight_hr: Any,
    hidden: Any, cell: Any, kept: Any, mode: str, sizes: Any, is_reverse: bool, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients, from what was kept."""
    counts = sizes_of(input.shape, sizes)
    states = unprojected = kept[:, -1]
    if weight_hr is not None:
        states = raw.linear(states, weight_hr)
    gradient, of_last = _filled(raw, g, states, input, hidden, cell)
    of_cell = of_last[1] if len(of_last) > 1 else None
    given = hidden, cell, gradient, of_last[0], of_cell, sizes, is_reverse
    of_outputs = None
    if weight_hr is None:
        of_gates, total, *of_first = walk_back(mode, kept, weight_hh, *given)
    else:
        of_gates, of_outputs, of_first = step_back(mode, kept, weight_hh, weight_hr, *given)
        total = raw.sum(of_gates, 0)
    before = _before(raw, states, hidden, counts, is_reverse)
    found = _products(raw, mode, of_gates, input, before, weight_ih, of_outputs, unprojected, needs)
    return *found[:3], *_of_biases(raw, mode, total, needs), *found[3:], *of_first, *_no_cell(cell)


def _on_tensors(
    g: Any, input: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, weight_hr: Any,
    hidden: Any, cell: Any, kept: Any, mode: str, sizes: Any, is_reverse: bool, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """The same, to be differentiated again: steps are walked anew, with a history."""
    counts = sizes_of(input.shape, sizes)
    rows = traced.reshape(input, rows_of(input.shape))
    state = (hidden,) if cell is None else (hidden, cell)
    weights = Weights(weight_hh, bias_hh, weight_hr)
    gates = traced.linear(rows, weight_ih, bias_ih)
    outputs, _, steps = walk_by_steps(traced, mode, gates, state, weights, counts, is_reverse)
    states = traced.cat(outputs, 0)
    gradient, of_last = _filled(traced, g, states, input, hidden, cell)
    of_gates, of_outputs, of_first = walk_back_by_steps(
        traced, mode, steps, traced.reshape(gradient, rows_of(gradient.shape)), of_last, weights,
        counts, is_reverse,
    )  # fmt: skip
    unprojected = None
    if needs[5]:
        opened = traced.cat([step.opened for step in steps], 0)
        cells = traced.cat([step.beside for step in steps], 0)
        unprojected = opened[:, 3 * cell.shape[-1] :] * traced.tanh(cells)
    before, total = _before(traced, states, hidden, counts, is_reverse), traced.sum(of_gates, 0)
    found = _products(
        traced, mode, of_gates, input, before, weight_ih, of_outputs, unprojected, needs
    )
    biases = _of_biases(traced, mode, total, needs)
    return *found[:3], *biases, *found[3:], *of_first, *_no_cell(cell)


def _no_cell(cell: Any) -> tuple[None, ...]:
    """The gradient of a cell that is not there."""
    return (None,) if cell is None else ()


def _filled(
    F: Any, g: Any, states: Any, input: Any, hidden: Any, cell: Any
) -> tuple[Any, tuple[Any, ...]]:
    """The gradients of outputs and of the last state, with zeros where there is none."""
    of_outputs, of_hidden, *_ = g
    if of_outputs is None:
        of_outputs = F.reshape(F.zeros_like(states), (*input.shape[:-1], states.shape[-1]))
    of_hidden = F.zeros_like(hidden) if of_hidden is None else of_hidden
    if cell is None:
        return of_outputs, (of_hidden,)
    return of_outputs, (of_hidden, F.zeros_like(cell) if g[3] is None else g[3])


def _before(
    F: Any, states: Any, first: Any, sizes: Sequence[int], is_reverse: bool
) -> list[tuple[int, Any]]:
    """The states before all steps in parts, each with the row of gates at which it begins.

    Where all sequences are as long, they are those behind the other steps, which need no copy.
    """
    count, rows = sizes[0], states.shape[0]
    if count != sizes[-1]:
        return [(0, before_all(F, states, first, sizes, is_reverse))]
    if len(sizes) == 1:
        return [(0, first)]
    if is_reverse:
        return [(0, states[count:]), (rows - count, first)]
    return [(count, states[: rows - count]), (0, first)]


@fused
def _products(
    F: Any, mode: str, of_gates: Any, input: Any, before: Any, weight_ih: Any, of_outputs: Any,
    unprojected: Any, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of input and weights, which are products over all steps."""
    of_input = of_weight_ih = of_weight_hh = of_weight_hr = None
    share, of_state = _shares(mode, of_gates)
    if needs[0]:
        weight = _in_order(F, mode, weight_ih, 2)
        of_input = F.reshape(F.mm(share, weight), input.shape)
    if needs[1]:
        rows = F.reshape(input, rows_of(input.shape))
        of_weight_ih = _in_order(F, mode, F.mm(F.conj_transpose(share), rows))
    if needs[2]:
        for row, states in before:
            part = of_state[row : row + states.shape[0]]
            product = F.mm(F.conj_transpose(part), states)
            of_weight_hh = product if of_weight_hh is None else of_weight_hh + product
    if needs[5]:
        of_weight_hr = F.mm(F.conj_transpose(of_outputs), unprojected)
    return of_input, of_weight_ih, of_weight_hh, of_weight_hr


def _of_biases(F: Any, mode: str, total: Any, needs: Any) -> tuple[Any, Any]:
    of_input, of_state = _shares(mode, total)
    return _in_order(F, mode, of_input) if needs[3] else None, of_state if needs[4] else None


def _shares(mode: str, of_gates: Any) -> tuple[Any, Any]:
    """The gradients of what input and state give to the gates: see `Form`."""
    if mode != "GRU":
        return of_gates, of_gates
    size = of_gates.shape[-1] // 4
    return of_gates[..., : 3 * size], of_gates[..., size:]


def _in_order(F: Any, mode: str, rows: Any, first: int = 1) -> Any:
    """Rows for (n, r, z) of a GRU as rows for (r, z, n); with 2 it is the other way round."""
    if mode != "GRU":
        return rows
    size = rows.shape[0] // 3 * first
    return F.cat([rows[size:], rows[:size]], 0)


offer("recurrent_backward", in_float(_on_arrays), _on_tensors)
