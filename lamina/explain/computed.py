"""Tensors that a recorded operation made: not leaves."""

from __future__ import annotations

from typing import Any, Final

from lamina.core import records
from lamina.core.blame import reading, repairs
from lamina.core.blame.words import (
    first_name,
    is_move,
    listing,
    made_note,
    move_keyword,
    node_place,
    nodes_behind,
    op_word,
    short,
)
from lamina.core.node import OutputEdge
from lamina.core.provenance import assigned_name, place_of
from lamina.errors import Place
from lamina.errors.places import Note
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation, explained
from lamina.explain.parts import explain_lost_parameter
from lamina.explain.subject import Subject
from lamina.explain.through_data import explain_data_change
from lamina.explain.values import explain_nan_values, explain_zero_derivative


def explain_computed(subject: Subject) -> Explanation:
    """Why a tensor is not a leaf, and where its gradient goes."""
    for explain in (
        explain_data_change,
        explain_nan_values,
        _carried_over,
        _written_to,
        _lost_parameter,
        _shared_memory,
        _moved,
        _rebound,
        _kept_by_retain_graph,
        _kept,
        explain_zero_derivative,
    ):
        found = explain(subject)
        if found is not None:
            return found
    return _intermediate(subject)


def source_names(subject: Subject) -> list[str]:
    """What the program calls the leaves behind the tensor."""
    return [name for name in map(subject.name_of, subject.leaves) if name]


def leaf_notes(subject: Subject) -> list[Note]:
    """Where the nearest leaves behind the tensor were made."""
    notes: list[Note] = []
    for leaf in subject.leaves[:2]:
        name = subject.name_of(leaf)
        notes += made_note(
            leaf, f"the leaf `{name}`" if name else "the leaf that collects the gradient"
        )
    return notes


def _kept(subject: Subject) -> Explanation | None:
    """`retain_grad()` was asked for."""
    if not subject.tensor.retains_grad:
        return None
    freed = getattr(subject.node, "freed_at", None)
    if freed is not None and subject.tensor._grad is None:
        return _kept_too_late(subject, place_of(*freed))
    state = "holds" if subject.tensor._grad is not None else "will hold, after a backward pass,"
    return explained(
        Cause.FINE,
        f"{subject.called} is not a leaf, but retain_grad() was called: its .grad {state} the "
        "gradient",
        subject.made("computed here"),
    )


def _kept_too_late(subject: Subject, freed: Place) -> Explanation:
    """`retain_grad()` was asked for after the only pass that this graph can have."""
    text = freed.expression
    again = repairs.with_keyword(text, KEEP, "True")
    return explained(
        Cause.GRAPH_FREED,
        f"{subject.called} is not a leaf, and retain_grad() came too late: backward() has run, and "
        "freed the graph, so that no other pass can fill its .grad",
        [(freed, "this backward pass freed the graph"), *subject.made("computed here")],
        [
            f"call `{subject.name}.retain_grad()` before `{short(text)}`"
            if text
            else f"call `{subject.name}.retain_grad()` before backward()",
            "for another pass through the same graph, keep it in the first: "
            + (f"`{again}`" if again else f"{KEEP}=True"),
        ],
    )


def _intermediate(subject: Subject) -> Explanation:
    """An ordinary intermediate result."""
    names = source_names(subject)
    text = "" if subject.made_at is None else subject.made_at.expression
    help = [f"to keep its gradient, call `{subject.name}.retain_grad()` before backward()"]
    if names:
        help[0] += "; the leaf's own is in " + listing([f"{name}.grad" for name in names])
        source = f"computed from {listing(names)}"
    else:
        source = "computed from other tensors"
        repaired = repairs.leaf_last(text)
        if repaired is not None:
            help.insert(0, f"to make it the leaf, ask for gradients last: `{repaired}`")
    return explained(
        Cause.NON_LEAF_NOT_RETAINED,
        f"{subject.called} is not a leaf: it was {source}, and its gradient is passed on, not kept",
        [*subject.made(_made_remark(subject)), *leaf_notes(subject), *_freed_note(subject)],
        help,
    )


