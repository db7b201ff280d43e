"""Forward mode: `jvp` and `linearize`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.autograd.forward_ad import with_tangent
from lamina.core import blame, tangents
from lamina.core.definitions import definition
from lamina.core.engine import run_backward
from lamina.core.tensor import Tensor, wrap
from lamina.func.gradients import check_tensors, split_aux
from lamina.func.levels import Level
from lamina.utils._pytree import PyTreeSpec, tree_flatten, tree_map, tree_unflatten

__all__ = ["jvp", "linearize"]

Function = Callable[..., Any]


def jvp(
    func: Function,
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    r"""The output of `func`, and the product $J v$ of its Jacobian with a vector.

    The function runs once, and carries tangents along.

    Args:
        func: Takes the primals, and returns tensors or nests of tensors.
        primals: A tuple with one tensor or nest of tensors for each argument.
        tangents: The vector, in the same structure.
        strict: Raise if an output does not depend on the primals, instead of giving zeros.
        has_aux: Whether `func` returns `(output, aux)`; then `aux` is a third result.

    Raises:
        InvalidArgument: (RuntimeError) Where structures or shapes differ.
        InvalidValue: (ValueError) For whole numbers.

    >>> import lamina
    >>> from lamina.func import jvp
    >>> jvp(lamina.sin, (lamina.tensor(0.0),), (lamina.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    return product(func, primals, tangents, strict, has_aux)


def product(
    func: Function, primals: Any, vector: Any, strict: bool = False, has_aux: bool = False
) -> Any:
    """What `jvp` does."""
    what = "jvp(f, primals, tangents)"
    leaves, spec = _checked_primals(primals, what)
    given = _checked_tangents(spec, vector, what)
    level = tangents.open_level()
    try:
        duals = [with_tangent(x, v, level) for x, v in zip(leaves, given, strict=True)]
        output = func(*tree_unflatten(duals, spec))
        output, aux = split_aux(func, output, has_aux, what)
        found, output_spec = tree_flatten(output)
        check_tensors(func, found, what)
        pairs = [_unpacked(func, leaf, level, strict) for leaf in found]
        aux = tree_map(lambda leaf: tangents.without_tangent(leaf, level), aux) if has_aux else None
    finally:
        tangents.close_level(level)
    value = tree_unflatten([primal for primal, _ in pairs], output_spec)
    tangent = tree_unflatten([tangent for _, tangent in pairs], output_spec)
    return (value, tangent, aux) if has_aux else (value, tangent)


def _unpacked(
    func: Function, leaf: Tensor, level: tangents.Level, strict: bool
) -> tuple[Tensor, Tensor]:
    tangent = tangents.tangent_of(leaf, level)
    if tangent is None:
        if strict:
            raise errors.InvalidArgument(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True.",
                [(blame.this_place(), "called here"), (definition(func), "the function")],
            )
        return leaf, wrap(np.zeros_like(leaf._array), None)
    return tangents.without_tangent(leaf, level), tangent


def _checked_primals(primals: Any, what: str) -> tuple[list[Tensor], PyTreeSpec]:
    if not isinstance(primals, tuple):
        raise errors.InvalidArgument(
            f"{what}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
            [(blame.this_place(), "called here")],
            ["for one argument, write a tuple of one: (x,)"],
        )
    leaves, spec = tree_flatten(primals)
    if not leaves:
        raise errors.InvalidArgument(
            f"{what}: Expected primals to contain at least one Tensor.",
            [(blame.this_place(), "called here")],
        )
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise errors.InvalidArgument(
                f"{what}: Expected primals to only contain Tensors, got {type(leaf)}",
                [(blame.this_place(), "called here")],
            )
    return leaves, spec


def _checked_tangents(spec: PyTreeSpec, vector: Any, what: str) -> list[Tensor]:
    given, given_spec = tree_flatten(vector)
    if given_spec != spec:
        raise errors.InvalidArgument(
            f"{what}: Expected primals and tangents to have the same python structure. For "
            f"example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {spec} and tangents with structure {given_spec}",
            [(blame.this_place(), "called here")],
        )
    for leaf in given:
        if not isinstance(leaf, Tensor):
            raise errors.InvalidArgument(
                f"{what}: Expected tangents to only contain Tensors, got {type(leaf)}",
                [(blame.this_place(), "called here")],
            )
    return given


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    r"""The output of `func`, and a function that computes $J v$ for any `v` without running it.

    Args:
        func: Takes the primals, and returns tensors or nests of tensors.
        primals: Tensors or nests of tensors.

    Returns:
        `(output, jvp_fn)`; `jvp_fn` takes one tangent for each primal. It walks the recorded graph
        back twice: $J v$ is the derivative of $u^\top J$ by $u$.

    >>> import lamina
    >>> from lamina.func import linearize
    >>> output, jvp_fn = linearize(lamina.sin, lamina.tensor([0.0, 0.0]))
    >>> jvp_fn(lamina.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    with Level() as level:
        inputs = level.stand_ins(primals)
        output = func(*inputs)
        roots, spec = tree_flatten(output)
        check_tensors(func, roots, "linearize(f, *primals)")
        weights = [wrap(np.ones_like(root._array), None).requires_grad_() for root in roots]
        pulled = _pulled(roots, weights, level.inputs)
    inputs_spec = tree_flatten(inputs)[1]

    def jvp_fn(*vector: Any) -> Any:
        given = _checked_directions(vector, inputs_spec, level.inputs)
        return tree_unflatten(_pushed(roots, weights, pulled, given), spec)

    return level.results(output), jvp_fn


def _pulled(
    roots: Sequence[Tensor], weights: Sequence[Tensor], inputs: Sequence[Tensor]
) -> list[Tensor | None]:
    """The gradients by the inputs as a function of the weights of the outputs."""
    pairs = [(r, w) for r, w in zip(roots, weights, strict=True) if r.requires_grad]
    if not pairs:
        return [None] * len(inputs)
    return run_backward(
        [root for root, _ in pairs], [weight for _, weight in pairs],
        retain_graph=True, create_graph=True, inputs=inputs, accumulate=False,
    )  # fmt: skip


def _pushed(
    roots: Sequence[Tensor], weights: Sequence[Tensor], pulled: Sequence[Tensor | None],
    vector: Sequence[Tensor],
) -> list[Tensor]:  # fmt: skip
    pairs = [
        (gradient, direction)
        for gradient, direction in zip(pulled, vector, strict=True)
        if gradient is not None and gradient.requires_grad
    ]
    found: list[Any] = [None] * len(roots)
    if pairs:
        found = run_backward(
            [gradient for gradient, _ in pairs], [direction for _, direction in pairs],
            retain_graph=True, create_graph=False, inputs=weights, accumulate=False,
        )  # fmt: skip
    return [
        wrap(np.zeros_like(root._array), None) if tangent is None else tangent
        for root, tangent in zip(roots, found, strict=True)
    ]


def _checked_directions(
    vector: tuple[Any, ...], spec: PyTreeSpec, inputs: Sequence[Tensor]
) -> list[Tensor]:
    given, given_spec = tree_flatten(vector)
    if given_spec != spec:
        raise errors.InvalidArgument(
            f"Expected the tangents {given_spec} to have the same argspec as the primals {spec}",
            [(blame.this_place(), "called here")],
        )
    for index, (tangent, tensor) in enumerate(zip(given, inputs, strict=True)):
        if tangent.shape != tensor.shape:
            raise errors.InvalidArgument(
                f"tangent:{index} with shape {tangent.shape} in flattened pytree doesn't match "
                f"the shape {tensor.shape} of the corresponding primal.",
                [(blame.this_place(), "called here")],
            )
        if tangent.dtype is not tensor.dtype:
            raise errors.InvalidArgument(
                f"tangent:{index} with dtype {tangent.dtype} in flattened pytree doesn't match "
                f"the dtype {tensor.dtype} of the corresponding primal.",
                [(blame.this_place(), "called here")],
            )
    return given
