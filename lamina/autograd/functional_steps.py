"""Steps that the functions of `autograd.functional` have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.autograd.backward import grad
from lamina.core import blame
from lamina.core.definitions import definition
from lamina.core.positions import here
from lamina.core.tensor import Tensor, wrap

Tensors = Any
Function = Callable[..., Any]


def listed(value: Any, what: str, name: str) -> tuple[list[Tensor], bool]:
    """Tensors as a list, and whether it was a single one."""
    is_single = not isinstance(value, tuple)
    found = [value] if is_single else list(value)
    for index, item in enumerate(found):
        if not isinstance(item, Tensor):
            which = f"given {what}" if is_single else f"value at index {index}"
            raise errors.ArgumentTypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"{which} has type {type(item)}.",
                [(blame.this_place(), "asked for here")],
                ["write a tuple instead of the list"] if isinstance(item, list) else [],
            )
    return found, is_single


def prepared(inputs: Tensors, create_graph: bool, name: str) -> tuple[list[Tensor], bool]:
    """Inputs to differentiate by: fresh leaves, or stand-ins that lead to the caller's tensors."""
    given, is_single = listed(inputs, "inputs", name)
    found = []
    for tensor in given:
        if create_graph and tensor.requires_grad:
            found.append(tensor.view_as(tensor))
        else:
            fresh = wrap(tensor._array, (*here(), name, None, None))
            fresh._cell = tensor._cell
            found.append(fresh.requires_grad_())
    return found, is_single


def leaf(array: Any) -> Tensor:
    """An array as a leaf that wants a gradient."""
    return wrap(array, None).requires_grad_()


def evaluated(func: Function, given: Sequence[Tensor], name: str) -> tuple[list[Tensor], bool]:
    """What the function returns: its tensors, and whether it was a single one."""
    return listed(func(*given), "outputs of the user-provided function", name)


def scalar(output: Any, func: Function, name: str) -> tuple[Tensor, Any]:
    """The one number that a function returned, without dimensions, and the shape that it had."""
    outputs, is_single = listed(output, "outputs of the user-provided function", name)
    if not is_single:
        raise errors.NonScalarRoot(
            f"The function given to {name} should return a single Tensor",
            [(definition(func), "the function")],
            ["return one number"],
        )
    found = outputs[0]
    if found._array.size != 1:
        raise errors.NonScalarRoot(
            f"The Tensor returned by the function given to {name} should contain a single element",
            [(definition(func), "the function")],
            ["reduce the result to one number: `.sum()`"],
        )
    return (found.reshape(()) if found.ndim else found), found.shape


def weights_for(like: Sequence[Tensor], v: Any, is_single: bool, name: str) -> list[Any]:
    """The vector to multiply with, checked against what it belongs to."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise errors.NonScalarRoot(
                "The vector v can only be None if the user-provided function returns a single "
                f"Tensor with a single element ({name})",
                [(blame.this_place(), "asked for here")],
            )
        return [wrap(np.ones_like(like[0]._array), None)]
    vectors, _ = listed(v, "v", name)
    if len(vectors) != len(like):
        raise errors.GradShapeMismatch(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}."
        )
    for index, (vector, tensor) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != tensor.shape:
            which = "" if is_single else f"Entry {index} in "
            raise errors.GradShapeMismatch(
                f"{which}v has invalid size: should be {tensor.shape} but got {vector.shape}.",
                [(blame.this_place(), "asked for here")],
            )
    return vectors


def check_outputs(func: Function, outputs: Sequence[Tensor], strict: bool) -> None:
    """Raise, if strict, for an output that does not depend on the inputs."""
    for index, output in enumerate(outputs):
        if strict and not output.requires_grad:
            raise errors.UnusedInput(
                f"Output {index} of the user-provided function does not require gradients. The "
                "outputs must be computed in a differentiable manner from the input when running "
                "in strict mode.",
                [(definition(func), "the function")],
            )


def gradients_of(
    outputs: Sequence[Tensor], given: Sequence[Tensor], weights: Sequence[Any],
    create_graph: bool, strict: bool, func: Function,
) -> list[Tensor]:  # fmt: skip
    """Gradients of those outputs that have a graph; zeros where an input has no influence."""
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    found: Sequence[Tensor | None] = [None] * len(given)
    if pairs:
        found = grad(
            [o for o, _ in pairs], given, [w for _, w in pairs],
            allow_unused=True, create_graph=create_graph, retain_graph=True,
        )  # fmt: skip
    result = []
    for index, (gradient, tensor) in enumerate(zip(found, given, strict=True)):
        if gradient is None:
            if strict:
                raise errors.UnusedInput(
                    f"The output of the user-provided function is independent of input {index}. "
                    "This is not allowed in strict mode.",
                    [(definition(func), "the function")],
                )
            gradient = wrap(np.zeros_like(tensor._array), None)
        elif strict and create_graph and not gradient.requires_grad:
            raise errors.UnusedInput(
                f"The jacobian of the user-provided function with respect to input {index} is "
                "independent of the input. This is not allowed in strict mode when "
                "create_graph=True.",
                [(definition(func), "the function")],
            )
        result.append(gradient)
    return result


def restored(tensors: Sequence[Tensor], create_graph: bool, is_single: bool) -> Any:
    """Results as the caller gets them: cut from the graph unless that was asked for."""
    found = [
        tensor if create_graph or not tensor.requires_grad else tensor.detach()
        for tensor in tensors
    ]
    return found[0] if is_single else tuple(found)