def _freed_note(subject: Subject) -> list[Note]:
    """Where a pass went through it, after which its graph is of no use any more."""
    freed = getattr(subject.node, "freed_at", None)
    remark = "this backward pass went through it, and freed the graph: another needs a new one"
    return [] if freed is None else [(place_of(*freed), remark)]


def _made_remark(subject: Subject) -> str:
    return f"computed here, by {op_word(subject.node)}"


def _moved(subject: Subject) -> Explanation | None:
    """A leaf, moved to another device or cast to another dtype."""
    node, last = subject.node, None
    while is_move(node):
        last = node
        edge = node.next[0]
        node = edge.node if isinstance(edge, OutputEdge) else edge
    if last is None or not hasattr(node, "_array"):
        return None
    leaf = node
    keyword = move_keyword(last) or "dtype"
    what = "move to another device" if keyword == "device" else "cast to another dtype"
    name = subject.name_of(leaf)
    original = f"`{name}`" if name else "the leaf"
    notes = [*subject.made(f"a new tensor is made here, as a copy of {original}")]
    notes += made_note(leaf, f"{original}, which collects the gradient, was made here")
    return explained(
        Cause.MOVED_AFTER_REQUIRES_GRAD,
        f"{subject.called} is not a leaf: it is the result of a {what}, which is a recorded "
        "operation",
        notes,
        _instead_of_move(subject, leaf, name, keyword),
    )


def _instead_of_move(subject: Subject, leaf: Any, name: str | None, keyword: str) -> list[str]:
    help = []
    text = "" if subject.made_at is None else subject.made_at.expression
    repaired = repairs.leaf_last(text)
    if repaired is not None:
        help.append(f"ask for gradients last: `{repaired}`")
    else:
        again = repairs.detached_first(text)
        if name is not None:
            help.append(f"the gradient is collected in the leaf: `{name}.grad`")
        if again is not None:
            help.append(
                f"to collect it here, call requires_grad_() after the {_move_word(keyword)}: "
                f"`{again}`"
            )
    help.append(f"or create it as it should be, with {keyword}= and requires_grad=True")
    return help


def _move_word(keyword: str) -> str:
    return "move" if keyword == "device" else "cast"


def _written_to(subject: Subject) -> Explanation | None:
    """A leaf without grad until something that requires grad was written into it."""
    if "was_leaf" not in subject.notes:
        return None
    origin = subject.notes["was_leaf"]
    place = place_of(*subject.notes["lost_at"])
    target = reading.written_value(place.expression)
    made: list[Note] = []
    if origin is not None:
        made = [(place_of(origin[0], origin[1]), "made here, as a leaf without requires_grad")]
    help = [f"to read its gradient, call `{subject.name}.retain_grad()` before backward()"]
    if target is not None:
        help.insert(0, f"to keep it a leaf, write values without history: `{target}.detach()`")
    return explained(
        Cause.LEAF_LOST,
        f"{subject.called} is not a leaf any more: values with a history were written into it in "
        "place",
        [(place, "written here: since then it is a computed tensor"), *made],
        help,
    )


def _lost_parameter(subject: Subject) -> Explanation | None:
    """Held by a module as a plain attribute, and a move or cast of a leaf."""
    node = subject.node
    while is_move(node):
        node = getattr(node.next[0], "node", node.next[0])
    if node is subject.node or not hasattr(node, "_array"):
        return None
    return explain_lost_parameter(subject)


def _rebound(subject: Subject) -> Explanation | None:
    """`w = w - lr * w.grad`: the name of the leaf now means a result."""
    node = subject.node
    target = assigned_name(node.code, node.lasti)
    place = node_place(node)
    if target is None or not reading.reads(place.expression, target):
        return None
    leaf = next((leaf for leaf in subject.leaves if first_name(leaf) == target), None)
    if leaf is None or subject.name_of(leaf) == target:
        return None
    inside = repairs.update_in_place(target, place.expression)
    return explained(
        Cause.LEAF_LOST,
        f"{subject.called} is not a leaf: the name was rebound to a tensor computed from the leaf",
        [
            (place, f"`{target}` means this result from here on"),
            *made_note(leaf, "the leaf was made here"),
        ],
        [f"update the leaf itself, unrecorded: `with torch.no_grad(): {inside}`"],
    )


