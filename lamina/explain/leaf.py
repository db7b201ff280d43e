"""Leaves that require grad: whether `.grad` is filled, and with what."""

from __future__ import annotations

from typing import Any

from lamina.core import records
from lamina.core.blame import reading, repairs
from lamina.core.blame.passes import cut_from
from lamina.core.blame.reasons import NEVER, reason_for, reason_in_words, values_read_out
from lamina.core.blame.words import leaves_of, made_note
from lamina.core.origins import CUT_BACKWARD, CUT_DATA, CUT_DETACH
from lamina.core.provenance import place_of
from lamina.core.views import inherits_flag
from lamina.errors.places import Note
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation, explained
from lamina.explain.hooked import explain_replaced_gradient
from lamina.explain.parts import (
    explain_lost_parameter,
    explain_missing_in_optimizer,
    is_stale_in_optimizer,
)
from lamina.explain.subject import Subject
from lamina.explain.through_data import explain_data_change, explain_data_flag
from lamina.explain.untracked import VIEW_OUTSIDE, cause_of_reason
from lamina.explain.values import explain_nan_gradient, explain_zero_gradient
from lamina.explain.zeros import explain_all_zeros, explain_zeroed_gradient


def explain_leaf(subject: Subject) -> Explanation:
    """What a leaf's `.grad` holds and why, or why it holds nothing."""
    for explain in (
        explain_nan_gradient,
        explain_data_flag,
        explain_data_change,
        _view_outside_the_graph,
        _forced,
        _cut_parameter,
        _made_of_numbers,
        explain_lost_parameter,
        explain_missing_in_optimizer,
        _cleared,
        _returned,
        _not_led_to,
        _not_reached,
        _not_run,
        explain_zeroed_gradient,
        explain_zero_gradient,
        explain_replaced_gradient,
        _accumulated,
        explain_all_zeros,
    ):
        found = explain(subject)
        if found is not None:
            return found
    return _filled(subject)


def _passes(subject: Subject) -> list[records.Pass]:
    """The backward passes since the tensor asked for gradients."""
    return subject.passes_since(subject.asked_stamp)


def _filled(subject: Subject) -> Explanation:
    places = subject.tensor.grad_filled_at or ()
    notes: list[Note] = [(place_of(*places[-1]), "this pass filled its .grad")] if places else []
    return explained(
        Cause.FINE,
        f"{subject.called} is a leaf that requires grad, and its .grad is filled",
        [*notes, *subject.made("made here")],
    )


# --- no gradient ---------------------------------------------------------------------------------


def _cleared(subject: Subject) -> Explanation | None:
    cleared = subject.tensor.grad_cleared_at
    if subject.tensor._grad is not None or cleared is None:
        return None
    place = place_of(*cleared)
    help = [
        "read it before it is cleared, or test `if {0}.grad is not None`; the next backward() "
        "fills it again"
    ]
    if ".zero_grad(" in place.expression:
        zeros = repairs.with_keyword(place.expression, "set_to_none", "False")
        help = [
            "read the gradient before zero_grad(); the next backward() fills it again",
            f"to get zeros instead of None, write `{zeros}`"
            if zeros
            else "pass set_to_none=False to get zeros",
        ]
    return explained(
        Cause.CLEARED,
        f"{subject.called} is a leaf, and its .grad was cleared: set to None after it had been "
        "filled",
        [(place, "cleared here"), *_last_fill(subject)],
        [line.format(subject.name) for line in help],
    )


def _last_fill(subject: Subject) -> list[Note]:
    places = subject.tensor.grad_filled_at or ()
    return [(place_of(*places[-1]), "filled here before")] if places else []


def _returned(subject: Subject) -> Explanation | None:
    """`autograd.grad` returned the gradient; that fills nothing."""
    noted = subject.notes.get("returned_at")
    if subject.tensor._grad is not None or noted is None:
        return None
    if any(not p.returned for p in _passes(subject)):
        return None
    place = place_of(*noted)
    output = reading.first_argument(place.expression)
    instead = f"`{reading.bracketed(output)}.backward()`" if output else "backward()"
    return explained(
        Cause.BACKWARD_NOT_RUN,
        f"{subject.called} is a leaf whose .grad is empty: autograd.grad() returned its gradient "
        "and does not fill .grad",
        [(place, "returned here"), *subject.made("made here")],
        [f"use the returned tensor, or call {instead}, which fills `{subject.name}.grad`"],
    )


