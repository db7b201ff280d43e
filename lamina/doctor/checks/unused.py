"""Tensors that ask for gradients, and that no backward pass ever reaches."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, final

from lamina.doctor.events import Check
from lamina.doctor.findings import Fault, Finding
from lamina.doctor.library import Library
from lamina.explain.holders import held_by


@final
class UnusedCheck(Check):
    """Looks, in the end, for leaves that are no parameters and never had a gradient."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._passes = 0
        # What was there before is somebody else's.
        self._known_before = [weakref.ref(tensor) for tensor in self._library.tensors()]
        self._optimized: set[int] = set()

    def backward(self, roots: Sequence[Any]) -> None:
        self._passes += 1

    def before_step(self, optimizer: Any) -> None:
        self._optimized |= set(map(id, held_by(optimizer)))

    def ended(self) -> None:
        if not self._passes:
            return
        parameters = {id(p) for module in self._library.modules() for p in module.parameters()}
        known = parameters | self._optimized
        known |= {
            id(tensor) for reference in self._known_before if (tensor := reference()) is not None
        }
        for tensor in self._library.tensors():
            if id(tensor) in known or not self._library.is_never_reached(tensor):
                continue
            name = self._library.name(tensor)
            explanation = self._library.explain(tensor, name)
            self.report(
                Finding(
                    Fault.NEVER_USED,
                    f"{f'`{name}`' if name else 'a tensor'} requires grad, and none of "
                    f"{self._passes} backward passes reached it",
                    explanation.notes if explanation is not None else (),
                    ("use it on the way to the loss, or make it without requires_grad",),
                )
            )
