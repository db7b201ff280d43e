"""What the doctor finds: faults, with places and repairs, in the form of Lamina's errors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import final

from lamina.errors.places import Note, render


class Fault(Enum):
    """What can be wrong with a training program; each member's value says what it means."""

    NO_GRADIENT = "parameters that no backward pass reaches"
    ZERO_GRADIENT = "parameters whose gradient is always zero"
    EXPLODING_GRADIENT = "gradients that grow out of all proportion"
    NOT_FINITE = "the first value or gradient that is infinite or not a number"
    NOT_OPTIMIZED = "parameters that no optimizer updates"
    NOT_IN_MODEL = "parameters that an optimizer holds, and no model does"
    NEVER_USED = "tensors that require grad and take part in nothing"
    GRADIENT_OF_NON_LEAF = "reading .grad of a computed tensor"
    GRAPH_CARRIED_OVER = "a tensor that keeps the graphs of earlier steps"
    NOT_CLEARED = "gradients that are added to those of the step before"
    TRAINING_MODE = "evaluating in training mode"
    RECORDED_IN_VAIN = "graphs that are recorded and never used"
    OUTER_BROADCAST = "a column and a row that became a matrix without a word"


@final
@dataclass(frozen=True, repr=False)
class Finding:
    """One fault in one place.

    Args:
        fault: Which one.
        headline: What is wrong, in one sentence.
        notes: Pairs of a place (or None) and what happened there, the culprit first.
        help: Repairs, one line each.

    `str()` draws it as errors are drawn.
    """

    fault: Fault
    headline: str
    notes: tuple[Note, ...] = ()
    help: tuple[str, ...] = ()

    @property
    def key(self) -> object:
        """What two reports of one fault have in common: the fault, and its first place if known."""
        places = [place for place, _ in self.notes if place is not None]
        return self.fault, places[0] if places else self.headline

    def __str__(self) -> str:
        return render(self.headline, "", self.notes, self.help)

    __repr__ = __str__
