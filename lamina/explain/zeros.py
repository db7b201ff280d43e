"""Gradients that are there, and all zeros."""

from __future__ import annotations

from lamina.core.blame.words import listing, node_place, op_word
from lamina.core.provenance import place_of
from lamina.errors.places import Note
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation, explained
from lamina.explain.subject import Subject
from lamina.explain.values import is_all_zeros

USES_SHOWN = 2


def explain_zeroed_gradient(subject: Subject) -> Explanation | None:
    """A gradient that the program set to zero after it had been filled."""
    grad, filled = subject.tensor._grad, subject.tensor.grad_filled_at
    changes = None if grad is None or grad._cell is None else grad._cell.changes
    if not changes or not filled or not is_all_zeros(grad):
        return None
    last = changes[-1].code, changes[-1].lasti
    if last in filled:
        return None
    return explained(
        Cause.CLEARED,
        f"{subject.called} is a leaf, and its .grad was cleared: set to zeros after it had been "
        "filled",
        [(place_of(*last), "set to zero here"), (place_of(*filled[-1]), "filled here before")],
        ["read the gradient before it is cleared; the next backward() adds to the zeros"],
    )


def explain_all_zeros(subject: Subject) -> Explanation | None:
    """A gradient of zeros: at these values nothing changes with the tensor."""
    filled = subject.tensor.grad_filled_at
    if not filled or not is_all_zeros(subject.tensor._grad):
        return None
    notes: list[Note] = [(place_of(*filled[-1]), "this pass filled its .grad, with zeros")]
    uses = subject.consumers[:USES_SHOWN]
    notes += [(node_place(node), f"it went into {op_word(node)} here") for node in uses]
    words = listing(list(dict.fromkeys(op_word(node) for node in uses)))
    return explained(
        Cause.ZERO_GRADIENT,
        f"{subject.called} is a leaf, and its .grad is filled and all zeros: at these values what "
        "was differentiated does not change with it",
        notes,
        [
            f"look at what follows {words or 'it'}: a mask or factor of 0, relu or clamp out of "
            "their range, a branch that where() or max() did not take"
        ],
    )