def _carried_over(subject: Subject) -> Explanation | None:
    """The graphs of several iterations hang on one tensor, although a pass has used them up."""
    nodes = nodes_behind(subject.node)
    times, _ = _iterations(subject.node, nodes)
    freed = [node for node in nodes if getattr(node, "freed_at", None) is not None]
    if times < 2 or not freed:
        return None
    place = node_place(subject.node)
    added = reading.added_value(place.expression)
    help = (
        [f"add the number only: `{repairs.with_added(place.expression, '.item()')}`, or "
         f"`{reading.bracketed(added)}.detach()`"]
        if added
        else [f"cut it off once used: `{subject.name}.detach()`, or `.item()` for a number"]
    )  # fmt: skip
    notes: list[Note] = [(place, f"joined {times} times: each keeps the history of its iteration")]
    notes.append((node_place(freed[0]), "part of that history; backward() has used it already"))
    return explained(
        Cause.GRAPH_CARRIED_OVER,
        f"{subject.called} is a computed tensor that holds the history of {times} iterations, "
        "whose "
        "graphs it keeps alive: memory grows",
        notes,
        help,
    )


def _iterations(node: Any, nodes: list[Any]) -> tuple[int, list[records.Pass]]:
    """How many iterations, each with a backward pass, a node's own expression took part in.

    Between two of them there was a pass: an expression that merely ran several times before the
    only pass, as in a loop over time, is no fault. Also those passes.
    """
    stamps = sorted(n.stamp for n in nodes if (n.code, n.lasti) == (node.code, node.lasti))
    between = [p for p in records.passes if stamps[0] < p.stamp < stamps[-1] and not p.returned]
    return len({sum(p.stamp < stamp for p in between) for stamp in stamps}), between


def _kept_by_retain_graph(subject: Subject) -> Explanation | None:
    """A state handed from step to step, whose graph retain_graph=True keeps for all of them."""
    node = subject.node
    times, passes = _iterations(node, nodes_behind(node))
    places = [place_of(one.code, one.lasti) for one in passes]
    kept = [p for p in places if reading.keyword_source(p.expression, KEEP) == "True"]
    if not kept:
        return None
    name = subject.name
    return explained(
        Cause.GRAPH_CARRIED_OVER,
        f"{subject.called} is a computed tensor that holds the history of {times} iterations, and "
        "each backward pass goes back through all of them: memory and time grow",
        [
            (node_place(node), f"made in {times} iterations, each time from the one before"),
            (kept[-1], f"{KEEP}=True lets the pass go through earlier iterations again"),
        ],
        [f"cut it off between iterations: `{name} = {name}.detach()`, and leave out {KEEP}"],
    )


KEEP: Final = "retain_graph"


def _shared_memory(subject: Subject) -> Explanation | None:
    """Changed through a detached alias."""
    cell = subject.tensor._cell
    shared = getattr(cell, "shared_at", None)
    if cell is None or shared is None or not cell.changes:
        return None
    node = subject.node
    change = cell.changes[-1]
    if change.stamp < node.stamp:
        return None
    place = place_of(change.code, change.lasti)
    alias = place_of(*shared)
    if reading.written_to(place.expression) == subject.plain_name:
        return None
    return explained(
        Cause.SHARED_MEMORY,
        f"the values of {subject.called} were changed through another tensor that shares its "
        "memory",
        [
            (place, "changed here, without a record in the graph"),
            (alias, f"detach() made a tensor over {subject.called}'s memory"),
            *subject.made("computed here"),
        ],
        [f"change a copy instead: `{short(alias.expression)}.clone()`"],
    )
