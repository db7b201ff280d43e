"""Recurrent layers on arrays: one layer and direction, through all of time and back.

With machine code a walk is one task of its own (`codegen/kernels/recurrence`); otherwise NumPy goes
step by step. Both keep the same, so either can go back where the other came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina.codegen.kernels.recurrence_forms import FORMS
from lamina.codegen.later import Later, is_available
from lamina.core.op import raw
from lamina.devices.array_functions import array_function
from lamina.devices.layouts import fresh
from lamina.ops.product_checks import rows_of
from lamina.ops.recurrent_steps import (
    Step,
    Weights,
    before_all,
    walk_back_by_steps,
    walk_by_steps,
)

if TYPE_CHECKING:
    from lamina.codegen.kernels import recurrence
else:
    recurrence = Later("lamina.codegen.kernels.recurrence")

LEAST_WORK: Final = 1 << 20
"""Multiplications of states and weights from which on a walk is machine code's at once.

A step of NumPy takes 20 to 50 microseconds, however small it is. But to make the machine code takes
half a second, the first time on a machine.
"""

STEPS_BEFORE: Final = 2_000
"""Steps that NumPy walks in a process before small walks are machine code's too."""

LEAST_STEPS: Final = 3
"""In fewer steps there is nothing to be saved: the weight must be laid out first."""

_walked: Final = [0]


def sizes_of(shape: Sequence[int], sizes: Sequence[int] | None) -> Sequence[int]:
    """How many sequences there are at each time; `sizes` if they are packed."""
    return (shape[1],) * shape[0] if sizes is None else sizes


def _is_native(mode: str, hidden: Any, sizes: Sequence[int], *arrays: Any) -> bool:
    """Whether machine code does a walk. What NumPy is to do is counted."""
    size = hidden.shape[-1]
    if not is_available() or len(sizes) < LEAST_STEPS or not hidden.size:
        return False
    if any(type(a) is not np.ndarray or a.dtype != hidden.dtype for a in arrays if a is not None):
        return False
    if hidden.dtype.char not in "fd" or not hidden.dtype.isnative:
        return False
    if sum(sizes) * FORMS[mode].gates * size * size >= LEAST_WORK or _walked[0] >= STEPS_BEFORE:
        return True
    _walked[0] += len(sizes)
    return False


def _fits(
    mode: str, inner: int, rows: int, weights: Sequence[Any], biases: Sequence[Any],
    states: Sequence[Any], sizes: Sequence[int],
) -> bool:  # fmt: skip
    """Whether arrays have the shapes that machine code takes for granted.

    Parameters, packed sequences, and what is kept (by hooks) come from outside.
    """
    batch, size = states[0].shape
    out = FORMS[mode].gates * size
    wanted = [(out, inner), (out, size)][-len(weights) :]
    return bool(
        [weight.shape for weight in weights] == wanted
        and (biases[0] is None) == (biases[1] is None)
        and all(bias is None or bias.shape == (out,) for bias in biases)
        and all(state is None or state.shape == (batch, size) for state in states)
        and sizes[0] == batch
        and sum(sizes) == rows
        and sizes[-1] >= 0
        and list(sizes) == sorted(sizes, reverse=True)
    )


# --- forward -------------------------------------------------------------------------------------


def _walked_forward(
    mode: str, input: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any,
    hidden: Any, cell: Any, sizes: Any, is_reverse: bool, keeps: bool,
) -> tuple[Any, ...]:  # fmt: skip
    rows = rows_of(input.shape)[0] if keeps else 0
    size, kind = hidden.shape[-1], input.dtype
    kept = fresh((rows, FORMS[mode].kept, size), kind)
    found = fresh((*input.shape[:-1], size), kind), fresh(hidden.shape, kind), kept
    return found if cell is None else (*found, fresh(cell.shape, kind))


