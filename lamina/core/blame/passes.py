"""Errors about backward passes: their roots, gradients and inputs."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.blame.words import Note, called, dims, made_note, plain_name, this_place
from lamina.core.provenance import argument_names, place_of

# What cut the graph, in words: (what happened, the repair).
CUTS = {
    "no_grad": ("computed while recording was switched off (no_grad)", "compute it outside no_grad()"),
    "inference": ("computed in inference mode", "compute it outside inference_mode()"),
    "detach": ("detached here: the values leave the graph", "use it without .detach()"),
    "data": (".data cuts it out of the graph", "use the tensor itself instead of .data"),
    "integer": ("converted to integers, which have no gradient", "stay in floating point"),
    "not_differentiable": (
        "this operation is not differentiable: it has no derivative",
        "use a differentiable one, such as softmax instead of argmax",
    ),
    "copied": ("the values were copied into a new tensor without history",
               "use torch.stack or clone() to stay in the graph"),
    "backward": ("a gradient computed without create_graph has no history",
                 "compute it with create_graph=True"),
}  # fmt: skip


def no_graph(index: int, tensor: Any) -> errors.NoGraph:
    """backward() from a tensor that has no graph: says what cut it off, or that nothing required grad."""
    place = this_place()
    origin = tensor._origin
    cause = None if origin is None else (origin[4] or origin)
    notes: list[Note] = []
    if cause is not None and cause[3] in CUTS:
        words, repair = CUTS[cause[3]]
        notes.append((place_of(cause[0], cause[1]), words))
        reason = words
    else:
        reason = "no input of its computation requires grad"
        repair = "set requires_grad=True where the data is made, or call requires_grad_() on it"
        if cause is not None:
            made = place_of(cause[0], cause[1])
            notes.append((made, "made here, and does not require grad"))
    if origin is not None and cause is not origin:
        notes.append((place_of(origin[0], origin[1]), f"{called(tensor)} was computed here"))
    notes.append((place, "backward pass"))
    return errors.NoGraph(
        f"element {index} of tensors does not require grad and does not have a grad_fn: {reason}",
        notes,
        [repair],
    )


def non_scalar_root(tensor: Any) -> errors.NonScalarRoot:
    """A backward pass from several numbers, without a weight for each."""
    place = this_place()
    name = plain_name(tensor) or (argument_names(place) or ["t"])[0]
    if tensor._array.size == 1:
        headline = (
            "grad can be implicitly created only for real scalar outputs but got "
            f"{tensor.dtype}"
        )
    else:
        headline = (
            "grad can be implicitly created only for scalar outputs: this one has shape "
            f"{dims(tensor._array.shape)}, so more than one element"
        )
    return errors.NonScalarRoot(
        headline,
        [(place, "backward pass"), *made_note(tensor, "computed here")],
        [
            f"reduce it to one number: `{name}.sum()` or `{name}.mean()`",
            f"or weigh the elements: backward(gradient=torch.ones_like({name}))",
        ],
    )


def check_root_gradient(index: int, tensor: Any, gradient: Any) -> None:
    """Raise unless a gradient given for a root fits it."""
    if not hasattr(gradient, "_array"):
        raise errors.NotAGraphTensor(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__}",
            [(this_place(), "given here")],
        )
    if gradient._array.shape != tensor._array.shape:
        name = plain_name(tensor) or "t"
        raise errors.GradShapeMismatch(
            f"Mismatch in shape: grad_output[{index}] has a shape of {dims(gradient._array.shape)} and "
            f"output[{index}] has a shape of {dims(tensor._array.shape)}.",
            [(this_place(), "given here"), *made_note(tensor, "the output was computed here")],
            [f"give one of the output's shape: `torch.ones_like({name})`; a single number needs none"],
        )
    if tensor.dtype.is_complex != gradient.dtype.is_complex:
        raise errors.GradShapeMismatch(
            f"For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{index}] has a dtype of {gradient.dtype} and "
            f"output[{index}] has a dtype of {tensor.dtype}.",
            [(this_place(), "given here")],
            ["convert the gradient to the output's dtype"],
        )


def unused_input(position: int, tensor: Any, roots: Any) -> errors.UnusedInput:
    """A gradient was asked for something that the result does not depend on."""
    notes: list[Note] = [(this_place(), "asked for here")]
    notes += made_note(tensor, f"{called(tensor)} was made here, and no path leads from the outputs to it")
    for root in roots:
        notes += made_note(root, "the output was computed here")
    return errors.UnusedInput(
        "One of the differentiated Tensors appears to not have been used in the graph. Set "
        f"allow_unused=True if this is the desired behavior: inputs[{position}], {called(tensor)}",
        notes,
        [
            "pass allow_unused=True to get None for it, or materialize_grads=True to get zeros",
            "a slice like x[1] is a new tensor made after the fact: differentiate by x, and index the result",
        ],
    )


def input_without_grad(tensor: Any) -> errors.NoGraph:
    """A gradient was asked for a tensor that does not require grad."""
    return errors.NoGraph(
        f"One of the differentiated Tensors does not require grad: {called(tensor)}",
        [(this_place(), "asked for here"), *made_note(tensor)],
        ["call requires_grad_() on it before the computation"],
    )
