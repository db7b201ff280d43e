"""The answer of `why`: a cause, a verdict, the places that matter, and repairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from lamina.errors import Place
from lamina.errors.places import Note, render
from lamina.explain.causes import Cause
from lamina.explain.history import Step


@final
@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a tensor is or is not a leaf, and what becomes of its gradient.

    Args:
        cause: The first cause.
        verdict: What is the case, in one sentence.
        notes: Pairs of a place (or None) and what happened there, the culprit first.
        help: Repairs, one line each.
        steps: For a computed tensor, the expressions that it came about by, oldest first.
        history: These in one line, its middle left out; empty where the places say it all.

    `str()` draws all of it as errors are drawn.
    """

    cause: Cause
    verdict: str
    notes: tuple[Note, ...] = ()
    help: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    history: str = ""

    @property
    def places(self) -> tuple[Place, ...]:
        """The places that the notes speak of, the culprit first."""
        return tuple(place for place, _ in self.notes if place is not None)

    def __str__(self) -> str:
        more: tuple[Note, ...] = ((None, self.history),) if self.history else ()
        return render(self.verdict, "", self.notes + more, self.help)

    __repr__ = __str__


def explained(
    cause: Cause, verdict: str, notes: list[Note] | None = None, help: list[str] | None = None
) -> Explanation:
    """An explanation whose notes name each place once."""
    seen: set[Place] = set()
    kept: list[Note] = []
    for place, remark in notes or []:
        if place is None or place not in seen:
            kept.append((place, remark))
        if place is not None:
            seen.add(place)
    return Explanation(cause, verdict, tuple(kept), tuple(help or ()))
