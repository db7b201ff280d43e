"""Errors about leaves, flags, hooks and `.grad`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.words import (
    INFERENCE_HELP,
    called,
    dims,
    made_note,
    plain_name,
    this_place,
)
from lamina.core.provenance import argument_names, place_of


def flag_of_non_leaf(tensor: Any, wanted: bool) -> errors.NotALeafFlag:
    """`requires_grad` was set on a tensor that an operation made."""
    name = plain_name(tensor) or "t"
    repair = (
        f"to use the values without the graph, write `{name} = {name}.detach()`"
        if not wanted
        else "a computed tensor requires grad because of its inputs; nothing needs to be set"
    )
    return errors.NotALeafFlag(
        "you can only change requires_grad flags of leaf variables: "
        f"{called(tensor)} is not a leaf, it was computed from others",
        [(this_place(), "changed here"), *made_note(tensor, "computed here")],
        [repair, "to compute without recording, use `with torch.no_grad():`"],
    )


def integer_requires_grad(kind: dtypes.dtype, at_creation: bool) -> errors.RequiresGradDtype:
    """Gradients were asked for on a tensor of whole numbers."""
    start = "Only Tensors of" if at_creation else "only Tensors of"
    phrase = "floating point and complex dtype" if at_creation else "floating point dtype"
    return errors.RequiresGradDtype(
        f"{start} {phrase} can require gradients: this one is {kind.name}, and an integer has no "
        "derivative",
        [(this_place(), "asked for here")],
        ["make it floating point: `.float()`, `dtype=torch.float32`, or write numbers as 1.0"],
    )


def inference_requires_grad(tensor: Any) -> errors.InferenceTensorError:
    """An inference tensor cannot enter a graph."""
    return errors.InferenceTensorError(
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed",
        [(this_place(), "asked for here"), *made_note(tensor, "made here, in inference mode")],
        [INFERENCE_HELP],
    )


def grad_of_non_leaf(tensor: Any) -> errors.NonLeafGradWarning:
    """`.grad` of a computed tensor was read, which is never filled unless retained."""
    name = plain_name(tensor) or "t"
    return errors.NonLeafGradWarning(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
        f"attribute won't be populated during autograd.backward(): {called(tensor)} was computed "
        "from other tensors, and its gradient was passed on, not kept",
        made_note(tensor, "computed here"),
        [
            f"to keep it, call `{name}.retain_grad()` before backward()"
            + _leaf_behind(tensor)
        ],
    )


def _leaf_behind(tensor: Any) -> str:
    node = tensor._node
    node = getattr(node, "node", node)
    for edge in getattr(node, "next", ()):
        if edge is not None and hasattr(edge, "_array"):
            name = plain_name(edge)
            if name:
                return f"; the leaf's gradient is in `{name}.grad`"
    return "; the gradients of leaves are in their own .grad"


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Raise unless `value` can be the gradient of a tensor."""
    name = plain_name(tensor) or "t"
    if not hasattr(value, "_array"):
        raise errors.GradNotATensor(
            f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}",
            [(this_place(), "assigned here")],
            [f"write `{name}.grad = torch.full_like({name}, {value!r})`"],
        )
    made = made_note(tensor, f"`{name}` was made here")
    if value is tensor:
        raise errors.GradAssignmentMismatch("can't assign Variable as its own grad", made, [f"use `{name}.clone()`"])
    if value._array.shape != tensor._array.shape:
        raise errors.GradAssignmentMismatch(
            f"assigned grad has data of a different size: cannot assign a gradient of size {dims(value._array.shape)} to a tensor of "
            f"size {dims(tensor._array.shape)}. Please ensure that the gradient and the tensor are the same size",
            [(this_place(), "assigned here"), *made],
            [f"give it the tensor's shape: `.reshape({name}.shape)`, or make it with `torch.ones_like({name})`"],
        )
    if value.dtype is not tensor.dtype:
        raise errors.GradAssignmentMismatch(
            f"assigned grad has data of a different type: attempting to assign a gradient with dtype "
            f"{value.dtype} to a tensor with grad_dtype {tensor.dtype}",
            [(this_place(), "assigned here"), *made],
            [f"convert it: `.to({name}.dtype)`, or make it with `dtype={name}.dtype`"],
        )
    if value.device != tensor.device:
        raise errors.GradAssignmentMismatch(
            f"assigned grad has data located on a different device: expected {tensor.device}, got {value.device}",
            [(this_place(), "assigned here"), *made],
            [f"move it: `.to({name}.device)`"],
        )