def _not_run(subject: Subject) -> Explanation | None:
    if subject.tensor._grad is not None:
        return None
    name = subject.name
    return explained(
        Cause.BACKWARD_NOT_RUN,
        f"{subject.called} is a leaf that requires grad, and no backward() has reached it yet: "
        ".grad is None until then",
        subject.made("made here"),
        [
            f"call backward() on a result computed from it first, or test `if {name}.grad is not "
            "None`"
        ],
    )


def _not_reached(subject: Subject) -> Explanation | None:
    """Passes have run, and none led here."""
    if subject.tensor._grad is not None:
        return None
    passes = [p for p in _passes(subject) if not p.returned]
    if not passes:
        return None
    last = passes[-1]
    ran: list[Note] = [
        (place_of(last.code, last.lasti), f"this backward pass did not reach {subject.called}")
    ]
    without = f"{subject.called} is a leaf without a gradient"
    cut = cut_from(subject.tensor)
    if cut is not None:
        reason = reason_in_words(cut.reason, cut.op, place_of(cut.code, cut.lasti))
        verdict = f"{without}: what was computed from it left the graph, since {reason.words}"
        cause = cause_of_reason(reason.kind)
        return explained(cause, verdict, [*reason.notes, *ran], reason.help)
    numbers = _root_of_numbers(last)
    if numbers is not None:
        verdict = f"{without}: the pass began at a tensor made of numbers, since {numbers.words}"
        cause = Cause.CONVERTED_TO_PYTHON
        return explained(cause, verdict, [*numbers.notes, *ran], numbers.help)
    rootless = _root_without_history(last)
    if rootless is not None:
        return _from_broken_root(subject, rootless, ran)
    if not subject.asked_stamp:
        return None
    if _was_asked_too_late(subject, last):
        return explained(
            Cause.NOT_REACHED,
            f"{without}: gradients were asked for after the computation, which is not recorded "
            "afterwards",
            [(place_of(*subject.notes["asked_at"][1:]), "asked for here, too late"), *ran],
            [f"call `{subject.name}.requires_grad_()` before computing with it"],
        )
    return explained(
        Cause.NOT_REACHED,
        f"{without}: no path leads to it from what was differentiated",
        [*ran, *subject.made("made here")],
        [f"compute the loss from `{subject.name}`, without detach(), .item() or numpy on the way"],
    )


def _not_led_to(subject: Subject) -> Explanation | None:
    """No path leads from the loss that was given to the leaf."""
    loss = subject.loss
    if loss is None or subject.tensor._grad is not None:
        return None
    if loss is subject.tensor or any(leaf is subject.tensor for leaf in leaves_of(loss)):
        return None
    made: list[Note] = made_note(loss, "the loss was computed here")
    without = f"{subject.called} is a leaf without a gradient: the loss does not reach it"
    cut = cut_from(subject.tensor)
    if cut is not None:
        reason = reason_in_words(cut.reason, cut.op, place_of(cut.code, cut.lasti))
        cause = cause_of_reason(reason.kind)
        return explained(cause, f"{without}: {reason.words}", [*reason.notes, *made], reason.help)
    return explained(
        Cause.NOT_REACHED,
        without,
        [*made, *subject.made("made here")],
        [f"compute the loss from `{subject.name}`, without detach(), .item() or numpy on the way"],
    )


def _was_asked_too_late(subject: Subject, one: records.Pass) -> bool:
    """Whether all that a pass went through was recorded before gradients were asked for."""
    nodes = [root._node for reference in one.roots if (root := reference()) is not None]
    stamps = [getattr(getattr(node, "node", node), "stamp", 0) for node in nodes]
    return any(stamps) and max(stamps) < subject.asked_stamp


def _root_of_numbers(one: records.Pass) -> Any:
    """Why a root of a pass has no history, if it was made of numbers that were read out."""
    for reference in one.roots:
        root = reference()
        if root is not None and root._node is None and root._origin is not None:
            return values_read_out(root._origin)
    return None


def _root_without_history(one: records.Pass) -> Any:
    """A root of a pass that was computed, but carries no graph: its flag was set by hand."""
    for reference in one.roots:
        root = reference()
        if root is not None and root._node is None and reason_for(root).kind != NEVER:
            return root
    return None


