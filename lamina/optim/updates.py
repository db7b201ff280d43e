"""Updates of parameters: a formula goes once through all elements, whatever it is made of.

A formula such as Adam's is a function of a gradient, of tensors that it writes into, and of
numbers. On plain arrays it runs on the arrays themselves, and after some work as one loop of
machine code for all its steps; on anything else (a step that is captured or differentiated, other
devices, views) on the tensors, operation by operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina.codegen.fused import FlatFunction
from lamina.core.inplace import is_data
from lamina.core.modes import door, state
from lamina.core.op import raw, traced
from lamina.core.promotion import FLOAT32, FLOAT64
from lamina.core.provenance import here
from lamina.core.tensor import Tensor, cell_of
from lamina.core.versions import INFERENCE

Formula = Callable[..., None]
Update = Callable[[Sequence[Tensor], Sequence[Tensor], Sequence[Any]], None]


def update_by(formula: Formula) -> Update:
    """Make a formula `(F, *sources, *targets, *numbers)` a function of tensors.

    `F` has the operations by name. Targets are written with `+=` and the like, sources only read.
    Returns a function of the sources, the targets, and the numbers.
    """

    def on_arrays(*args: Any) -> None:
        formula(raw, *args)

    loop = FlatFunction(on_arrays)

    def update(
        sources: Sequence[Tensor], targets: Sequence[Tensor], numbers: Sequence[Any]
    ) -> None:
        arrays = _plain_arrays(sources, targets, numbers)
        if arrays is None:
            formula(traced, *sources, *targets, *numbers)
            return
        loop(arrays, numbers)
        code, lasti = here()
        for target in targets:
            cell_of(target).bump(code, lasti)

    return update


def _plain_arrays(
    sources: Sequence[Tensor], targets: Sequence[Tensor], numbers: Sequence[Any]
) -> list[Any] | None:
    """The arrays of all tensors, if a loop may go through them side by side."""
    if door.is_watched or state.grad_enabled:
        return None
    arrays: list[Any] = []
    first = sources[0]._array
    kind, shape = first.dtype, first.shape
    if kind is not FLOAT32 and kind is not FLOAT64:
        return None
    for tensor in (*sources, *targets):
        array = tensor._array
        if (
            array.__class__ is not np.ndarray
            or array.dtype is not kind
            or array.shape != shape
            or not array.flags.c_contiguous
        ):
            return None
        arrays.append(array)
    for target in targets:
        if (
            target._view is not None
            or target._cell is INFERENCE
            or not target._array.flags.writeable
            or is_data(target)
        ):
            return None
    is_known = all(number.__class__ in (float, int) for number in numbers)
    return arrays if is_known else None
