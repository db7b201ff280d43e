"""Changes made through `.data`, which autograd does not see."""

from __future__ import annotations

from typing import Any

from lamina.core.blame import reading
from lamina.core.blame.words import node_place, op_word
from lamina.core.provenance import assigned_name, place_of
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation, explained
from lamina.explain.subject import Subject


def explain_data_change(subject: Subject) -> Explanation | None:
    """Values changed through .data after a node had kept them for its derivative."""
    for stamp, *position in reversed(subject.notes.get("changed_through_data", ())):
        node = _keeper(subject, stamp)
        if node is None:
            continue
        place = place_of(*position)
        result = assigned_name(node.code, node.lasti)
        again = f"compute `{result}` again after it" if result else "compute that again after it"
        return explained(
            Cause.DONE_THROUGH_DATA,
            f"{subject.called} was changed through .data, which bypasses autograd's check: a "
            "derivative that had kept the old values uses the new ones",
            [
                (place, "changed here, unnoticed"),
                (node_place(node), f"kept here before, for the derivative of {op_word(node)}"),
            ],
            [f"make the change after backward(), or {again}",
             f"a change of `{subject.name}` under `with torch.no_grad():` is noticed, and one of "
             f"`{subject.name}.detach().clone()` does no harm"],
        )  # fmt: skip
    return None


def _keeper(subject: Subject, stamp: int) -> Any:
    """A node that kept the tensor's values before a moment and was, or will be, run after it."""
    candidates = list(subject.consumers)
    if subject.node is not None:
        candidates.insert(0, subject.node)
    for node in candidates:
        if (
            node.stamp < stamp
            and _keeps(node, subject, node is subject.node)
            and _used_after(node, subject, stamp)
        ):
            return node
    return None


def _keeps(node: Any, subject: Subject, as_result: bool) -> bool:
    """Whether a node keeps (or kept, before it was freed) the tensor's values."""
    if node.op is None:
        return False
    wanted = "out" if as_result else "in"
    if node.saved is None:
        return any(kind == wanted for kind, _ in node.op.slots)
    array = subject.tensor._array
    entries = [e for entry in node.saved for e in (entry if isinstance(entry, tuple) else (entry,))]
    kept = [getattr(e, "array", None) if as_result else getattr(e, "_array", None) for e in entries]
    return any(k is array for k in kept)


def _used_after(node: Any, subject: Subject, stamp: int) -> bool:
    """Whether the node was run after the change; one that still keeps its values may be."""
    if node.saved is not None:
        return True
    return any((p.code, p.lasti) == node.freed_at for p in subject.passes_since(stamp))


def explain_data_flag(subject: Subject) -> Explanation | None:
    """`w.data.requires_grad = False`: set on a tensor that was gone at once."""
    noted = subject.notes.get("flag_set_through_data")
    if noted is None:
        return None
    place = place_of(*noted)
    owner = reading.data_owner(place.expression) or subject.name
    return explained(
        Cause.DONE_THROUGH_DATA,
        f"{subject.called} is a leaf that still requires grad: .data gives another tensor each "
        "time, and a flag set there has no effect on the tensor itself",
        [(place, "set on a temporary tensor here"), *subject.made("made here")],
        [f"set it on the tensor itself: `{owner}.requires_grad_(False)`"],
    )
