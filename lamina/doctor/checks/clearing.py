"""Gradients that nobody clears between two steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from lamina.doctor.events import Check
from lamina.doctor.findings import Fault, Finding
from lamina.doctor.library import Library

LOOKED_AT: Final = 64


@final
@dataclass
class _Sample:
    """A parameter of an optimizer, with the gradient that the last step used."""

    parameter: Any
    grad: Any
    elements: Any
    was_there: bool = False
    times: int = 0


@final
class ClearingCheck(Check):
    """Looks whether the gradients of a step are still there when the next pass begins.

    A pass for another optimizer may come in between, as in adversarial training: what counts is
    the last look before the gradients change.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._samples: dict[int, _Sample] = {}
        self._is_done = False

    def backward(self, roots: Sequence[Any]) -> None:
        for sample in self._samples.values():
            if sample.parameter.grad is not sample.grad:
                sample.was_there = False
                continue
            now = self._elements(sample.parameter)
            if now is None or not now.any():
                sample.was_there = False
            elif np.array_equal(now, sample.elements):
                sample.was_there = True

    def before_step(self, optimizer: Any) -> None:
        sample = self._samples.get(id(optimizer))
        if sample is None or self._is_done:
            return
        sample.times = sample.times + 1 if sample.was_there else 0
        if sample.times == 2:
            self._is_done = True
            self.report(
                Finding(
                    Fault.NOT_CLEARED,
                    "gradients are never cleared: each step uses the sum of all steps before it",
                    ((self._library.place(), "this step uses the sum"),),
                    ("call `optimizer.zero_grad()` before each `backward()`",),
                )
            )

    def after_step(self, optimizer: Any) -> None:
        old = self._samples.get(id(optimizer))
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                elements = self._elements(parameter)
                if elements is not None and elements.any():
                    times = old.times if old is not None else 0
                    self._samples[id(optimizer)] = _Sample(
                        parameter, parameter.grad, elements, times=times
                    )
                    return

    def _elements(self, parameter: Any) -> Any:
        values = None if parameter.grad is None else self._library.gradient(parameter)
        return None if values is None else np.array(values.reshape(-1)[:LOOKED_AT])
