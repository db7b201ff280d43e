"""Gradients and values that are NaN or zero, and the operations that made them so."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina.core import records
from lamina.core.blame import repairs
from lamina.core.blame.words import node_place, op_word, short
from lamina.core.node import OutputEdge
from lamina.core.op import ZERO
from lamina.core.provenance import place_of
from lamina.devices import backend_of
from lamina.errors import Place
from lamina.errors.places import Note
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation, explained
from lamina.explain.subject import Subject


def host_values(tensor: Any) -> Any:
    """A tensor's values as a NumPy array; None if it has none."""
    try:
        return backend_of(tensor.device).to_host(tensor._array)
    except Exception:
        return None


def has_nan(tensor: Any) -> bool:
    """Whether any value is NaN."""
    values = host_values(tensor)
    return values is not None and values.dtype.kind in "fc" and bool(np.isnan(values).any())


# --- NaN gradients -------------------------------------------------------------------------------


def explain_nan_gradient(subject: Subject) -> Explanation | None:
    """A gradient with NaN in it: which derivative was infinite, and what zero met it."""
    grad = subject.tensor._grad
    if grad is None or not has_nan(grad):
        return None
    found = _troubles_of(subject)
    if not found:
        return explained(
            Cause.NAN,
            f"{subject.called} is a leaf, and its .grad has NaN in it",
            [],
            [
                "run the pass again under torch.autograd.set_detect_anomaly(True): it stops where NaN first appears"
            ],
        )
    first = found[0]
    notes: list[Note] = [(place_of(first.code, first.lasti), _infinite(first))]
    if first.kind == "divide by zero":
        after = next((t for t in found[1:] if t.kind == "invalid value"), None)
        if after is not None:
            notes.append(
                (
                    place_of(after.code, after.lasti),
                    f"0 * inf in the derivative of {after.op} gives nan",
                )
            )
    place = notes[0][0]
    assert place is not None
    return explained(
        Cause.NAN,
        f"{subject.called} is a leaf, and its .grad has NaN in it: an infinite derivative was multiplied by 0",
        notes,
        _away_from(first, place),
    )


def _troubles_of(subject: Subject) -> list[records.Trouble]:
    """What went wrong in the passes that filled the gradient."""
    filled = set(subject.tensor.grad_filled_at or ())
    passes = list(records.passes)
    spans = [
        (one.stamp, passes[k + 1].stamp if k + 1 < len(passes) else float("inf"))
        for k, one in enumerate(passes)
        if (one.code, one.lasti) in filled
    ]
    for start, end in reversed(spans):
        found = [t for t in records.troubles if start < t.stamp < end]
        if any(t.kind == "invalid value" for t in found):
            return found
    return []


def _infinite(trouble: records.Trouble) -> str:
    if trouble.kind == "divide by zero":
        return f"the derivative of {trouble.op} is infinite at 0"
    if trouble.is_masked:
        return f"the derivative of {trouble.op} is infinite here, and the gradient that arrives is 0: 0 * inf gives nan"
    return f"the derivative of {trouble.op} is not finite here"


def _away_from(trouble: records.Trouble, place: Place) -> list[str]:
    """How to keep an argument away from a point without a derivative."""
    inner = repairs.masked_inside(place.text, place.expression)
    if trouble.is_masked and inner is not None:
        return [f"both branches of where() are computed: mask the argument before, `{inner}`"]
    source = repairs.receiver(place.expression) or repairs.first_argument(place.expression)
    if trouble.op in ("sqrt", "rsqrt", "pow", "norm"):
        help = [f"keep the argument away from 0: `({source} + 1e-12).{trouble.op}()`" if source
                else "keep the argument away from 0: add 1e-12"]  # fmt: skip
        if (
            trouble.op == "sqrt"
            and source
            and ("sum" in source or "*" in source or "**" in source or "pow" in source)
        ):
            help.append("for the length of a vector, norm() has the gradient 0 at 0")
        return help
    if trouble.op in ("log", "log2", "log10"):
        return [f"keep the argument away from 0: `{repairs.bracketed(source)}.clamp(min=1e-12).{trouble.op}()`" if source
                else "keep the argument away from 0: clamp(min=1e-12)"]  # fmt: skip
    if trouble.op in ("div", "reciprocal", "true_divide"):
        return ["keep the divisor away from 0: add a small number such as 1e-12, or clamp it"]
    return ["keep the argument away from that point: clamp it, or add a small number such as 1e-12"]


