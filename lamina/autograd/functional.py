"""Derivatives of functions: products with vectors, Jacobians and Hessians.

Each takes a function of tensors and the tensors to evaluate it at; neither needs to require grad.
Results have the structure of the inputs and outputs: a tensor for a tensor, a tuple for a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina.autograd import functional_steps as steps
from lamina.autograd.functional_jacobians import hessian, jacobian
from lamina.core.modes import enable_grad
from lamina.core.tensor import Tensor

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
        given, is_single = steps.prepared(inputs, create_graph, "vjp")
        outputs, single_output = steps.evaluated(func, given, "vjp")
        steps.check_outputs(func, outputs, strict)
        weights = steps.weights_for(outputs, v, single_output, "vjp")
        found = steps.gradients_of(outputs, given, weights, create_graph, strict, func)
    return (
        steps.restored(outputs, create_graph, single_output),
        steps.restored(found, create_graph, is_single),
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
        given, is_single = steps.prepared(inputs, create_graph, "jvp")
        directions = steps.weights_for(given, v, is_single, "jvp")
        outputs, single_output = steps.evaluated(func, given, "jvp")
        steps.check_outputs(func, outputs, strict)
        found = _forward_product(func, outputs, given, directions, create_graph, strict)
    return (
        steps.restored(outputs, create_graph, single_output),
        steps.restored(found, create_graph, single_output),
    )


def _forward_product(
    func: Function, outputs: Sequence[Tensor], given: Sequence[Tensor],
    directions: Sequence[Tensor], create_graph: bool, strict: bool,
) -> list[Tensor]:  # fmt: skip
    dummies = [steps.leaf(np.zeros_like(output._array)) for output in outputs]
    pulled = steps.gradients_of(outputs, given, dummies, True, strict, func)
    return steps.gradients_of(pulled, dummies, directions, create_graph, strict, func)


def vhp(
    func: Function,
    inputs: Tensors,
    v: Tensors = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Tensors]:
    """`(func(inputs), v^T H)`: the product of a vector with the Hessian."""
    with enable_grad():
        given, is_single = steps.prepared(inputs, create_graph, "vhp")
        directions = steps.weights_for(given, v, is_single, "vhp")
        output, shape = steps.scalar(func(*given), func, "vhp")
        steps.check_outputs(func, [output], strict)
        gradients = steps.gradients_of([output], given, [None], True, strict, func)
        found = steps.gradients_of(gradients, given, directions, create_graph, strict, func)
    output = output.reshape(shape) if output.shape != shape else output
    return steps.restored([output], create_graph, True), steps.restored(
        found, create_graph, is_single
    )


def hvp(
    func: Function,
    inputs: Tensors,
    v: Tensors = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Tensors]:
    """`(func(inputs), H v)`: the product of the Hessian with a vector. `vhp` is faster."""
    with enable_grad():
        given, is_single = steps.prepared(inputs, create_graph, "hvp")
        directions = steps.weights_for(given, v, is_single, "hvp")
        output, shape = steps.scalar(func(*given), func, "hvp")
        steps.check_outputs(func, [output], strict)
        gradients = steps.gradients_of([output], given, [None], True, strict, func)
        found = _forward_product(func, gradients, given, directions, create_graph, strict)
    output = output.reshape(shape) if output.shape != shape else output
    return steps.restored([output], create_graph, True), steps.restored(
        found, create_graph, is_single
    )
