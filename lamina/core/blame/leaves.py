"""Errors about leaves, flags, hooks and `.grad`."""

from __future__ import annotations

from typing import Any

from lamina import dtypes, errors
from lamina.core import records
from lamina.core.blame import reading, repairs
from lamina.core.blame.reasons import NEVER, reason_for
from lamina.core.blame.words import (
    Note,
    a_name,
    called,
    dims,
    inference_help,
    is_move,
    leaves_of,
    legacy_type,
    listing,
    made_note,
    move_keyword,
    node_of,
    plain_name,
    this_place,
)
from lamina.core.definitions import definition
from lamina.core.provenance import argument_names, place_of


def flag_of_non_leaf(tensor: Any, wanted: bool) -> errors.NotALeafFlag:
    """`requires_grad` was set on a tensor that an operation made."""
    name = a_name(tensor)
    if wanted:
        help = [
            "leave it out: it requires grad already, since its inputs do",
            f"to begin a new graph with its values, write `{name} = "
            f"{name}.detach().requires_grad_()`",
        ]
    else:
        help = [
            f"to use the values without the graph, write `{name} = {name}.detach()`",
            "to compute it without recording, do it under `with torch.no_grad():`",
        ]
    return errors.NotALeafFlag(
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable in a subgraph that doesn't require differentiation use detach(): "
        f"{called(tensor)} is not a leaf, it was computed from others",
        [(this_place(), "changed here"), *made_note(tensor, "computed here")],
        help,
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
        [inference_help(tensor)],
    )


def grad_of_non_leaf(tensor: Any) -> errors.NonLeafGradWarning:
    """`.grad` of a computed tensor was read, which is never filled unless retained."""
    name = plain_name(tensor) or "t"
    return errors.NonLeafGradWarning(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
        f"attribute won't be populated during autograd.backward(): {called(tensor)} was computed "
        "from other tensors, and its gradient was passed on, not kept",
        [*made_note(tensor, "computed here"), *_single_leaf_note(tensor)],
        [f"to keep it, call `{name}.retain_grad()` before backward()" + _leaf_behind(tensor)],
    )


def _leaf_behind(tensor: Any) -> str:
    """Where to read the gradient of the leaves behind a tensor."""
    names = [name for name in map(plain_name, leaves_of(tensor, 100)) if name]
    if not names:
        return ""
    return "; the leaf's own is in " + listing([f"{name}.grad" for name in names])


