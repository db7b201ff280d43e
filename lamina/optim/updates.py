"""Updates of parameters: a formula goes once through all elements, whatever it is made of.

A formula such as Adam's is a function of a gradient, of tensors that it writes into, and of
numbers. On plain arrays it runs on the arrays themselves, and after some work as one loop of
machine code for all its steps; on anything else (a step that is captured or differentiated, other
devices, views) on the tensors, operation by operation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from lamina.codegen.fused import FlatFunction
from lamina.core.modes import door, state
from lamina.core.op import offer, raw, traced
from lamina.core.plain_writes import is_data
from lamina.core.positions import here
from lamina.core.promotion import FLOAT32, FLOAT64
from lamina.core.tensor import Tensor, cell_of
from lamina.core.versions import INFERENCE, bump_all
from lamina.ops.filling import copy_

Formula = Callable[..., None]

offer("assign", np.copyto, copy_)


class Row(NamedTuple):
    """What a formula is given for one parameter: what it reads, what it writes, and numbers."""

    sources: tuple[Tensor, ...]
    targets: tuple[Tensor, ...]
    numbers: tuple[Any, ...]


@final
class Update:
    """A formula `(F, *sources, *targets, *numbers)` as a function of tensors.

    `F` has the operations by name. Targets are written with `+=` and the like, or with `F.assign`;
    sources are only read.

    Args:
        formula: As above.
        writes: How often it writes the last target, for the count of that tensor's changes.

    Attributes:
        loop: The formula on arrays.
    """

    def __init__(self, formula: Formula, writes: int = 1) -> None:
        self._formula = formula
        self._writes_more = writes - 1
        self.loop = FlatFunction(functools.partial(formula, raw))

    def all(self, rows: Sequence[Row]) -> None:
        """Apply the formula to each row. No row may read what another one writes."""
        if door.is_watched or state.grad_enabled:
            for row in rows:
                self._formula(traced, *row.sources, *row.targets, *row.numbers)
            return
        ready: dict[Any, list[list[Any]]] = {}
        changed: list[Tensor] = []
        for row in rows:
            arrays = plain_arrays(row)
            if arrays is None:
                self._formula(traced, *row.sources, *row.targets, *row.numbers)
                continue
            ready.setdefault((arrays[0].dtype, row.numbers), []).append(arrays)
            changed += self.written(row)
        bump_all(map(cell_of, changed), *here())
        for (_, numbers), alike in ready.items():
            self.loop(alike, numbers)

    def written(self, row: Row) -> tuple[Tensor, ...]:
        """The targets of a row, each as often as the formula writes it."""
        return row.targets + row.targets[-1:] * self._writes_more


def own_arrays(sources: Sequence[Tensor], targets: Sequence[Tensor]) -> list[Any] | None:
    """The arrays of the same-shaped tensors of a step, if it may run on arrays; else None."""
    if door.is_watched or state.grad_enabled:
        return None
    return plain_arrays(Row(tuple(sources), tuple(targets), ()))


def plain_arrays(row: Row) -> list[Any] | None:
    """The arrays of all tensors of a row, if a loop may go through them side by side."""
    arrays: list[Any] = []
    first = row.sources[0]._array
    kind, shape = first.dtype, first.shape
    if kind is not FLOAT32 and kind is not FLOAT64:
        return None
    for tensor in row.sources:
        array = tensor._array
        if (
            array.__class__ is not np.ndarray
            or array.dtype is not kind
            or array.shape != shape
            or not array.flags.c_contiguous
        ):
            return None
        arrays.append(array)
    for tensor in row.targets:
        array = tensor._array
        if (
            array.__class__ is not np.ndarray
            or array.dtype is not kind
            or array.shape != shape
            or not array.flags.carray  # contiguous, aligned and writable
            or tensor._view is not None
            or tensor._cell is INFERENCE
            or is_data(tensor)
        ):
            return None
        arrays.append(array)
    is_known = all(number.__class__ is float or number.__class__ is int for number in row.numbers)
    return arrays if is_known else None
