"""One step in time of an LSTM or a GRU after its products: the gates, and the next state."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core.call import operation
from lamina.core.op import raw
from lamina.core.samples import sample

__all__ = ["gru_rule", "lstm_rule"]


def _lstm_gates(gates: Any, cell: Any) -> tuple[Any, Any, Any]:
    """The next hidden state and cell; and the opened gates, which the rule keeps."""
    size = cell.shape[-1]
    both = raw.sigmoid(gates[..., : 2 * size])
    new = np.tanh(gates[..., 2 * size : 3 * size])
    leave = raw.sigmoid(gates[..., 3 * size :])
    following = both[..., size:] * cell + both[..., :size] * new
    opened = np.concatenate([both, new, leave], axis=-1)
    return leave * np.tanh(following), following, opened


def lstm_rule(F: Any, g: Any, cell: Any, out1: Any, out2: Any) -> tuple[Any, Any]:
    """Gradients of gates and cell; `g` are those of hidden state, cell and opened gates."""
    size = cell.shape[-1]
    enter, keep = out2[..., :size], out2[..., size : 2 * size]
    new, leave = out2[..., 2 * size : 3 * size], out2[..., 3 * size :]
    of_hidden, of_cell, of_opened = g
    of_leave = None
    if of_hidden is not None:
        shown = F.tanh(out1)
        of_leave = of_hidden * shown
        through = of_hidden * leave * (1 - shown * shown)
        of_cell = through if of_cell is None else of_cell + through
    if of_cell is None:
        of_cell = F.zeros_like(cell)
    if of_leave is None:
        of_leave = F.zeros_like(cell)
    opened = F.cat([of_cell * new, of_cell * cell, of_cell * enter, of_leave], -1)
    if of_opened is not None:
        opened = opened + of_opened
    slope = F.cat([enter * (1 - enter), keep * (1 - keep), 1 - new * new, leave * (1 - leave)], -1)
    return opened * slope, of_cell * keep


lstm_gates = operation(
    "lstm_gates",
    _lstm_gates,
    tensors="gates cell",
    grad=lstm_rule,
    samples=lambda make: [sample(make(2, 12), make(2, 3)), sample(make(8), make(2))],
    doc="The next state of an LSTM, from what its four gates are given and the cell.",
)


def _gru_gates(from_input: Any, from_state: Any, hidden: Any) -> tuple[Any, Any]:
    """The next state; and the opened gates, which the rule keeps."""
    size = hidden.shape[-1]
    both = raw.sigmoid(from_input[..., : 2 * size] + from_state[..., : 2 * size])
    new = np.tanh(from_input[..., 2 * size :] + both[..., :size] * from_state[..., 2 * size :])
    return new + both[..., size:] * (hidden - new), np.concatenate([both, new], axis=-1)


def _gru_rule(F: Any, g: Any, from_state: Any, hidden: Any, out1: Any) -> tuple[Any, Any, Any]:
    return gru_rule(F, g, from_state[..., 2 * hidden.shape[-1] :], hidden, out1)


def gru_rule(F: Any, g: Any, third: Any, hidden: Any, out1: Any) -> tuple[Any, Any, Any]:
    """Gradients of both shares and of the state; `third` is the state's share of the third gate."""
    size = hidden.shape[-1]
    reset, update, new = out1[..., :size], out1[..., size : 2 * size], out1[..., 2 * size :]
    of_next, of_opened = g
    if of_next is None:
        of_next = F.zeros_like(hidden)
    of_new, of_update = of_next * (1 - update), of_next * (hidden - new)
    if of_opened is not None:
        of_update = of_update + of_opened[..., size : 2 * size]
        of_new = of_new + of_opened[..., 2 * size :]
    of_new = of_new * (1 - new * new)
    of_reset = of_new * third
    if of_opened is not None:
        of_reset = of_reset + of_opened[..., :size]
    of_reset = of_reset * reset * (1 - reset)
    of_update = of_update * update * (1 - update)
    return (
        F.cat([of_reset, of_update, of_new], -1),
        F.cat([of_reset, of_update, of_new * reset], -1),
        of_next * update,
    )


gru_gates = operation(
    "gru_gates",
    _gru_gates,
    tensors="from_input from_state hidden",
    grad=_gru_rule,
    samples=lambda make: [sample(make(2, 9), make(2, 9), make(2, 3))],
    doc="The next state of a GRU, from what its three gates are given and the state.",
)
