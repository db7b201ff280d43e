"""Errors about values that nodes keep: changed, freed, made in inference mode, or not a number."""

from __future__ import annotations

from typing import Any

from lamina import dtypes, errors
from lamina.core.blame.words import (
    INFERENCE_HELP,
    Note,
    called,
    dims,
    legacy_type,
    made_note,
    node_place,
    op_word,
    plain_name,
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
    return errors.SavedValueModified(headline, notes, _instead_of_change(change, name))


def _instead_of_change(change: Any, name: str | None) -> list[str]:
    text = "" if change is None else place_of(change.code, change.lasti).expression
    target = name or "the tensor"
    if ".step(" in text:
        return [
            "the optimizer's step changed the parameters that this graph was computed with: "
            f"do the forward pass again after `{text}`, or call backward() before the step"
        ]
    for sign in ("+=", "-=", "*=", "/="):
        left, found, right = text.partition(sign)
        if found and left.strip().isidentifier():
            left, right = left.strip(), right.strip()
            return [f"write `{left} = {left} {sign[0]} {right}`, or change a copy: `{left} = {left}.clone()`"]
    return [
        f"change a copy: `{target} = {target}.clone()` before the change, or write the change out of "
        "place (`torch.where(...)`, `x = x + 1` instead of `x += 1`)"
    ]


def graph_freed(node: Any) -> errors.GraphFreed:
    """A second pass through a graph whose kept values are gone."""
    notes: list[Note] = []
    now = this_place()
    freed = getattr(node, "freed_at", None)
    if freed is not None:
        first = place_of(*freed)
        same = first == now
        notes.append((first, "an earlier pass of this backward freed it" if same else "this backward pass freed it"))
    else:
        notes.append((now, "second backward pass"))
    notes.append((node_place(node), f"{op_word(node)} was recorded here, and its kept values are gone"))
    return errors.GraphFreed(
        "Trying to backward through the graph a second time (or directly access saved tensors "
        "after they have already been freed): the first backward freed what the graph had kept",
        notes,
        [
            "call backward(retain_graph=True) the first time, or add the losses and call backward() once",
            "in a loop, if a tensor of an earlier iteration leads here, cut it off: `h = h.detach()`",
        ],
    )


def inference_saved(tensor: Any) -> errors.InferenceTensorError:
    """An inference tensor would have to be kept for backward."""
    return errors.InferenceTensorError(
        f"Inference tensors cannot be saved for backward: {called(tensor)} was made in inference mode",
        [*made_note(tensor, "made here, in inference mode"),
         (this_place(), "would be kept here, for the derivative")],
        [INFERENCE_HELP],
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
