"""Errors about values that nodes keep: changed, freed, made in inference mode, or not a number."""

from __future__ import annotations

from typing import Any, Final

from lamina import dtypes, errors
from lamina.core import records
from lamina.core.blame import reading, repairs
from lamina.core.blame.words import (
    Note,
    called,
    dims,
    inference_help,
    legacy_type,
    made_note,
    node_place,
    nodes_behind,
    op_word,
    plain_name,
    short,
    this_place,
)
from lamina.core.provenance import assigned_name, place_of
from lamina.core.versions import INFERENCE, VersionCell


def saved_value_modified(
    node: Any, array: Any, cell: VersionCell, is_result: bool, tensor: Any = None
) -> errors.SavedValueModified:
    """A kept value was changed in place between recording and use."""
    place = node_place(node)
    word = op_word(node)
    expected = cell.version_at(node.stamp)
    change = cell.first_change_after(node.stamp)
    if is_result:
        name = assigned_name(node.code, node.lasti)
        kept = f"its result was kept here, for {word}'s derivative"
    else:
        name = plain_name(tensor) if tensor is not None else None
        kept = f"it was kept here, for the derivative of {word}"
    subject = f"`{name}`" if name else f"the result of {word}" if is_result else "a value"
    kind = dtypes.from_numpy(array.dtype)
    headline = (
        f"one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {subject} [{legacy_type(kind)} {dims(array.shape)}], "
        + (f"which is output 0 of {node.name()}, " if is_result else f"kept for {node.name()}, ")
        + f"is at version {cell.version}; expected version {expected} instead"
    )
    notes: list[Note] = []
    if change is not None:
        change_place = place_of(change.code, change.lasti)
        notes.append((change_place, f"changed here: version {expected} -> {expected + 1}"))
    notes.append((place, kept))
    if tensor is not None and tensor._node is None and tensor._requires_grad:
        help = _after_backward(node, change)
    else:
        help = _instead_of_change(change, name)
    return errors.SavedValueModified(headline, notes, help)


def _after_backward(node: Any, change: Any) -> list[str]:
    """A leaf was updated too early: between the forward pass and backward."""
    text = "" if change is None else place_of(change.code, change.lasti).expression
    what = f"`{short(text)}`" if text else "the change"
    result = assigned_name(node.code, node.lasti)
    again = f"compute `{result}` again after it" if result else "do the forward pass again after it"
    return [f"a leaf may change only after backward(): move {what} there, or {again}"]


def _instead_of_change(change: Any, name: str | None) -> list[str]:
    """How to keep the old value: the repair depends on how it was changed."""
    text = "" if change is None else place_of(change.code, change.lasti).expression
    target = name or reading.written_to(text) or "t"
    if ".step(" in text:
        return [
            f"the graph was computed with the parameters as they were before `{short(text)}`: do "
            "the forward pass again after it, or call backward() before the step"
        ]
    help = []
    written = repairs.out_of_place(text)
    if written is not None:
        help.append(f"write `{written}`, which leaves the old value alone")
    detached = reading.detached_receiver(text)
    if detached is not None:
        help.append(f"detach() shares memory: change a copy of it, `{detached}.clone()`")
    if not help:
        help.append(
            f"change a copy: `{target} = {target}.clone()` before `{short(text)}`, or compute the "
            "change out of place, for example with torch.where(...)"
        )
    return help


def graph_freed(node: Any) -> errors.GraphFreed:
    """A second pass through a graph whose kept values are gone."""
    now = this_place()
    freed = getattr(node, "freed_at", None)
    carried = _carried_over(node)
    notes: list[Note] = []
    if carried is not None:
        notes.append(
            (node_place(carried), "uses a result of an earlier iteration, and with it that graph")
        )
        notes.append((now, "backward pass: an earlier iteration's pass has freed that part"))
        name = _carrier(node)
        headline = "the graph goes back into an earlier iteration, whose backward pass freed it"
        help = [
            f"cut it off between iterations: `{name} = {name}.detach()`",
            "or, to differentiate through all iterations, add the losses and call backward() "
            "once, at the end",
        ]
        return errors.GraphFreed(f"{_FREED}: {headline}", notes, help)
    if freed is not None and place_of(*freed) != now:
        notes.append((place_of(*freed), "this backward pass freed it"))
        notes.append((now, "second backward pass"))
    else:
        notes.append((now, "an earlier run of this backward pass freed it"))
    notes.append((node_place(node), f"{op_word(node)} was recorded here; its kept values are gone"))
    first = "" if freed is None else place_of(*freed).expression
    kept = repairs.with_keyword(first, "retain_graph", "True")
    return errors.GraphFreed(
        f"{_FREED}: the first backward freed what the graph had kept",
        notes,
        [
            ("keep it in the first pass: "
             f"`{kept}`" if kept else "pass retain_graph=True in the first pass")
            + "; or compute the result again before the second",
            "or add the losses and call backward() once",
        ],
    )  # fmt: skip


