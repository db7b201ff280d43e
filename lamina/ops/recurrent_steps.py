"""The walk of a recurrent layer through time and back, step by step: on arrays and on tensors.

Functions take the namespace `F` of derivative rules. On tensors, operations of each step are
recorded: so a walk can be differentiated as often as one likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lamina.ops.recurrent_gates import gru_rule, lstm_rule

__all__ = ["Step", "Weights", "before_all", "next_state", "walk_back_by_steps", "walk_by_steps"]


class Weights(NamedTuple):
    """What the state is multiplied by, and what is added; a projection only in an LSTM."""

    state: Any
    bias: Any = None
    projection: Any = None


class Step(NamedTuple):
    """What the way back needs of a step.

    Attributes:
        before: The state before it: `(h,)`, or `(h, c)` in an LSTM.
        opened: The gates; in an RNN the next state.
        beside: In an LSTM the next cell, in a GRU what the state gives to its third gate.
    """

    before: tuple[Any, ...]
    opened: Any
    beside: Any = None


def next_state(
    F: Any, mode: str, gates: Any, state: tuple[Any, ...], weights: Weights
) -> tuple[tuple[Any, ...], Step]:
    """The state after a step, and what is to be remembered of it.

    Args:
        F: The namespace of operations.
        mode: The kind of layer, as PyTorch names it: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        gates: The input's share of the gates, (N, gates * H).
        state: `(h,)`, or `(h, c)`.
        weights: The layer's.
    """
    hidden = state[0]
    from_state = F.linear(hidden, weights.state, weights.bias)
    if mode == "LSTM":
        following, cell, opened = F.lstm_gates(gates + from_state, state[1])
        if weights.projection is not None:
            following = F.linear(following, weights.projection)
        return (following, cell), Step(state, opened, cell)
    if mode == "GRU":
        following, opened = F.gru_gates(gates, from_state, hidden)
        return (following,), Step(state, opened, from_state[..., 2 * hidden.shape[-1] :])
    total = gates + from_state
    following = F.tanh(total) if mode == "RNN_TANH" else F.relu(total)
    return (following,), Step(state, following)


def walk_by_steps(
    F: Any, mode: str, gates: Any, state: tuple[Any, ...], weights: Weights,
    sizes: Sequence[int], is_reverse: bool,
) -> tuple[list[Any], tuple[Any, ...], list[Step]]:  # fmt: skip
    """The outputs at all times, the last state of each sequence, and the steps, by time.

    Args:
        F, mode, weights: As for `next_state`.
        gates: The input's share at all times, one after another: (sum of sizes, gates * H).
        state: The first state of all sequences.
        sizes: How many sequences have an element at each time, the longest first.
        is_reverse: Whether the walk goes back in time: each sequence begins at its last element.
    """
    outputs: list[Any] = [None] * len(sizes)
    steps: list[Any] = [None] * len(sizes)
    times = F.split_with_sizes(gates, sizes, 0)
    for t in _order(sizes, is_reverse):
        active = tuple(_first(part, sizes[t]) for part in state)
        made, steps[t] = next_state(F, mode, times[t], active, weights)
        outputs[t] = made[0]
        state = tuple(_with_first(F, *pair) for pair in zip(state, made, strict=True))
    return outputs, state, steps


def walk_back_by_steps(
    F: Any, mode: str, steps: Sequence[Step], gradient: Any, of_state: tuple[Any, ...],
    weights: Weights, sizes: Sequence[int], is_reverse: bool,
) -> tuple[Any, Any, tuple[Any, ...]]:  # fmt: skip
    """The gradients of the gates and of what was given out, at all times; and of the first state.

    Those of the gates have the order in which machine code writes them too: in a GRU (n, r, z) of
    the input's share and (r, z, n) of the state's, where r and z are the same.

    Args:
        F, mode, weights, sizes, is_reverse: As for the way forward.
        steps: What it remembered.
        gradient: That of the outputs, (sum of sizes, H).
        of_state: That of the last state.
    """
    of_gates: list[Any] = [None] * len(sizes)
    of_outputs: list[Any] = [None] * len(sizes)
    times = F.split_with_sizes(gradient, sizes, 0)
    for t in _order(sizes, not is_reverse):
        active = tuple(_first(part, sizes[t]) for part in of_state)
        of_outputs[t] = active[0] + times[t]
        of_gates[t], before = _undone(F, mode, steps[t], (of_outputs[t], *active[1:]), weights)
        of_state = tuple(_with_first(F, *pair) for pair in zip(of_state, before, strict=True))
    return F.cat(of_gates, 0), F.cat(of_outputs, 0), of_state


def _undone(
    F: Any, mode: str, step: Step, of_next: tuple[Any, ...], weights: Weights
) -> tuple[Any, tuple[Any, ...]]:
    """The gradients of a step's gates, and of the state before it."""
    hidden = step.before[0]
    if mode == "LSTM":
        of_hidden, of_cell = of_next
        if weights.projection is not None:
            of_hidden = F.mm(of_hidden, weights.projection)
        given = of_hidden, of_cell, None
        of_gates, of_cell = lstm_rule(F, given, step.before[1], step.beside, step.opened)
        return of_gates, (F.mm(of_gates, weights.state), of_cell)
    if mode == "GRU":
        of_input, of_gates, past = gru_rule(F, (of_next[0], None), step.beside, hidden, step.opened)
        written = F.cat([of_input[..., 2 * hidden.shape[-1] :], of_gates], -1)
        return written, (past + F.mm(of_gates, weights.state),)
    out = step.opened
    if mode == "RNN_TANH":
        of_gates = of_next[0] * (1 - out * out)
    else:
        of_gates = F.masked_fill(of_next[0], out <= 0, 0.0)
    return of_gates, (F.mm(of_gates, weights.state),)


def before_all(F: Any, states: Any, first: Any, sizes: Sequence[int], is_reverse: bool) -> Any:
    """The states before all steps, from those behind them and the first ones; all by time."""
    if sizes[0] == sizes[-1]:
        most = states.shape[0] - sizes[0]
        return F.cat([states[sizes[0] :], first] if is_reverse else [first, states[:most]], 0)
    times = F.split_with_sizes(states, sizes, 0)
    if not is_reverse:
        earlier = zip([first, *times], sizes, strict=False)
        return F.cat([_first(part, count) for part, count in earlier], 0)
    parts: list[Any] = []
    for count, following in zip(sizes, [*times[1:], first[:0]], strict=True):
        parts += [following, first[following.shape[0] : count]]
    return F.cat(parts, 0)


def _order(sizes: Sequence[int], is_reverse: bool) -> range:
    return range(len(sizes))[::-1] if is_reverse else range(len(sizes))


def _first(part: Any, count: int) -> Any:
    """The sequences that take part: the first ones."""
    return part if part.shape[0] == count else part[:count]


def _with_first(F: Any, whole: Any, made: Any) -> Any:
    """The states of all sequences, after a step of the first ones."""
    count = made.shape[0]
    return made if whole.shape[0] == count else F.cat([made, whole[count:]], 0)
