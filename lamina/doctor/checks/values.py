"""The first loss or gradient that is infinite or not a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from lamina.doctor.events import Check
from lamina.doctor.findings import Fault, Finding
from lamina.doctor.library import Library


@final
class ValueCheck(Check):
    """Looks at what backward passes begin with; `GradientCheck` looks at what they give."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._passes = 0
        self._is_done = False

    def backward(self, roots: Sequence[Any]) -> None:
        self._passes += 1
        if self._is_done:
            return
        for root in roots:
            values = self._library.values(root)
            if values is None or _are_finite(values):
                continue
            self._is_done = True
            found = "NaN" if np.isnan(values).any() else "infinite"
            explanation = self._library.explain(root, self._library.name(root))
            notes = explanation.notes if explanation is not None else ()
            place = self._library.place()
            self.report(
                Finding(
                    Fault.NOT_FINITE,
                    f"the loss is {found} in backward pass {self._passes}"
                    + (f": {explanation.verdict}" if explanation is not None else ""),
                    notes or ((place, "this pass began with it"),),
                    explanation.help if explanation is not None else (),
                )
            )


def _are_finite(values: Any) -> bool:
    if values.size == 1 and values.dtype.kind == "f":  # a loss: 2 us less
        return math.isfinite(values.item())
    return bool(np.isfinite(values).all())