_FREED: Final = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed)"
)


def _carried_over(freed: Any) -> Any:
    """The node through which this iteration's graph leads into that of an earlier one, if so.

    It is so if the graph being run was partly recorded after the pass that freed `freed`, by code
    that also recorded `freed`'s part: a loop, or a function called again.
    """
    if len(records.passes) < 2:
        return None
    now = records.passes[-1]
    earlier = [
        p for p in records.passes if freed.freed_at == (p.code, p.lasti) and p.stamp < now.stamp
    ]
    if not earlier:
        return None
    border = earlier[-1].stamp
    nodes = _graph_of(now.roots)
    old_places = {(n.code, n.lasti) for n in nodes if n.stamp < border}
    for node in nodes:
        if node.stamp > border and (node.code, node.lasti) in old_places:
            entry = _entry_into(nodes, border)
            return entry if entry is not None else node
    return None


def _entry_into(nodes: list[Any], border: int) -> Any:
    """The oldest node recorded after `border` that has an input recorded before it."""
    entries = [
        node
        for node in nodes
        if node.stamp > border
        and any(0 < getattr(getattr(e, "node", e), "stamp", 0) < border for e in node.next)
    ]
    return min(entries, key=lambda node: node.stamp, default=None)


def _graph_of(roots: Any) -> list[Any]:
    """The nodes behind some weakly referenced tensors."""
    return nodes_behind(*[root()._node for root in roots if root() is not None])


def _carrier(freed: Any) -> str:
    """The name of the tensor that an earlier iteration handed over: what its last node made."""
    now = records.passes[-1]
    borders = [
        p.stamp for p in records.passes if freed.freed_at == (p.code, p.lasti) and p is not now
    ]
    border = borders[-1]
    handed = [
        target
        for node in _graph_of(now.roots)
        if node.stamp > border
        for target in (getattr(e, "node", e) for e in node.next)
        if 0 < getattr(target, "stamp", 0) < border
    ]
    names = [assigned_name(node.code, node.lasti, chain=True) for node in handed]
    return next((name for name in names if name), "h")


def inference_saved(tensor: Any) -> errors.InferenceTensorError:
    """An inference tensor would have to be kept for backward."""
    return errors.InferenceTensorError(
        f"Inference tensors cannot be saved for backward: {called(tensor)} was made in inference "
        "mode",
        [*made_note(tensor, "made here, in inference mode"),
         (this_place(), "would be kept here, for the derivative")],
        [inference_help(tensor)],
    )  # fmt: skip


def check_inference_saved(first: Any, second: Any, keep: int) -> None:
    """Raise if one of two inputs must be kept and is an inference tensor."""
    for bit, tensor in ((1, first), (2, second)):
        if keep & bit and getattr(tensor, "_cell", None) is INFERENCE:
            raise inference_saved(tensor)


def check_nan(node: Any, arrays: list[Any]) -> None:
    """Anomaly mode: raise if a derivative has a NaN in it."""
    for index, array in enumerate(arrays):
        if array is not None and array.dtype.kind in "fc" and bool((array != array).any()):
            raise errors.NanGradient(
                f"Function '{node.name()}' returned nan values in its {index}th output.",
                [(node_place(node), f"the derivative of {op_word(node)} is not a number here")],
                ["keep the argument away from the point without a derivative: add a small 1e-12 "
                 "inside sqrt or log, or clamp it"],
            )  # fmt: skip
