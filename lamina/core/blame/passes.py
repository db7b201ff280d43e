"""Errors about backward passes: their roots, gradients and inputs."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core import records
from lamina.core.blame import reading, repairs
from lamina.core.blame.reasons import reason_for, reason_in_words
from lamina.core.blame.words import (
    Note,
    a_name,
    called,
    dims,
    made_note,
    node_of,
    plain_name,
    this_place,
)
from lamina.core.provenance import place_of
from lamina.devices import device_of


def no_graph(index: int, tensor: Any) -> errors.NoGraph:
    """backward() from a tensor without a graph: says what cut it off, if anything did."""
    place = this_place()
    reason = reason_for(tensor)
    notes = list(reason.notes)
    lines = {note[0].line for note in notes if note[0] is not None}
    made = made_note(tensor, f"{called(tensor, 'it')} was computed here")
    notes += [note for note in made if note[0] and note[0].line not in {place.line, *lines}]
    if place.line not in lines:
        notes.append((place, "backward pass"))
    return errors.NoGraph(
        f"element {index} of tensors does not require grad and does not have a grad_fn: "
        f"{reason.words}",
        notes,
        reason.help,
    )


def non_scalar_root(tensor: Any) -> errors.NonScalarRoot:
    """A backward pass from several numbers, without a weight for each."""
    place = this_place()
    text = place.expression
    method = text.endswith(".backward()")
    source = plain_name(tensor)
    if source is None:
        source = (reading.receiver(text) if method else reading.first_argument(text)) or "t"
    root = reading.bracketed(source)
    if tensor._array.size == 1:
        headline = (
            f"grad can be implicitly created only for real scalar outputs but got {tensor.dtype}"
        )
        help = [f"take a real number of it: `{root}.abs()` or `{root}.real`"]
    else:
        headline = (
            "grad can be implicitly created only for scalar outputs: this one has shape "
            f"{dims(tensor._array.shape)}, so more than one element"
        )
        end = ".backward()" if method else ""
        weights = (
            f"gradient=torch.ones_like({source})"
            if method
            else f"grad_outputs=torch.ones_like({source})"
        )
        help = [
            f"reduce it to one number first: `{root}.sum(){end}` or `{root}.mean(){end}`",
            f"or weigh the elements: pass `{weights}`",
        ]
    notes: list[Note] = [(place, "backward pass")]
    notes += [n for n in made_note(tensor, "computed here") if n[0] != place]
    return errors.NonScalarRoot(headline, notes, help)


def check_root_gradient(index: int, tensor: Any, gradient: Any) -> None:
    """Raise unless a gradient given for a root fits it."""
    if not hasattr(gradient, "_array"):
        raise errors.NotAGraphTensor(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__}",
            [(this_place(), "given here")],
            ["make it a tensor: `torch.tensor(...)`"],
        )
    if gradient._array.shape != tensor._array.shape:
        raise errors.GradShapeMismatch(
            f"Mismatch in shape: grad_output[{index}] has a shape of {dims(gradient._array.shape)} "
            f"and output[{index}] has a shape of {dims(tensor._array.shape)}.",
            [(this_place(), "given here"), *made_note(tensor, "the output was computed here")],
            _fitting(tensor, gradient),
        )
    place, found = device_of(tensor._array), device_of(gradient._array)
    if place is not found and gradient._array.ndim:
        raise errors.DeviceMismatch(
            f"invalid gradient at index {index} - expected device {place} but got {found}",
            [(this_place(), "given here"), *made_note(tensor, "the output was computed here")],
            [f"move the gradient: `.to({str(place)!r})`"],
        )
    if tensor.dtype.is_complex != gradient.dtype.is_complex:
        raise errors.GradShapeMismatch(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{index}] has a dtype of {gradient.dtype} and "
            f"output[{index}] has a dtype of {tensor.dtype}.",
            [(this_place(), "given here")],
            [f"convert the gradient: `.to({tensor.dtype})`"],
        )


def _fitting(tensor: Any, gradient: Any) -> list[str]:
    """How to make a gradient of the root's shape."""
    shape = tensor._array.shape
    if not shape:
        return [
            "the output is one number: call backward() without argument, or give torch.tensor(1.0)"
        ]
    if gradient._array.size == tensor._array.size:
        name = plain_name(gradient)
        made = f"{name}.reshape({dims(shape)})" if name else f"reshape({dims(shape)})"
        return [f"give it the output's shape: `{made}`"]
    return [f"make one of the output's shape: `torch.ones_like({a_name(tensor, 'output')})`"]


def unused_input(position: int, tensor: Any, roots: Any) -> errors.UnusedInput:
    """A gradient was asked for something that the result does not depend on."""
    place = this_place()
    name = called(tensor, f"inputs[{position}]")
    notes: list[Note] = [(place, "asked for here")]
    latest = max((node.stamp for node in map(node_of, roots) if node is not None), default=0)
    node = node_of(tensor)
    headline = (
        "One of the differentiated Tensors appears to not have been used in the graph. Set "
        f"allow_unused=True if this is the desired behavior: inputs[{position}]"
        + (f", {name}," if name != f"inputs[{position}]" else "")
    )
    cut = cut_from(tensor)
    if node is not None and node.stamp > latest:
        headline += " is a new tensor, made after the output was computed"
        made = made_note(tensor, f"{name} is a new tensor, and no path leads to it")
        source = reading.receiver_of_index(made[0][0].expression if made and made[0][0] else "")
        help = [_by_source(place.expression, source)]
    else:
        headline += " does not lead to the output"
        made = made_note(tensor, f"{name} was made here, and no path leads from the output to it")
        asked = repairs.with_keyword(place.expression, "allow_unused", "True")
        help = [
            "to get None for it" + (f", write `{asked}`" if asked else ", pass allow_unused=True")
            + "; with materialize_grads=True you get zeros"
        ]  # fmt: skip
    notes += [n for n in made if n[0] != place]
    for root in roots:
        notes += made_note(root, "the output was computed here")
    if cut is not None and any(n is not None and n.code is cut.code for n in map(node_of, roots)):
        reason = reason_in_words(cut.reason, cut.op, place_of(cut.code, cut.lasti))
        notes.append((place_of(cut.code, cut.lasti), f"values of {name} leave the graph here"))
        help = [*help, *reason.help]
    return errors.UnusedInput(headline, notes, help)


def _by_source(text: str, source: str | None) -> str:
    if source is None:
        return "differentiate by what the output was computed from, or compute it from this tensor"
    changed = repairs.with_argument(text, 1, source)
    how = f"`{changed}`" if changed else f"differentiate by `{source}`"
    instead = "or compute the output from the part"
    return f"differentiate by `{source}` and index the result: {how}; {instead}"


def cut_from(tensor: Any) -> records.Cut | None:
    """The latest recorded place where values of a tensor left the graph."""
    cuts = [*(cut for cuts in records.detached.values() for cut in cuts), *records.cuts]
    found = (cut for cut in reversed(cuts) if any(ref() is tensor for ref in cut.sources))
    return next(found, None)


def input_without_grad(tensor: Any) -> errors.NoGraph:
    """A gradient was asked for a tensor that does not require grad."""
    reason = reason_for(tensor)
    place = this_place()
    return errors.NoGraph(
        f"One of the differentiated Tensors does not require grad: {called(tensor)}: "
        f"{reason.words}",
        [(place, "asked for here"), *reason.notes],
        [f"call `{a_name(tensor)}.requires_grad_()` before the computation"]
        if reason.kind == "never"
        else reason.help,
    )
