"""What arrays hold of each kind of recurrent layer."""

from __future__ import annotations

from typing import Final, NamedTuple


class Form(NamedTuple):
    """How many numbers belong to a hidden unit.

    What is kept of a step, in this order: of an LSTM the gates i, f, g, o, the next cell, the next
    state; of a GRU r, z, n, what the state gives to n, the next state; of an RNN the next state.

    Attributes:
        gates: Rows of the weights.
        kept: What is kept of a step for the way back.
        written: Gradients of the gates. Those of a GRU are n, r, z, and n again: first what its
            input's share gets, at the end what the state's does.
    """

    gates: int
    kept: int
    written: int


FORMS: Final = {
    "LSTM": Form(4, 6, 4), "GRU": Form(3, 5, 4), "RNN_TANH": Form(1, 1, 1),
    "RNN_RELU": Form(1, 1, 1),
}  # fmt: skip
"""By the names that PyTorch gives the kinds of layers."""
