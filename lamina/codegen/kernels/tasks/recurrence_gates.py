"""What recurrent layers do at a step behind the product, on lanes; and its derivative.

What is kept of a step, and in which order, stands in `recurrence_forms`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from lamina.codegen.kernels.recurrence_forms import FORMS, Form
from lamina.codegen.llvm import vector_math
from lamina.codegen.llvm.ir import Lanes


class Made(NamedTuple):
    """What a step makes: what is kept of it, the state, and the cell of an LSTM."""

    kept: Sequence[Lanes]
    hidden: Lanes
    cell: Lanes | None = None


class Undone(NamedTuple):
    """Gradients: of the gates as they are written, of the state before and of the cell before."""

    gates: Sequence[Lanes]
    hidden: Lanes | None
    cell: Lanes | None = None


@final
@dataclass(frozen=True)
class Gates:
    """One kind of layer.

    Attributes:
        form: How many numbers belong to a hidden unit.
        is_apart: Whether what input and state give to the last gate stays apart.
        has_cell: Whether there is a cell beside the state.
        before: The slot of the cell (or the state) of which the derivative of the step behind takes
            the value; None if it takes none.
        forward: From the gates' sums, what the input gives to the last gate where that is apart,
            and the cell (or state) before.
        backward: From what is kept, the cell (or state) before, the gradients of state and cell.
        has_own_way: Whether the state's gradient has another way past the weight.
    """

    form: Form
    is_apart: bool
    has_cell: bool
    before: int | None
    forward: Callable[[Sequence[Lanes], Lanes | None, Lanes], Made]
    backward: Callable[[Sequence[Lanes], Lanes | None, Lanes, Lanes | None], Undone]
    has_own_way: bool = False


def _sigmoid(x: Lanes) -> Lanes:
    return 1.0 / (vector_math.exp(-x) + 1.0)


# --- LSTM ----------------------------------------------------------------------------------------


def _lstm(sums: Sequence[Lanes], _: Lanes | None, cell: Lanes) -> Made:
    enter, keep, leave = (_sigmoid(sums[k]) for k in (0, 1, 3))
    new = vector_math.tanh(sums[2])
    following = keep * cell + enter * new
    hidden = leave * vector_math.tanh(following)
    return Made((enter, keep, new, leave, following, hidden), hidden, following)


def _lstm_backward(
    kept: Sequence[Lanes], cell: Lanes | None, of_hidden: Lanes, of_cell: Lanes | None
) -> Undone:
    assert cell is not None
    assert of_cell is not None
    enter, keep, new, leave, following, _ = kept
    shown = vector_math.tanh(following)
    through = of_cell + of_hidden * leave * (1.0 - shown * shown)
    gates = (
        through * new * enter * (1.0 - enter),
        through * cell * keep * (1.0 - keep),
        through * enter * (1.0 - new * new),
        of_hidden * shown * leave * (1.0 - leave),
    )
    return Undone(gates, None, through * keep)


# --- GRU -----------------------------------------------------------------------------------------


def _gru(sums: Sequence[Lanes], apart: Lanes | None, hidden: Lanes) -> Made:
    assert apart is not None
    reset, update = _sigmoid(sums[0]), _sigmoid(sums[1])
    new = vector_math.tanh(apart + reset * sums[2])
    following = new + update * (hidden - new)
    return Made((reset, update, new, sums[2], following), following)


def _gru_backward(
    kept: Sequence[Lanes], hidden: Lanes | None, of_hidden: Lanes, _: Lanes | None
) -> Undone:
    assert hidden is not None
    reset, update, new, from_state, _ = kept
    of_new = of_hidden * (1.0 - update) * (1.0 - new * new)
    gates = (
        of_new,
        of_new * from_state * reset * (1.0 - reset),
        of_hidden * (hidden - new) * update * (1.0 - update),
        of_new * reset,
    )
    return Undone(gates, of_hidden * update)


# --- RNN -----------------------------------------------------------------------------------------


def _rnn_tanh(sums: Sequence[Lanes], _: Lanes | None, hidden: Lanes) -> Made:
    made = vector_math.tanh(sums[0])
    return Made((made,), made)


def _rnn_tanh_backward(
    kept: Sequence[Lanes], _: Lanes | None, of_hidden: Lanes, __: Lanes | None
) -> Undone:
    return Undone((of_hidden * (1.0 - kept[0] * kept[0]),), None)


def _rnn_relu(sums: Sequence[Lanes], _: Lanes | None, hidden: Lanes) -> Made:
    made = sums[0].compare("olt", 0.0).where(0.0, sums[0])
    return Made((made,), made)


def _rnn_relu_backward(
    kept: Sequence[Lanes], _: Lanes | None, of_hidden: Lanes, __: Lanes | None
) -> Undone:
    return Undone((kept[0].compare("ole", 0.0).where(0.0, of_hidden),), None)


GATES: Final = {
    "LSTM": Gates(FORMS["LSTM"], False, True, 4, _lstm, _lstm_backward),
    "GRU": Gates(FORMS["GRU"], True, False, 4, _gru, _gru_backward, True),
    "RNN_TANH": Gates(FORMS["RNN_TANH"], False, False, None, _rnn_tanh, _rnn_tanh_backward),
    "RNN_RELU": Gates(FORMS["RNN_RELU"], False, False, None, _rnn_relu, _rnn_relu_backward),
}
