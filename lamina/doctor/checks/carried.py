"""Tensors that carry the graph of one step into the next."""

from __future__ import annotations

from typing import Any, Final, final

from lamina.doctor.events import Check
from lamina.doctor.findings import Fault, Finding
from lamina.doctor.library import Library

LOOKS: Final = frozenset({3, 6, 12, 25, 50, 100})
"""The steps after which all tensors are looked at: that takes some tens of milliseconds."""


@final
class CarriedGraphCheck(Check):
    """Looks for living tensors that were computed lately, and lead back beyond the last step."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._ages: list[int] = []
        self._is_done = False

    def after_step(self, optimizer: Any) -> None:
        self._ages.append(self._library.age_now())
        if self._is_done or len(self._ages) not in LOOKS:
            return
        before_last, last = self._ages[-3], self._ages[-2]
        for tensor in filter(self._library.is_computed, self._library.tensors()):
            ages = [self._library.age(node) for node in self._library.nodes_behind(tensor)]
            if max(ages) > last and min(ages) < before_last:
                self._is_done = True
                self._report(tensor)
                return

    def _report(self, tensor: Any) -> None:
        name = self._library.name(tensor)
        explanation = self._library.explain(tensor, name)
        called = f"`{name}`" if name else "a tensor"
        place = (self._library.place(), "it lives on after this step")
        self.report(
            Finding(
                Fault.GRAPH_CARRIED_OVER,
                f"{called} carries the graphs of earlier steps along: memory and time grow with "
                "each step",
                explanation.notes if explanation is not None and explanation.notes else (place,),
                (explanation.help if explanation is not None else ())
                or ("keep numbers instead of tensors: `.item()`; or cut it off: `.detach()`",),
            )
        )
