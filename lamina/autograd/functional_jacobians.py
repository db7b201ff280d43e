"""Whole Jacobians and Hessians of `autograd.functional`: row by row, or all rows in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina import errors
from lamina.autograd import functional_steps as steps
from lamina.codegen.later import Later
from lamina.core import blame
from lamina.core.modes import enable_grad
from lamina.core.op import traced
from lamina.core.tensor import Tensor, wrap

if TYPE_CHECKING:
    from lamina.func import jacobians, mapping
else:
    jacobians = Later("lamina.func.jacobians")
    mapping = Later("lamina.func.mapping")

Tensors = Any
Function = Callable[..., Any]


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Tensors:
    """The Jacobian: for output and input of shapes A and B, a tensor of shape A + B.

    For several outputs or inputs: a tuple by outputs of tuples by inputs.

    Args:
        func: Takes the inputs and returns a tensor or a tuple of tensors.
        inputs: A tensor or a tuple of tensors.
        create_graph: Whether the results can be differentiated again.
        strict: Raise an error if an output does not depend on an input, instead of giving zeros.
        vectorize: Compute all rows in one pass, as `torch.func.jacrev` does.
        strategy: "reverse-mode", or "forward-mode" as in `torch.func.jacfwd` (with `vectorize`).

    >>> import lamina
    >>> lamina.autograd.functional.jacobian(lambda x: x * x, lamina.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy(strategy)
    if strategy == "forward-mode":
        _check_forward(create_graph, strict, vectorize)
        return _in_forward_mode(func, inputs)
    if strict and vectorize:
        raise _together("`strict=True` and `vectorized=True`", "`vectorize=False`")
    with enable_grad():
        given, is_single = steps.prepared(inputs, create_graph, "jacobian")
        outputs, single_output = steps.evaluated(func, given, "jacobian")
        steps.check_outputs(func, outputs, strict)
        if vectorize:
            rows = _in_one_pass(outputs, given, create_graph, func)
        else:
            rows = [_row_by_row(output, given, create_graph, strict, func) for output in outputs]
    parts = [steps.restored(row, create_graph, is_single) for row in rows]
    return parts[0] if single_output else tuple(parts)


def _row_by_row(
    output: Tensor, given: Sequence[Tensor], create_graph: bool, strict: bool, func: Function
) -> list[Tensor]:
    """The Jacobians of one output by each input, a backward pass for each element."""
    rows: list[list[Tensor]] = [[] for _ in given]
    for index in np.ndindex(*output._array.shape):
        seed = np.zeros_like(output._array)
        seed[(*index, Ellipsis)] = 1
        found = steps.gradients_of([output], given, [wrap(seed, None)], create_graph, strict, func)
        for k, gradient in enumerate(found):
            rows[k].append(gradient)
    return [
        traced.stack(row).view((*output.shape, *x.shape))
        if row
        else wrap(np.zeros_like(x._array, shape=(*output.shape, *x.shape)), None)
        for row, x in zip(rows, given, strict=True)
    ]


def _in_one_pass(
    outputs: Sequence[Tensor], given: Sequence[Tensor], create_graph: bool, func: Function
) -> list[list[Tensor]]:
    """For each output its Jacobians by each input, all rows at once."""

    def row(*weights: Tensor) -> tuple[Tensor, ...]:
        return tuple(steps.gradients_of(outputs, given, weights, create_graph, False, func))

    found = mapping.vmap(row, randomness="same")(*jacobians.units(outputs))
    return [
        [part.reshape((*output.shape, *x.shape)) for part, x in zip(parts, given, strict=True)]
        for parts, output in zip(jacobians.split(found, outputs), outputs, strict=True)
    ]


def _in_forward_mode(func: Function, inputs: Tensors) -> Tensors:
    given, is_single = steps.listed(inputs, "inputs", "jacobian")
    plain = [tensor.detach() for tensor in given]

    def checked(*tensors: Tensor) -> Any:
        outputs, single_output = steps.evaluated(func, tensors, "jacobian")
        return outputs[0] if single_output else tuple(outputs)

    found = jacobians.jacfwd(checked, tuple(range(len(plain))), randomness="same")(*plain)
    if not is_single:
        return found
    single_output = isinstance(found[0], Tensor)
    return found[0] if single_output else tuple([parts[0] for parts in found])


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Tensors:
    """The Hessian of a function with one number as its output: the Jacobian of its gradient.

    Args:
        func: Takes the inputs and returns one number.
        inputs, create_graph, strict, vectorize: As for `jacobian`.
        outer_jacobian_strategy: The `strategy` of the Jacobian that is taken of the gradient.

    >>> import lamina
    >>> lamina.autograd.functional.hessian(lambda x: (x**3).sum(), lamina.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _check_strategy(outer_jacobian_strategy)
    if outer_jacobian_strategy == "forward-mode":
        _check_forward(create_graph, strict, vectorize)
        return _hessian_in_forward_mode(func, inputs)
    is_single = not isinstance(inputs, tuple)

    def gradient(*given: Tensor) -> Any:
        output, _ = steps.scalar(func(*given), func, "hessian")
        steps.check_outputs(func, [output], strict)
        found = steps.gradients_of([output], given, [None], True, strict, func)
        return found[0] if is_single else tuple(found)

    return jacobian(gradient, inputs, create_graph, strict, vectorize)


def _hessian_in_forward_mode(func: Function, inputs: Tensors) -> Tensors:
    given, is_single = steps.listed(inputs, "inputs", "hessian")

    def checked(*tensors: Tensor) -> Tensor:
        return steps.scalar(func(*tensors), func, "hessian")[0]

    places = 0 if is_single else tuple(range(len(given)))
    return jacobians.hessian(checked, places)(*[tensor.detach() for tensor in given])


# --- what goes together --------------------------------------------------------------------------


def _check_strategy(strategy: str) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise errors.UnknownStrategy(
            f'Expected strategy to be either "forward-mode" or "reverse-mode", got {strategy!r}',
            [(blame.this_place(), "asked for here")],
            ["forward mode is good for functions with few inputs, reverse mode for few outputs"],
        )


def _check_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    if strict:
        raise _together('`strict=True` and `strategy="forward-mode"`', '`strategy="reverse-mode"`')
    if create_graph:
        raise errors.NotSupported(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` '
            "are not supported together (yet).",
            [(blame.this_place(), "asked for here")],
            ["use torch.func.jacfwd, whose results can be differentiated"],
        )
    if not vectorize:
        raise errors.NotSupported(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
            "implemented for `vectorize=True`.",
            [(blame.this_place(), "asked for here")],
            ["say vectorize=True, or use torch.func.jacfwd"],
        )


def _together(what: str, other: str) -> errors.LaminaError:
    return errors.InvalidArgument(
        f"torch.autograd.functional.jacobian: {what} are not supported together.",
        [(blame.this_place(), "asked for here")],
        [f"set `strict=False` or {other}"],
    )
