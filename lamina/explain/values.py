"""Gradients and values that are NaN or zero, and the operations that made them so."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina.core import records
from lamina.core.blame import reading, repairs
from lamina.core.blame.words import node_of, node_place, op_word, short
from lamina.core.node import Node, OutputEdge
from lamina.core.op import ZERO
from lamina.core.provenance import argument_names, place_of
from lamina.core.tensor import Tensor
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


def is_all_zeros(tensor: Any) -> bool:
    """Whether there are values, and all of them are zero."""
    values = None if tensor is None else host_values(tensor)
    return values is not None and values.size > 0 and not values.any()


# --- NaN gradients -------------------------------------------------------------------------------


def explain_nan_gradient(subject: Subject) -> Explanation | None:
    """A gradient with NaN in it: which derivative was infinite, and what zero met it."""
    grad = subject.tensor._grad
    if grad is None or not has_nan(grad):
        return None
    found = _troubles_of(subject)
    if not found:
        return _nan_before_the_pass(subject)
    first = found[0]
    notes: list[Note] = [(place_of(first.code, first.lasti), _infinite(first))]
    if first.kind == "divide by zero":
        after = next((t for t in found[1:] if t.kind == "invalid value"), None)
        if after is not None:
            where = place_of(after.code, after.lasti)
            notes.append((where, f"0 * inf in the derivative of {after.op} gives nan"))
    place = notes[0][0]
    assert place is not None
    return explained(
        Cause.NAN,
        f"{subject.called} is a leaf, and its .grad has NaN in it: an infinite derivative was "
        "multiplied by 0",
        notes,
        _away_from(first, place),
    )


def _nan_before_the_pass(subject: Subject) -> Explanation:
    """No derivative was infinite: the pass began with NaN, or nobody knows."""
    root = _nan_root(subject)
    if root is None:
        return explained(
            Cause.NAN,
            f"{subject.called} is a leaf, and its .grad has NaN in it",
            [],
            ["run the pass again under torch.autograd.set_detect_anomaly(True): it stops where "
             "NaN first appears"],
        )  # fmt: skip
    node = _first_nan(root)
    return explained(
        Cause.NAN,
        f"{subject.called} is a leaf, and its .grad has NaN in it, since the forward pass gave NaN",
        [(node_place(node), f"{op_word(node)} gives NaN here, or was given it")],
        _without_nan(node),
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
        return (
            f"the derivative of {trouble.op} is infinite here, and the gradient that arrives is 0: "
            "0 * inf gives nan"
        )
    return f"the derivative of {trouble.op} is not finite here"


def _away_from(trouble: records.Trouble, place: Place) -> list[str]:
    """How to keep an argument away from a point without a derivative."""
    inner = repairs.masked_inside(place.text, place.expression)
    if trouble.is_masked and inner is not None:
        return [f"both branches of where() are computed: mask the argument before, `{inner}`"]
    operand = next(iter(argument_names(place)), "")
    if trouble.op in ("sqrt", "rsqrt", "pow", "norm"):
        again = repairs.with_operand(place.expression, operand, f"({operand} + 1e-12)")
        help = ["keep the argument away from 0" + (f": `{again}`" if again else ": add 1e-12")]
        if trouble.op == "sqrt" and any(sign in operand for sign in ("sum", "*", "pow", "square")):
            help.append("for the length of a vector, norm() has the gradient 0 at 0")
        return help
    if trouble.op in ("log", "log2", "log10"):
        changed = f"{reading.bracketed(operand)}.clamp(min=1e-12)"
        again = repairs.with_operand(place.expression, operand, changed)
        return [
            "keep the argument away from 0" + (f": `{again}`" if again else ": clamp(min=1e-12)")
        ]
    if trouble.op in ("div", "reciprocal"):
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
        source = reading.receiver(place.expression) or "x"
        return explained(
            Cause.NAN,
            f"{subject.called} is NaN: {word} of a single value divides by n - 1 = 0 degrees of "
            "freedom, 0 / 0",
            [(place, "computed here")],
            [f"divide by n instead: `{source}.{word}(correction=0)`, or leave single values out"],
        )
    return explained(
        Cause.NAN,
        f"{subject.called} has NaN in its values, not only in its gradient",
        [(place, f"{word} gives NaN here, or was given it")],
        _without_nan(node),
    )


_DOMAINS: Final = {"sqrt": "0", "log": "1e-12", "log2": "1e-12", "log10": "1e-12", "rsqrt": "1e-12"}
"""Operations that give NaN below 0, and the least argument to clamp to."""


def _without_nan(node: Any) -> list[str]:
    word, place = op_word(node), node_place(node)
    if word not in _DOMAINS:
        return [
            f"look at what goes into {word}: 0 / 0, inf - inf, a root or logarithm of a negative "
            "number"
        ]
    low = _DOMAINS[word]
    operand = next(iter(argument_names(place)), "")
    changed = f"{reading.bracketed(operand)}.clamp(min={low})"
    again = repairs.with_operand(place.expression, operand, changed)
    return [
        f"{word} is not defined below 0: keep its argument at {low} or above"
        + (f", `{again}`" if again else "")
    ]


def _nan_root(subject: Subject) -> Any:
    """The node of a root with NaN values, in the last pass that filled the gradient."""
    filled = set(subject.tensor.grad_filled_at or ())
    for one in reversed(records.passes):
        if (one.code, one.lasti) in filled:
            roots = [root for reference in one.roots if (root := reference()) is not None]
            return next((node_of(r) for r in roots if node_of(r) is not None and has_nan(r)), None)
    return None


def _first_nan(node: Any) -> Any:
    """The operation that NaN seems to come from: back along single inputs, or along kept NaNs.

    A kept value is gone after backward(); then the domain of the operation tells, if its input is a
    leaf.
    """
    for _ in range(NODES_FOLLOWED):
        if _outside_domain(node):
            return node
        sources = [e.node if isinstance(e, OutputEdge) else e for e in node.next]
        nodes = [s for s in sources if isinstance(s, Node)]
        kept = list(node.saved or ())
        marked = [
            source
            for source, value in zip(sources, kept, strict=False)
            if isinstance(source, Node) and hasattr(value, "_array") and has_nan(value)
        ]
        further = marked or [n for n in nodes if _leads_outside(n)]
        if not further:
            return node
        node = further[0]
    return node


NODES_FOLLOWED: Final = 10_000


def _outside_domain(node: Any) -> bool:
    """Whether an operation was applied to a leaf with values where it is not defined."""
    if op_word(node) not in _DOMAINS or not node.next or not isinstance(node.next[0], Tensor):
        return False
    values = host_values(node.next[0])
    return values is not None and bool((values < 0).any())


def _leads_outside(node: Any) -> bool:
    """Whether such an operation is among those behind a node."""
    waiting: list[Any] = [node]
    seen: set[int] = set()
    while waiting and len(seen) < NODES_FOLLOWED:
        one = waiting.pop()
        one = one.node if isinstance(one, OutputEdge) else one
        if not isinstance(one, Node) or id(one) in seen:
            continue
        seen.add(id(one))
        if _outside_domain(one):
            return True
        waiting.extend(one.next)
    return False


# --- zero derivatives ----------------------------------------------------------------------------


def explain_zero_derivative(subject: Subject) -> Explanation | None:
    """A computed tensor all of whose gradient ends in an operation with derivative zero."""
    node = _zero_node(subject.node)
    if node is None:
        return None
    return explained(
        Cause.ZERO_DERIVATIVE,
        f"{subject.called} is not a leaf, and no gradient gets past {op_word(node)}: its "
        "derivative is zero wherever it exists",
        [(node_place(node), f"{op_word(node)} is flat: its derivative is 0")],
        instead_of_flat(node),
    )


def explain_zero_gradient(subject: Subject) -> Explanation | None:
    """A leaf whose gradient is zero because everything computed from it went through a flat op."""
    if not is_all_zeros(subject.tensor._grad):
        return None
    flat = [node for node in subject.consumers if is_flat(node)]
    if not flat or len(flat) != len(subject.consumers):
        return None
    node = flat[0]
    return explained(
        Cause.ZERO_DERIVATIVE,
        f"{subject.called} is a leaf, and its .grad is all zeros: the derivative of "
        f"{op_word(node)} is zero wherever it exists",
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
    source = next(iter(argument_names(node_place(node))), "x")
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
