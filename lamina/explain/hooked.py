"""Gradients that a hook replaced, on the tensor itself or on its way to it."""

from __future__ import annotations

from typing import Any

from lamina.core import records
from lamina.core.blame.words import nodes_behind
from lamina.core.definitions import definition, is_internal
from lamina.core.provenance import place_of
from lamina.errors.places import Note
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation, explained
from lamina.explain.subject import Subject
from lamina.explain.values import is_all_zeros


def explain_replaced_gradient(subject: Subject) -> Explanation | None:
    """A leaf's gradient is what a hook returned, and not what the pass had computed."""
    last = _last_pass(subject)
    if subject.tensor._grad is None or last is None:
        return None
    hooks = _answering(subject.tensor._hooks, last.stamp)
    where = "on it"
    if not hooks and is_all_zeros(subject.tensor._grad):
        hooks, where = _upstream(subject, last), "on the way to it"
    if not hooks:
        return None
    hook = hooks[-1]
    name = getattr(hook, "__name__", type(hook).__name__)
    word = f"`{name}`" if name.isidentifier() else "a function"
    notes: list[Note] = [(definition(hook), "this hook returned another gradient")]
    notes.append((place_of(last.code, last.lasti), "during this backward pass"))
    return explained(
        Cause.REPLACED_BY_HOOK,
        f"{subject.called} is a leaf, and its .grad is filled with what a hook {where} returned "
        f"({word}), not with what the pass computed{_content(subject)}",
        notes,
        [
            "a hook that returns nothing leaves the gradient as it is",
            "to take the hook off, keep what register_hook() returns, and call its remove()",
        ],
    )


def _content(subject: Subject) -> str:
    return ": it is all zeros" if is_all_zeros(subject.tensor._grad) else ""


def _last_pass(subject: Subject) -> records.Pass | None:
    """The last pass that filled the gradient."""
    filled = subject.tensor.grad_filled_at
    if not filled:
        return None
    found = (one for one in reversed(records.passes) if (one.code, one.lasti) == filled[-1])
    return next(found, None)


def _answering(hooks: Any, since: int) -> list[Any]:
    """The user's hooks that returned another gradient after a moment."""
    if hooks is None:
        return []
    registries = list(hooks.tensor.values())
    found = [
        answer.hook()
        for answer in records.answers
        if answer.stamp > since and any(answer.registry() is one for one in registries)
    ]
    return [hook for hook in found if hook is not None and not is_internal(hook)]


def _upstream(subject: Subject, last: records.Pass) -> list[Any]:
    """Hooks on tensors between what was differentiated and a leaf, as far as they still exist."""
    for reference in last.roots:
        root = reference()
        if root is None or root._node is None:
            continue
        for node in nodes_behind(root._node):
            hooks = _answering(getattr(node, "_hooks", None), last.stamp)
            if hooks and any(_is_leaf_of(subject, behind) for behind in nodes_behind(node)):
                return hooks
    return []


def _is_leaf_of(subject: Subject, node: Any) -> bool:
    return any(edge is subject.tensor for edge in node.next)