@array_function(_walked_forward)
def walk_forward(
    mode: str, input: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any,
    hidden: Any, cell: Any, sizes: Any, is_reverse: bool, keeps: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Outputs, the last hidden state, what is kept (without rows unless `keeps`), the last cell."""
    counts = sizes_of(input.shape, sizes)
    arrays = input, weight_ih, weight_hh, bias_ih, bias_hh, hidden, cell
    is_fit = _fits(
        mode, input.shape[-1], rows_of(input.shape)[0], (weight_ih, weight_hh),
        (bias_ih, bias_hh), (hidden, cell), counts,
    )  # fmt: skip
    if not (is_fit and _is_native(mode, hidden, counts, *arrays)):
        return step_forward(mode, *arrays[:5], None, *arrays[5:], sizes, is_reverse, keeps)
    size, kept = hidden.shape[-1], None
    if keeps:
        kept = np.empty((sum(counts), FORMS[mode].kept, size), input.dtype)
    output, *last = recurrence.walk(
        mode, input, (weight_ih, weight_hh), None if bias_ih is None else (bias_ih, bias_hh),
        [hidden] if cell is None else [hidden, cell], kept, counts, is_reverse,
    )  # fmt: skip
    return output, last[0], _nothing(mode, hidden) if kept is None else kept, *last[1:]


def step_forward(
    mode: str, input: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any,
    weight_hr: Any, hidden: Any, cell: Any, sizes: Any, is_reverse: bool, keeps: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The same, step by step, and with a projection if there is one."""
    rows = input.reshape(rows_of(input.shape))
    outputs, last, steps = walk_by_steps(
        raw, mode, raw.linear(rows, weight_ih, bias_ih),
        (hidden,) if cell is None else (hidden, cell), Weights(weight_hh, bias_hh, weight_hr),
        sizes_of(input.shape, sizes), is_reverse,
    )  # fmt: skip
    output = np.concatenate(outputs).reshape(*input.shape[:-1], hidden.shape[-1])
    size = hidden if cell is None else cell
    kept = np.concatenate([_kept(mode, step) for step in steps]) if keeps else _nothing(mode, size)
    return output, last[0], kept, *last[1:]


def _nothing(mode: str, like: Any) -> Any:
    return np.zeros_like(like, shape=(0, FORMS[mode].kept, like.shape[-1]))


def _kept(mode: str, step: Step) -> Any:
    """What is kept of a step, as `Form` says."""
    form, opened = FORMS[mode], step.opened
    gates = opened.reshape(len(opened), form.gates, -1)
    if mode == "LSTM":
        more = step.beside, gates[:, 3] * np.tanh(step.beside)
    elif mode == "GRU":
        update, new = gates[:, 1], gates[:, 2]
        more = step.beside, new + update * (step.before[0] - new)
    else:
        return gates
    return np.concatenate([gates, np.stack(more, 1)], 1)


# --- back ----------------------------------------------------------------------------------------


def _walked_back(
    mode: str, kept: Any, weight_hh: Any, hidden: Any, cell: Any, gradient: Any, of_hidden: Any,
    of_cell: Any, sizes: Any, is_reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    of_gates = fresh((kept.shape[0], FORMS[mode].written * kept.shape[-1]), kept.dtype)
    found = of_gates, fresh(of_gates.shape[1:], kept.dtype), fresh(hidden.shape, kept.dtype)
    return found if cell is None else (*found, fresh(cell.shape, kept.dtype))


@array_function(_walked_back)
def walk_back(
    mode: str, kept: Any, weight_hh: Any, hidden: Any, cell: Any, gradient: Any, of_hidden: Any,
    of_cell: Any, sizes: Any, is_reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of the gates at all times, their sum, those of the first state and cell."""
    counts = sizes_of(gradient.shape, sizes)
    arrays = kept, weight_hh, hidden, cell, gradient, of_hidden, of_cell
    size, rows = hidden.shape[-1], rows_of(gradient.shape)[0]
    states = hidden, cell, of_hidden, of_cell
    is_fit = _fits(mode, 0, rows, (weight_hh,), (None, None), states, counts) and (
        kept.shape == (rows, FORMS[mode].kept, size) and gradient.shape[-1] == size
    )
    if is_fit and _is_native(mode, hidden, counts, *arrays):
        kept = np.ascontiguousarray(kept)
        first = [hidden] if cell is None else [hidden, cell]
        of_last = [of_hidden] if cell is None else [of_hidden, of_cell]
        return recurrence.walk_back(
            mode, kept, weight_hh, first, gradient, of_last, counts, is_reverse
        )
    of_gates, _, of_first = step_back(mode, *arrays[:2], None, *arrays[2:], sizes, is_reverse)
    return of_gates, np.sum(of_gates, axis=0), *of_first


def step_back(
    mode: str, kept: Any, weight_hh: Any, weight_hr: Any, hidden: Any, cell: Any, gradient: Any,
    of_hidden: Any, of_cell: Any, sizes: Any, is_reverse: bool,
) -> tuple[Any, Any, tuple[Any, ...]]:  # fmt: skip
    """The gradients of gates, of the outputs with what comes from later, and of the first state."""
    counts = sizes_of(gradient.shape, sizes)
    return walk_back_by_steps(
        raw, mode, _steps_of(mode, kept, hidden, cell, counts, is_reverse),
        gradient.reshape(rows_of(gradient.shape)),
        (of_hidden,) if cell is None else (of_hidden, of_cell),
        Weights(weight_hh, None, weight_hr), counts, is_reverse,
    )  # fmt: skip


def _steps_of(
    mode: str, kept: Any, hidden: Any, cell: Any, sizes: Sequence[int], is_reverse: bool
) -> list[Step]:
    """The steps, from what was kept of them."""
    form, size = FORMS[mode], kept.shape[-1]
    flat = kept.reshape(-1, form.kept * size)

    def parted(array: Any) -> Any:
        return raw.split_with_sizes(array, sizes, 0)

    opened = parted(flat[:, : form.gates * size])
    if mode == "LSTM":
        cells = kept[:, 4]
        before = parted(before_all(raw, cells, cell, sizes, is_reverse))
        return [
            Step((None, earlier), gates, following)
            for earlier, gates, following in zip(before, opened, parted(cells), strict=True)
        ]
    if mode == "GRU":
        before = parted(before_all(raw, kept[:, 4], hidden, sizes, is_reverse))
        return [
            Step((earlier,), gates, third)
            for earlier, gates, third in zip(before, opened, parted(kept[:, 3]), strict=True)
        ]
    return [Step((None,), gates) for gates in opened]
