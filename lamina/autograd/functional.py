"""Derivatives of functions: products with vectors, Jacobians and Hessians.

Each takes a function of tensors and the tensors to evaluate it at; neither needs to require grad.
Results have the structure of the inputs and outputs: a tensor for a tensor, a tuple for a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.autograd.backward import grad
from lamina.core import blame
from lamina.core.definitions import definition
from lamina.core.modes import enable_grad
from lamina.core.op import traced
from lamina.core.provenance import here
from lamina.core.tensor import Tensor, wrap

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Any
Function = Callable[..., Any]


def vjp(
    func: Function,
    inputs: Tensors,
    v: Tensors = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """`(func(inputs), v^T J)`: the product of a vector with the Jacobian, in one backward pass.

    Args:
        func: Takes the inputs and returns a tensor or a tuple of tensors.
        inputs: A tensor or a tuple of tensors.
        v: The vector, with the structure of the output; needed unless that is a single number.
        create_graph: Whether the results can be differentiated again.
        strict: Raise an error if an output does not depend on an input, instead of giving zeros.
    """
    with enable_grad():
        given, is_single = _prepared(inputs, create_graph, "vjp")
        outputs, single_output = _evaluated(func, given, "vjp")
        _check_outputs(func, outputs, strict)
        weights = _weights(outputs, v, single_output, "vjp")
        found = _gradients(outputs, given, weights, create_graph, strict, func)
    return (
        _restored(outputs, create_graph, single_output),
        _restored(found, create_graph, is_single),
    )


def jvp(
    func: Function,
    inputs: Tensors,
    v: Tensors = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """`(func(inputs), J v)`: the product of the Jacobian with a vector.

    Computed with two backward passes: J v is the derivative of u^T J by u.
    """
    with enable_grad():
        given, is_single = _prepared(inputs, create_graph, "jvp")
        directions = _weights(given, v, is_single, "jvp")
        outputs, single_output = _evaluated(func, given, "jvp")
        _check_outputs(func, outputs, strict)
        found = _forward_product(func, outputs, given, directions, create_graph, strict)
    return (
        _restored(outputs, create_graph, single_output),
        _restored(found, create_graph, single_output),
    )


def _forward_product(
    func: Function, outputs: Sequence[Tensor], given: Sequence[Tensor],
    directions: Sequence[Tensor], create_graph: bool, strict: bool,
) -> list[Tensor]:  # fmt: skip
    dummies = [_leaf(np.zeros_like(output._array)) for output in outputs]
    pulled = _gradients(outputs, given, dummies, True, strict, func)
    return _gradients(pulled, dummies, directions, create_graph, strict, func)


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Tensors:
    """The Jacobian: for output and input of shapes A and B, a tensor of shape A + B.

    For several outputs or inputs: a tuple by outputs of tuples by inputs. `vectorize` and
    `strategy` are accepted; the rows are computed one by one.

    >>> import lamina
    >>> lamina.autograd.functional.jacobian(lambda x: x * x, lamina.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy(strategy, vectorize)
    with enable_grad():
        given, is_single = _prepared(inputs, create_graph, "jacobian")
        outputs, single_output = _evaluated(func, given, "jacobian")
        _check_outputs(func, outputs, strict)
        rows = [_jacobian_of(output, given, create_graph, strict, func) for output in outputs]
    parts = [_restored(row, create_graph, is_single) for row in rows]
    return parts[0] if single_output else tuple(parts)


def _check_strategy(strategy: str, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise errors.InvalidValue(
            f'Expected strategy to be either "forward-mode" or "reverse-mode", got {strategy!r}'
        )
    if strategy == "forward-mode" and not vectorize:
        raise errors.NotSupported(
            "torch.autograd.functional.jacobian with strategy='forward-mode' needs vectorize=True",
            help=["use strategy='reverse-mode', or torch.func.jacfwd"],
        )


def _jacobian_of(
    output: Tensor, given: Sequence[Tensor], create_graph: bool, strict: bool, func: Function
) -> list[Tensor]:
    """The Jacobians of one output by each input, a backward pass for each element."""
    rows: list[list[Tensor]] = [[] for _ in given]
    for index in np.ndindex(*output._array.shape):
        seed = np.zeros_like(output._array)
        seed[(*index, Ellipsis)] = 1
        found = _gradients([output], given, [wrap(seed, None)], create_graph, strict, func)
        for k, gradient in enumerate(found):
            rows[k].append(gradient)
    return [
        traced.stack(row).view((*output.shape, *x.shape))
        if row
        else wrap(np.zeros_like(x._array, shape=(*output.shape, *x.shape)), None)
        for row, x in zip(rows, given, strict=True)
    ]


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Tensors:
    """The Hessian of a function with one number as its output: the Jacobian of its gradient.

    >>> import lamina
    >>> lamina.autograd.functional.hessian(lambda x: (x**3).sum(), lamina.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _check_strategy(outer_jacobian_strategy, True)
    is_single = not isinstance(inputs, tuple | list)

    def gradient(*given: Tensor) -> Any:
        output = _scalar(func(*given), func, "hessian")
        _check_outputs(func, [output], strict)
        found = _gradients([output], given, [None], True, strict, func)
        return found[0] if is_single else tuple(found)

    return jacobian(gradient, inputs, create_graph, strict)


def vhp(
    func: Function,
    inputs: Tensors,
    v: Tensors = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Tensors]:
    """`(func(inputs), v^T H)`: the product of a vector with the Hessian."""
    with enable_grad():
        given, is_single = _prepared(inputs, create_graph, "vhp")
        directions = _weights(given, v, is_single, "vhp")
        output = _scalar(func(*given), func, "vhp")
        _check_outputs(func, [output], strict)
        gradients = _gradients([output], given, [None], True, strict, func)
        found = _gradients(gradients, given, directions, create_graph, strict, func)
    return _restored([output], create_graph, True), _restored(found, create_graph, is_single)


def hvp(
    func: Function,
    inputs: Tensors,
    v: Tensors = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Tensors]:
    """`(func(inputs), H v)`: the product of the Hessian with a vector. `vhp` is faster."""
    with enable_grad():
        given, is_single = _prepared(inputs, create_graph, "hvp")
        directions = _weights(given, v, is_single, "hvp")
        output = _scalar(func(*given), func, "hvp")
        _check_outputs(func, [output], strict)
        gradients = _gradients([output], given, [None], True, strict, func)
        found = _forward_product(func, gradients, given, directions, create_graph, strict)
    return _restored([output], create_graph, True), _restored(found, create_graph, is_single)


# --- steps in common ------------------------------------------------------------------------------


def _listed(value: Any, what: str, name: str) -> tuple[list[Tensor], bool]:
    """Tensors as a list, and whether it was a single one."""
    is_single = not isinstance(value, tuple | list)
    found = [value] if is_single else list(value)
    for index, item in enumerate(found):
        if not isinstance(item, Tensor):
            which = "" if is_single else f" at index {index}"
            raise errors.ArgumentTypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"value{which} has type {type(item).__name__}",
                [(blame.this_place(), "asked for here")],
            )
    return found, is_single


def _prepared(inputs: Tensors, create_graph: bool, name: str) -> tuple[list[Tensor], bool]:
    """Inputs to differentiate by: fresh leaves, or stand-ins that lead to the caller's tensors."""
    given, is_single = _listed(inputs, "inputs", name)
    found = []
    for tensor in given:
        if create_graph and tensor.requires_grad:
            found.append(tensor.view_as(tensor))
        else:
            fresh = wrap(tensor._array, (*here(), name, None, None))
            fresh._cell = tensor._cell
            found.append(fresh.requires_grad_())
    return found, is_single


def _leaf(array: Any) -> Tensor:
    return wrap(array, None).requires_grad_()


def _evaluated(func: Function, given: Sequence[Tensor], name: str) -> tuple[list[Tensor], bool]:
    return _listed(func(*given), "outputs of the user-provided function", name)


def _scalar(output: Any, func: Function, name: str) -> Tensor:
    (found,), is_single = _listed(output, "outputs of the user-provided function", name)
    if not is_single or found._array.size != 1:
        raise errors.NonScalarRoot(
            f"The Tensor returned by the function given to {name} should contain a single element",
            [(definition(func), "the function")],
            ["reduce the result to one number: `.sum()`"],
        )
    return found.reshape(()) if found.ndim else found


def _weights(like: Sequence[Tensor], v: Any, is_single: bool, name: str) -> list[Any]:
    """The vector to multiply with, checked against what it belongs to."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise errors.NonScalarRoot(
                "The vector v can only be None if the user-provided function returns a single "
                f"Tensor with a single element ({name})",
                [(blame.this_place(), "asked for here")],
            )
        return [wrap(np.ones_like(like[0]._array), None)]
    vectors, _ = _listed(v, "v", name)
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


def _check_outputs(func: Function, outputs: Sequence[Tensor], strict: bool) -> None:
    for index, output in enumerate(outputs):
        if strict and not output.requires_grad:
            raise errors.UnusedInput(
                f"Output {index} of the user-provided function does not require gradients. The "
                "outputs must be computed in a differentiable manner from the input when running "
                "in strict mode.",
                [(definition(func), "the function")],
            )


def _gradients(
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


def _restored(tensors: Sequence[Tensor], create_graph: bool, is_single: bool) -> Any:
    """Results as the caller gets them: cut from the graph unless that was asked for."""
    found = [
        tensor if create_graph or not tensor.requires_grad else tensor.detach()
        for tensor in tensors
    ]
    return found[0] if is_single else tuple(found)
