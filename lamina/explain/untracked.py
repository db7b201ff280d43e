"""Tensors that do not require grad."""

from __future__ import annotations

from typing import Final

from lamina.core import origins
from lamina.core.blame.reasons import NEVER, reason_for
from lamina.core.versions import INFERENCE
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation, explained
from lamina.explain.subject import Subject

_CAUSES: Final = {
    NEVER: Cause.NEVER_REQUIRED,
    origins.CUT_NO_GRAD: Cause.NOT_RECORDED,
    origins.CUT_INFERENCE: Cause.INFERENCE_TENSOR,
    origins.CUT_DETACH: Cause.DETACHED,
    origins.CUT_DATA: Cause.DETACHED,
    origins.CUT_INTEGER: Cause.INTEGER_DTYPE,
    origins.CUT_NOT_DIFFERENTIABLE: Cause.NOT_DIFFERENTIABLE,
    origins.CUT_COPIED: Cause.CONVERTED_TO_PYTHON,
    origins.CUT_BACKWARD: Cause.NOT_RECORDED,
    origins.CUT_FROZEN: Cause.FROZEN,
}


VIEW_OUTSIDE: Final = (
    "is a leaf whose .grad is never filled: it is a view that was taken while recording was off, "
    "shows the requires_grad of what it is a view of, and no gradient passes through it"
)


def cause_of_reason(kind: str) -> Cause:
    """The cause for which a graph ended."""
    return _CAUSES.get(kind, Cause.NEVER_REQUIRED)


def explain_untracked(subject: Subject) -> Explanation:
    """Why a tensor does not require grad."""
    tensor = subject.tensor
    intro = f"{subject.called} is a leaf that does not require grad, and its .grad is never filled"
    if (
        "frozen_at" in subject.notes
        and tensor._origin is not None
        and tensor._origin[3] == "frozen"
    ):
        return _frozen(subject)
    reason = reason_for(tensor)
    if reason.kind == NEVER and not tensor.dtype.is_differentiable:
        return explained(
            Cause.INTEGER_DTYPE,
            f"{intro}: it is {tensor.dtype.name}, and only floating-point and complex numbers "
            "carry gradients",
            subject.made("made here"),
            [f"convert it first: `{subject.name}.float().requires_grad_()`"],
        )
    if tensor._cell is INFERENCE:
        return explained(
            Cause.INFERENCE_TENSOR,
            f"{intro}: it was made in inference mode, and can take no part in a graph",
            [*reason.notes, *subject.made("made here")],
            [
                f"clone it outside inference_mode: `{subject.name}.clone()`; or use no_grad() "
                "instead"
            ],
        )
    notes = [*reason.notes, *subject.made(f"{subject.called} was computed here")]
    return explained(cause_of_reason(reason.kind), f"{intro}: {reason.words}", notes, reason.help)


def _frozen(subject: Subject) -> Explanation:
    return explained(
        Cause.FROZEN,
        f"{subject.called} is a leaf that was frozen: its requires_grad was switched off",
        [*reason_for(subject.tensor).notes, *subject.made("made here")],
        [f"to train it again: `{subject.name}.requires_grad_()`"],
    )