def _single_leaf_note(tensor: Any) -> list[Note]:
    """Where the leaf behind a computed tensor was made, if there is just one."""
    leaves = leaves_of(tensor, 100)
    name = plain_name(leaves[0]) if len(leaves) == 1 else None
    return [] if name is None else made_note(leaves[0], f"the leaf `{name}` was made here")


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Raise unless `value` can be the gradient of a tensor."""
    name = plain_name(tensor) or "t"
    if not hasattr(value, "_array"):
        raise errors.GradNotATensor(
            "assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(value).__name__}",
            [(this_place(), "assigned here")],
            [f"write `{name}.grad = torch.full_like({name}, {value!r})`"],
        )
    made = made_note(tensor, f"`{name}` was made here")
    if value is tensor:
        raise errors.GradAssignmentMismatch(
            "can't assign Variable as its own grad", made, [f"use `{name}.clone()`"]
        )
    if value._array.shape != tensor._array.shape:
        raise errors.GradAssignmentMismatch(
            "assigned grad has data of a different size: attempting to assign a gradient of size "
            f"'{dims(value._array.shape)}' to a tensor of size '{dims(tensor._array.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size",
            [(this_place(), "assigned here"), *made],
            [
                f"give it the tensor's shape: `.reshape({name}.shape)`, or make it with "
                f"`torch.ones_like({name})`"
            ],
        )
    if value.dtype is not tensor.dtype:
        raise errors.GradAssignmentMismatch(
            "assigned grad has data of a different type: attempting to assign a gradient with "
            f"dtype {value.dtype} to a tensor with grad_dtype {tensor.dtype}",
            [(this_place(), "assigned here"), *made],
            [f"convert it: `.to({name}.dtype)`, or make it with `dtype={name}.dtype`"],
        )
    if value.device != tensor.device:
        raise errors.GradAssignmentMismatch(
            f"assigned grad has data located on a different device: expected {tensor.device}, got "
            f"{value.device}",
            [(this_place(), "assigned here"), *made],
            [f"move it: `.to({name}.device)`"],
        )


def check_assigned_data(tensor: Any, value: Any) -> None:
    """Raise unless `value` can become the memory of a tensor."""
    if not hasattr(value, "_array"):
        raise errors.ArgumentTypeError(
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
        [
            (this_place(), "asked for here"),
            *made_note(tensor, f"`{name}` was made here, and does not require grad"),
        ],
        [
            f"ask for gradients first: `{name}.requires_grad_()`, or requires_grad=True where it "
            "is made"
        ],
    )


def hook_without_grad(tensor: Any) -> errors.HookRefused:
    """A hook on a tensor without gradient would never run."""
    name = a_name(tensor)
    place = this_place()
    reason = reason_for(tensor)
    help = reason.help
    if reason.kind == NEVER:
        help = [
            f"ask for gradients first: `{name}.requires_grad_()`, or requires_grad=True where it "
            "is made"
        ]
    return errors.HookRefused(
        f"cannot register a hook on a tensor that doesn't require gradient: {called(tensor)}: "
        f"{reason.words}",
        [(place, "hooked here"), *(note for note in reason.notes if note[0] != place)],
        help,
    )


def check_hook_result(hook: Any, answer: Any, gradient: Any) -> None:
    """Raise unless what a hook returned can replace the gradient."""
    name = getattr(hook, "__name__", type(hook).__name__)
    notes = [(definition(hook), "the hook")]
    if gradient is None:
        raise errors.HookResultInvalid(
            "can't replace a None gradient with a non-None value: no gradient reached hook "
            f"'{name}'",
            notes,
            ["return None when called with None"],
        )
    array = getattr(answer, "_array", None)
    if array is None:
        raise errors.NotAGraphTensor(
            f"expected Variable, but hook returned '{type(answer).__name__}': hook '{name}'",
            notes,
            ["return the new gradient, or nothing to leave it as it is"],
        )
    expected = getattr(gradient, "_array", gradient)
    if array.shape != expected.shape:
        raise errors.HookResultInvalid(
            f"hook '{name}' has changed the size of value: from {dims(expected.shape)} to "
            f"{dims(array.shape)}",
            notes,
            ["return a gradient of the same shape"],
        )
    if array.dtype != expected.dtype:
        was, got = (dtypes.from_numpy(a.dtype) for a in (expected, array))
        raise errors.HookResultInvalid(
            f"hook '{name}' has changed the type of value (was {legacy_type(was)} got "
            f"{legacy_type(got)})",
            notes,
            [f"convert the result: `.to({was!r})`"],
        )


def check_node_hook_result(hook: Any, answer: Any, gradients: tuple[Any, ...]) -> None:
    """Raise unless what a hook on a node returned can replace its gradients."""
    name = getattr(hook, "__name__", type(hook).__name__)
    if not isinstance(answer, tuple):
        raise errors.NotAGraphTensor(
            f"expected tuple, but hook returned '{type(answer).__name__}': hook '{name}'",
            [(definition(hook), "the hook")],
            ["return a tuple with one gradient for each that it was given: `return (g,)`"],
        )
    if len(answer) != len(gradients):
        raise errors.HookResultInvalid(
            f"hook '{name}' has returned an incorrect number of values (got {len(answer)}, but "
            f"expected {len(gradients)})",
            [(definition(hook), "the hook")],
            ["return a tuple with one gradient for each that it was given"],
        )
    for part, gradient in zip(answer, gradients, strict=True):
        if part is not None:
            check_hook_result(hook, part, gradient)


def deepcopy_of_non_leaf(tensor: Any) -> RuntimeError:
    """A computed tensor was to be copied together with its graph."""
    place = this_place()
    name = plain_name(tensor)
    held = [
        (place_of(*position), f"kept in an attribute of {type(module).__name__} here")
        for module, names in list(records.plain_parts.items())
        for attribute, position in names.items()
        if vars(module).get(attribute) is tensor
    ]
    return errors.DeepcopyOfNonLeaf(
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
        f"at the moment: {called(tensor)} is not a leaf, it carries the history of its computation",
        [*made_note(tensor, "computed here"), *held[:1], (place, "deepcopy was asked for here")],
        [
            f"keep it without its history: `{name or 't'}.detach()`, or set it to None before "
            "copying",
        ],
    )


def numpy_of_requiring(tensor: Any) -> errors.NumpyOfRequiringTensor:
    """`.numpy()` would let the values leave the graph unseen."""
    place = this_place()
    operands = argument_names(place)
    name = plain_name(tensor) or reading.bracketed(operands[0] if operands else "t")
    return errors.NumpyOfRequiringTensor(
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead: "
        "NumPy cannot record what is done to the values, so gradients would be lost",
        [(place, "asked for here"), *(n for n in made_note(tensor) if n[0] != place)],
        [f"if no gradient is needed, write `{name}.detach().numpy()`"],
    )


def non_leaf_optimized(tensor: Any) -> errors.NonLeafOptimized:
    """An optimizer was given a computed tensor."""
    place = this_place()
    name = called(tensor, "it")
    made = made_note(tensor, "computed here")
    text = made[0][0].expression if made and made[0][0] is not None else ""
    return errors.NonLeafOptimized(
        f"can't optimize a non-leaf Tensor: {name} was computed from others, and its .grad is "
        "never filled",
        [
            *made,
            *(
                n
                for n in [(place, "given to the optimizer here")]
                if not made or n[0] != made[0][0]
            ),
            *_single_leaf_note(tensor),
        ],
        _what_to_optimize(tensor, text),
    )


def _what_to_optimize(tensor: Any, text: str) -> list[str]:
    names = [name for name in map(plain_name, leaves_of(tensor, 100)) if name]
    help = []
    if len(names) == 1:
        again = (
            ""
            if is_move(node_of(tensor))
            else ", and compute the other from it in each forward pass"
        )
        help.append(f"optimize the leaf it was computed from: pass `[{names[0]}]`{again}")
    repaired = repairs.leaf_last(text)
    if repaired is not None:
        help.append(f"make it a leaf, by asking for gradients last: `{repaired}`")
    else:
        name = plain_name(tensor)
        leaf = f"{name} = {name}" if name else reading.bracketed(text or "t")
        help.append(f"or make a leaf of its values: `{leaf}.detach().requires_grad_()`")
    move = move_keyword(node_of(tensor))
    if move and repaired is not None:
        help.append(f"or create it where it belongs, with {move}=")
    return help