# --- NaN values ----------------------------------------------------------------------------------

_SPREADS: Final = frozenset({"std", "var", "std_mean", "var_mean"})


def explain_nan_values(subject: Subject) -> Explanation | None:
    """Values that are NaN already in the forward pass."""
    if not has_nan(subject.tensor):
        return None
    node = _first_nan(subject.node)
    place = node_place(node)
    word = op_word(node)
    if word in _SPREADS:
        source = repairs.receiver(place.expression) or "x"
        return explained(
            Cause.NAN,
            f"{subject.called} is NaN: {word} of a single value divides by n - 1 = 0 degrees of freedom, 0 / 0",
            [(place, "computed here")],
            [f"divide by n instead: `{source}.{word}(correction=0)`, or leave single values out"],
        )
    return explained(
        Cause.NAN,
        f"{subject.called} has NaN in its values, not only in its gradient",
        [(place, f"{word} gives NaN here, or was given it")],
        [
            f"look at what goes into {word}: 0 / 0, inf - inf, or the root or logarithm of a negative number"
        ],
    )


def _first_nan(node: Any) -> Any:
    """Go back while an input that was kept is NaN itself."""
    while True:
        for kept, edge in zip(node.saved or (), node.next, strict=False):
            source = edge.node if isinstance(edge, OutputEdge) else edge
            if (
                source is not None
                and hasattr(source, "next")
                and hasattr(kept, "_array")
                and has_nan(kept)
            ):
                node = source
                break
        else:
            return node


# --- zero derivatives ----------------------------------------------------------------------------


def explain_zero_derivative(subject: Subject) -> Explanation | None:
    """A computed tensor all of whose gradient ends in an operation with derivative zero."""
    node = _zero_node(subject.node)
    if node is None:
        return None
    return explained(
        Cause.ZERO_DERIVATIVE,
        f"{subject.called} is not a leaf, and no gradient gets past {op_word(node)}: its derivative is zero "
        "wherever it exists",
        [(node_place(node), f"{op_word(node)} is flat: its derivative is 0")],
        instead_of_flat(node),
    )


def explain_zero_gradient(subject: Subject) -> Explanation | None:
    """A leaf whose gradient is zero because everything computed from it went through a flat op."""
    grad = subject.tensor._grad
    values = None if grad is None else host_values(grad)
    if values is None or values.any():
        return None
    flat = [node for node in subject.consumers if is_flat(node)]
    if not flat or len(flat) != len(subject.consumers):
        return None
    node = flat[0]
    return explained(
        Cause.ZERO_DERIVATIVE,
        f"{subject.called} is a leaf, and its .grad is all zeros: the derivative of {op_word(node)} is zero "
        "wherever it exists",
        [(node_place(node), f"{op_word(node)} is flat: its derivative is 0")],
        instead_of_flat(node),
    )


def is_flat(node: Any) -> bool:
    """Whether all derivatives of a node are zero."""
    rules = [] if node.op is None else list(node.op.rules.values())
    return bool(rules) and all(rule is ZERO for rule in rules)


def _zero_node(node: Any) -> Any:
    """The flat operation that a chain of single-input operations leads back to."""
    while node is not None and not hasattr(node, "_array"):
        if is_flat(node):
            return node
        edges = [edge for edge in node.next if edge is not None]
        if len(edges) != 1:
            return None
        node = edges[0].node if isinstance(edges[0], OutputEdge) else edges[0]
    return None


def instead_of_flat(node: Any) -> list[str]:
    """What to use instead of a step function."""
    word = op_word(node)
    text = node_place(node).expression
    source = repairs.receiver(text) or repairs.first_argument(text) or "x"
    smooth = {"sign": "torch.tanh", "heaviside": "torch.sigmoid"}.get(word)
    help = []
    if smooth is not None:
        help.append(f"use a smooth stand-in: `{smooth}({source} / width)`")
    if short(text) == text:
        help.append(
            f"to let the gradient pass as if {word} were not there (straight-through), write "
            f"`{source} + ({text} - {source}).detach()`"
        )
    return help
