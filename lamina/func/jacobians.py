"""Whole Jacobians: `jacrev` row by row, `jacfwd` column by column, and `hessian`.

The rows (or columns) are one pass on a batch of unit vectors.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.core import blame
from lamina.core.definitions import returned
from lamina.core.op import traced
from lamina.core.tensor import Tensor, wrap
from lamina.func.forward import product
from lamina.func.gradients import Argnums, checked_argnums, replaced, vjp
from lamina.func.mapping import vmap
from lamina.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["hessian", "jacfwd", "jacrev"]

Function = Callable[..., Any]


def jacrev(
    func: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Function:
    r"""A function that computes the Jacobian of `func` in reverse mode: good for few outputs.

    For an output of shape A and an input of shape B: a tensor of shape A + B. Nests of outputs give
    nests of Jacobians, and so do nests of inputs below them.

    Args:
        func: Takes tensors or nests of tensors, and returns some.
        argnums: Which positional arguments to differentiate by; for a tuple, a tuple of Jacobians.
        has_aux: Whether `func` returns `(output, aux)`; then the result is `(jacobian, aux)`.
        chunk_size: Compute at most so many rows at a time, to save memory.

    Raises:
        InvalidArgument: (RuntimeError) For outputs that are no floating-point tensors.

    >>> import lamina
    >>> from lamina.func import jacrev
    >>> jacrev(lambda x: x * x)(lamina.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise errors.InvalidValue(
            "jacrev: `chunk_size` should be greater than 0.",
            [(blame.this_place(), "asked for here")],
        )

    @functools.wraps(func)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        chosen = checked_argnums(argnums, args)
        part = _of_chosen(func, chosen, args, kwargs)
        return _in_reverse(part, [args[k] for k in chosen], argnums, has_aux, chunk_size)

    return jacobian_of


def _of_chosen(func: Function, chosen: Sequence[int], args: Any, kwargs: Any) -> Function:
    """A function as one of its chosen arguments, the others being what they are."""

    def of_chosen(*inputs: Any) -> Any:
        return func(*replaced(args, chosen, inputs), **kwargs)

    return functools.update_wrapper(of_chosen, func)


def _in_reverse(
    func: Function, primals: list[Any], argnums: Argnums, has_aux: bool, chunk_size: int | None
) -> Any:
    output, pull, *aux = vjp(func, *primals, has_aux=has_aux)
    outputs, spec = tree_flatten(output)
    _check_outputs(func, outputs)
    inputs, inputs_spec = tree_flatten(primals[0] if isinstance(argnums, int) else tuple(primals))
    rows = split(_rows(pull, outputs, spec, chunk_size), outputs)
    jacobians = []
    for parts, out in zip(rows, outputs, strict=True):
        pairs = zip(parts, inputs, strict=True)
        shaped = [part.reshape((*out.shape, *x.shape)) for part, x in pairs]
        jacobians.append(tree_unflatten(shaped, inputs_spec))
    found = tree_unflatten(jacobians, spec)
    return (found, aux[0]) if has_aux else found


def _check_outputs(func: Function, outputs: Sequence[Tensor]) -> None:
    for output in outputs:
        if not output.dtype.is_differentiable:
            raise errors.InvalidArgument(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {output.dtype}",
                [(blame.this_place(), "called here"), (returned(func), "returned here")],
                ["whole numbers change in steps: return them as aux, with has_aux=True"],
            )


def _rows(
    pull: Function, outputs: Sequence[Tensor], spec: Any, chunk_size: int | None
) -> list[Tensor]:
    """The gradients by all inputs, with a first dimension that counts elements of the outputs."""

    def row(*cotangents: Tensor) -> Any:
        return tuple(tree_flatten(pull(tree_unflatten(cotangents, spec)))[0])

    rows = units(outputs)
    if len(rows[0]) == 1:  # a single number has one row: a batch of it would only cost time
        return [gradient.unsqueeze(0) for gradient in row(*[unit[0] for unit in rows])]
    return list(vmap(row, chunk_size=chunk_size, randomness="same")(*rows))


def units(tensors: Sequence[Tensor]) -> list[Tensor]:
    """For each tensor the unit vectors of all of them: 1 at one element, and 0 at all others."""
    sizes = [tensor._array.size for tensor in tensors]
    total = sum(sizes)
    starts = itertools.accumulate(sizes, initial=0)
    units = []
    for tensor, size, start in zip(tensors, sizes, starts, strict=False):
        array = np.zeros_like(tensor._array, shape=(total, size))
        array[np.arange(start, start + size), np.arange(size)] = 1
        units.append(wrap(array.reshape((total, *tensor._array.shape)), None))
    return units


def split(rows: Sequence[Tensor], tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    """Tensors with all unit vectors along the first dimension, split by what these belong to."""
    sizes = [tensor._array.size for tensor in tensors]
    if len(sizes) == 1:
        return [list(rows)]
    by_tensor = [traced.split_with_sizes(row, sizes) for row in rows]
    return [[parts[k] for parts in by_tensor] for k in range(len(sizes))]


def jacfwd(
    func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """A function that computes the Jacobian of `func` in forward mode: good for few inputs.

    Args:
        func, argnums, has_aux: As for `jacrev`.
        randomness: What random operations do in the columns: see `vmap`.

    >>> import lamina
    >>> from lamina.func import jacfwd
    >>> jacfwd(lambda x: x * x)(lamina.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        chosen = checked_argnums(argnums, args)
        part = _of_chosen(func, chosen, args, kwargs)
        primals = tuple([args[k] for k in chosen])
        return _forwards(part, primals, isinstance(argnums, int), has_aux, randomness)

    return jacobian_of


def _forwards(
    func: Function, primals: tuple[Any, ...], is_single: bool, has_aux: bool, randomness: str
) -> Any:
    inputs, inputs_spec = tree_flatten(primals)

    def column(*directions: Tensor) -> Any:
        vector = tree_unflatten(directions, inputs_spec)
        output, tangent, *aux = product(func, primals, vector, has_aux=has_aux)
        return tangent, output, tuple(aux)

    all_columns = vmap(column, out_dims=(0, None, None), randomness=randomness)
    columns, output, aux = all_columns(*units(_checked_inputs(inputs)))
    found, spec = tree_flatten(columns)
    outputs = tree_flatten(output)[0]
    jacobians = [
        [_last(part, out, x) for part, out in zip(parts, outputs, strict=True)]
        for parts, x in zip(split(found, inputs), inputs, strict=True)
    ]
    nests = [
        tree_unflatten([by_output[k] for by_output in jacobians], inputs_spec)
        for k in range(len(outputs))
    ]
    result = tree_unflatten([nest[0] if is_single else nest for nest in nests], spec)
    return (result, aux[0]) if has_aux else result


def _checked_inputs(inputs: Sequence[Any]) -> Sequence[Tensor]:
    for leaf in inputs:
        if not isinstance(leaf, Tensor):
            raise errors.InvalidArgument(
                f"jvp(f, primals, tangents): Expected primals to only contain Tensors, got "
                f"{type(leaf)}",
                [(blame.this_place(), "called here")],
            )
        if not leaf.dtype.is_differentiable:
            raise errors.InvalidValue(
                f"Expected primal to be floating point or complex, but got: {leaf.dtype}",
                [(blame.this_place(), "called here")],
                ["whole numbers have no derivatives: convert with .float()"],
            )
    return inputs


def _last(columns: Tensor, output: Tensor, tensor: Tensor) -> Tensor:
    """Columns along the first dimension as a Jacobian: that dimension comes last."""
    moved = columns.movedim(0, -1)
    found: Tensor = moved.reshape((*output.shape, *tensor.shape))
    return found


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    r"""A function that computes the Hessian of `func`: forward mode over reverse mode.

    >>> import lamina
    >>> from lamina.func import hessian
    >>> hessian(lambda x: (x**3).sum())(lamina.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