def check_assigned_data(tensor: Any, value: Any) -> None:
    """Raise unless `value` can become the memory of a tensor."""
    if not hasattr(value, "_array"):
        raise errors.DataMismatch(
            f"Variable data has to be a tensor, but got {type(value).__name__}",
            [(this_place(), "assigned here")],
            ["make one of it first: `torch.as_tensor(...)`"],
        )
    if tensor.requires_grad and not value.dtype.is_differentiable:
        raise errors.DataMismatch(
            "data set to a tensor that requires gradients must be floating point or complex dtype, "
            f"not {value.dtype}",
            [(this_place(), "assigned here")],
            ["convert the values first, or turn off requires_grad"],
        )


def retain_without_grad(tensor: Any) -> errors.RetainGradRefused:
    """`retain_grad` on a tensor without gradient."""
    name = plain_name(tensor) or "t"
    return errors.RetainGradRefused(
        "can't retain_grad on Tensor that has requires_grad=False",
        [(this_place(), "asked for here"), *made_note(tensor, f"`{name}` was made here, and does not require grad")],
        [f"ask for gradients first: `{name}.requires_grad_()`, or requires_grad=True where it is made"],
    )


def hook_without_grad(tensor: Any) -> errors.HookRefused:
    """A hook on a tensor without gradient would never run."""
    name = plain_name(tensor) or "t"
    origin = tensor._origin
    reason = "it does not require grad"
    repair = f"ask for gradients first: `{name}.requires_grad_()`, or requires_grad=True where it is made"
    if origin is not None and origin[3] == "no_grad":
        reason = "it was computed under no_grad, so no gradient will come by"
        repair = "compute it outside no_grad"
    return errors.HookRefused(
        f"cannot register a hook on a tensor that doesn't require gradient: {called(tensor)}: {reason}",
        [(this_place(), "hooked here"), *made_note(tensor, f"`{name}` was made here")],
        [repair],
    )


def check_hook_result(answer: Any, gradient: Any) -> None:
    """Raise unless what a tensor hook returned can replace the gradient."""
    array = getattr(answer, "_array", None)
    if array is None:
        raise errors.HookResultInvalid(
            f"expected the hook to return a Tensor or None, but it returned {type(answer).__name__}",
            help=["return the new gradient, or nothing to leave it as it is"],
        )
    expected = getattr(gradient, "_array", gradient)
    if array.shape != expected.shape:
        raise errors.HookResultInvalid(
            f"hook has changed the size of value: from {dims(expected.shape)} to {dims(array.shape)}",
            help=["return a gradient of the same shape"],
        )


def deepcopy_of_non_leaf(tensor: Any, what: str) -> RuntimeError:
    """A computed tensor was to be copied together with its graph."""
    place = this_place()
    name = plain_name(tensor)
    return errors.DeepcopyOfNonLeaf(
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
        f"the moment: {called(tensor)} is not a leaf, it carries the history of its computation",
        [*made_note(tensor, "computed here"), (place, f"{what} was asked for here")],
        [
            f"keep it without its history: `{name or 't'}.detach()`, or set it to None before copying",
        ],
    )


def numpy_of_requiring(tensor: Any) -> errors.NumpyOfRequiringTensor:
    """`.numpy()` would let the values leave the graph unseen."""
    place = this_place()
    operands = argument_names(place)
    name = plain_name(tensor) or (operands[0] if operands else "t")
    return errors.NumpyOfRequiringTensor(
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead: "
        "NumPy cannot record what is done to the values, so gradients would be lost",
        [(place, "asked for here"), *made_note(tensor)],
        [f"if no gradient is needed, write `{name}.detach().numpy()`"],
    )


def non_leaf_optimized(tensor: Any) -> errors.NonLeafOptimized:
    """An optimizer was given a computed tensor."""
    name = plain_name(tensor)
    leaf = _leaf_behind(tensor)
    del leaf
    place = this_place()
    original = _original_name(tensor)
    repair = (
        f"optimize the leaf {original}: pass {original} instead"
        if original
        else f"make a leaf of its values: `{name or 't'} = {name or 't'}.detach().requires_grad_()`"
    )
    return errors.NonLeafOptimized(
        f"can't optimize a non-leaf Tensor: {called(tensor)} was computed from others, and is "
        "computed anew in each forward pass",
        [*made_note(tensor, "computed here"), (place, "given to the optimizer here")],
        [repair, "or compute it first, then call requires_grad_() on the result, so that it is a leaf "
         "(or make it where it belongs, with device= and dtype=)"],
    )  # fmt: skip


def _original_name(tensor: Any) -> str | None:
    node = tensor._node
    node = getattr(node, "node", node)
    for edge in getattr(node, "next", ()):
        if edge is not None and hasattr(edge, "_array"):
            return plain_name(edge)
    return None