def is_forced(tensor: Any) -> bool:
    """Whether a computed tensor without history was made to require grad afterwards.

    Of a detached tensor that is done on purpose.
    """
    asked = tensor.__dict__.get("asked_at")
    if tensor._node is not None or asked is None or asked[1:] == tensor._origin[:2]:
        return False
    reason = reason_for(tensor)
    return reason.kind not in (NEVER, CUT_DETACH, CUT_DATA, CUT_BACKWARD, "frozen")


def _from_broken_root(subject: Subject, root: Any, ran: list[Note]) -> Explanation:
    reason = reason_for(root)
    return explained(
        cause_of_reason(reason.kind),
        f"{subject.called} is a leaf without a gradient: the pass began at a tensor without "
        f"history, since {reason.words}",
        [*reason.notes, *_asked(root), *ran],
        reason.help,
    )


def _asked(tensor: Any) -> list[Note]:
    noted = tensor.__dict__.get("asked_at")
    remark = "setting requires_grad here does not bring the history back"
    return [] if noted is None else [(place_of(*noted[1:]), remark)]


def _view_outside_the_graph(subject: Subject) -> Explanation | None:
    """A view of a tensor that requires grad, taken under no_grad: no part of any graph."""
    if not inherits_flag(subject.tensor) or subject.tensor._grad is not None:
        return None
    return explained(
        Cause.NOT_RECORDED,
        f"{subject.called} {VIEW_OUTSIDE}",
        subject.made("the view was taken here"),
        ["take the view outside no_grad, where operations are recorded"],
    )


def _forced(subject: Subject) -> Explanation | None:
    """`loss.requires_grad = True`: silences the error, and trains nothing."""
    is_root = any(root() is subject.tensor for p in _passes(subject) for root in p.roots)
    reason = reason_for(subject.tensor)
    if not is_forced(subject.tensor) and not (is_root and reason.kind != NEVER):
        return None
    return explained(
        cause_of_reason(reason.kind),
        f"{subject.called} is a leaf: it was computed, but its history is gone, since "
        f"{reason.words}; no gradient flows from it to anything else",
        [*reason.notes, *_asked(subject.tensor)],
        reason.help,
    )


def _cut_parameter(subject: Subject) -> Explanation | None:
    """`nn.Parameter(computed)`: a new leaf; what it was computed from gets nothing."""
    origin = subject.tensor._origin
    if origin is None or origin[3] != CUT_DETACH or not subject.tensor._is_param:
        return None
    if is_stale_in_optimizer(subject.tensor):
        return None
    reason = reason_for(subject.tensor)
    return explained(
        Cause.DETACHED,
        f"{subject.called} is a leaf that collects its own gradient, and none goes on from there: "
        f"{reason.words}",
        reason.notes,
        reason.help,
    )


def _made_of_numbers(subject: Subject) -> Explanation | None:
    """A loss made of numbers, with requires_grad to silence the error: the pass ends at once."""
    tensor = subject.tensor
    if not any(root() is tensor for p in _passes(subject) for root in p.roots):
        return None
    reason = None if tensor._origin is None else values_read_out(tensor._origin)
    if reason is None:
        return None
    return explained(
        Cause.CONVERTED_TO_PYTHON,
        f"{subject.called} is a leaf, and no gradient flows from it to anything else: "
        f"{reason.words}",
        reason.notes,
        reason.help,
    )


# --- several gradients ---------------------------------------------------------------------------


def _accumulated(subject: Subject) -> Explanation | None:
    grad = subject.tensor._grad
    places = list(subject.tensor.grad_filled_at or ())
    if grad is None or len(places) < 2:
        return None
    count = _fills_since_zeroed(grad, places)
    if count < 2:
        return None
    recent = places[-count:]
    notes: list[Note] = []
    for position in dict.fromkeys(recent):
        times = recent.count(position)
        notes.append(
            (place_of(*position), f"added to .grad here{f', {times} times' if times > 1 else ''}")
        )
    name = subject.name
    return explained(
        Cause.ACCUMULATED,
        f"{subject.called} is a leaf whose .grad holds the sum of {count} backward passes: each "
        "adds to it",
        notes,
        [
            "if that is not meant, clear it between the passes: `optimizer.zero_grad()`, or "
            f"`{name}.grad = None`"
        ],
    )


def _fills_since_zeroed(grad: Any, places: list[Any]) -> int:
    """How many passes added to a gradient since the program last changed it itself."""
    cell = grad._cell
    if cell is None:
        return len(places)
    known = set(places)
    for count, change in enumerate(reversed(cell.changes or ())):
        if (change.code, change.lasti) not in known:
            return count
    return len(places)
