"""Reverse mode: `grad`, `grad_and_value` and `vjp`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.core import blame
from lamina.core.definitions import returned
from lamina.core.tensor import Tensor, wrap
from lamina.func.levels import Level
from lamina.utils._pytree import PyTreeSpec, tree_flatten, tree_unflatten

__all__ = ["grad", "grad_and_value", "vjp"]

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    r"""A function that computes the gradient of `func`: $\nabla f(x)$.

    Args:
        func: Takes tensors or nests of tensors, and returns a tensor with one number.
        argnums: Which positional arguments to differentiate by; for a tuple, the result is one.
        has_aux: Whether `func` returns `(output, aux)`; then the result is `(gradient, aux)`.

    Raises:
        InvalidArgument: (RuntimeError) For anything but one number as output, or an argument that
            is not there.
        InvalidValue: (ValueError) For an argument with leaves that are no tensors.

    >>> import lamina
    >>> from lamina.func import grad
    >>> grad(lamina.sin)(lamina.tensor(0.0))
    tensor(1.)
    >>> grad(grad(lambda x: x**3))(lamina.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient_of(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return gradient_of


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that computes `(gradient, value)` of `func` in one go; arguments as for `grad`.

    With `has_aux` it returns `(gradient, (value, aux))`.

    >>> import lamina
    >>> from lamina.func import grad_and_value
    >>> grad_and_value(lambda x: (x * x).sum())(lamina.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        with Level() as level:
            chosen = checked_argnums(argnums, args)
            inputs = level.stand_ins(tuple([args[k] for k in chosen]))
            output = func(*replaced(args, chosen, inputs), **kwargs)
            output, aux = split_aux(func, output, has_aux, "grad_and_value(f)(*args)")
            _check_scalar(func, output)
        cotangent = wrap(np.ones_like(output._array), None)
        found = level.gradients([output], [cotangent])
        gradient = tree_unflatten(found, tree_flatten(inputs)[1])
        gradient = gradient[0] if isinstance(argnums, int) else gradient
        value = level.results(output)
        return (gradient, (value, level.results(aux))) if has_aux else (gradient, value)

    return gradient_and_value


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    r"""The output of `func`, and a function that computes $v^\top J$ for any `v`.

    Args:
        func: Takes the primals, and returns tensors or nests of tensors.
        primals: Tensors or nests of tensors.
        has_aux: Whether `func` returns `(output, aux)`; then `aux` is a third result.

    Returns:
        `(output, vjp_fn)` or `(output, vjp_fn, aux)`. `vjp_fn` takes cotangents with the structure
        of the output and returns a tuple with one gradient for each primal. It may be called any
        number of times.

    Raises:
        InvalidArgument: (RuntimeError) For outputs or cotangents that do not fit.

    >>> import lamina
    >>> from lamina.func import vjp
    >>> output, vjp_fn = vjp(lamina.sin, lamina.tensor([0.0, 0.0]))
    >>> vjp_fn(lamina.tensor([1.0, 2.0]))
    (tensor([1., 2.]),)
    """
    with Level() as level:
        inputs = level.stand_ins(primals)
        output = func(*inputs)
        output, aux = split_aux(func, output, has_aux, "vjp(f, *primals)")
        roots, spec = tree_flatten(output)
        check_tensors(func, roots, "vjp(f, *primals)")
    inputs_spec = tree_flatten(inputs)[1]
    pull = _Pull(level, roots, spec, inputs_spec)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        return pull(cotangents, bool(retain_graph))

    value = level.results(output)
    return (value, vjp_fn, level.results(aux)) if has_aux else (value, vjp_fn)


class _Pull:
    """Cotangents of the outputs to gradients of the primals."""

    def __init__(
        self, level: Level, roots: list[Tensor], spec: PyTreeSpec, inputs_spec: PyTreeSpec
    ) -> None:
        self.level = level
        self.roots = roots
        self.spec = spec
        self.inputs_spec = inputs_spec

    def __call__(self, cotangents: Any, retain_graph: bool) -> Any:
        given, spec = tree_flatten(cotangents)
        if spec != self.spec:
            raise errors.InvalidArgument(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {spec}, primal output: {self.spec}",
                [(blame.this_place(), "called here")],
                ["give one cotangent for each output, in the same nest"],
            )
        for index, (root, cotangent) in enumerate(zip(self.roots, given, strict=True)):
            blame.check_root_gradient(index, root, cotangent)
        found = self.level.gradients(self.roots, given, retain_graph)
        return tree_unflatten(found, self.inputs_spec)


# --- arguments -----------------------------------------------------------------------------------


def checked_argnums(argnums: Any, args: Sequence[Any]) -> list[int]:
    """The chosen positions, counted from 0."""
    if not isinstance(argnums, int | tuple) or not all(
        isinstance(k, int) for k in (argnums if isinstance(argnums, tuple) else ())
    ):
        raise _wrong_argnums(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    chosen = [argnums] if isinstance(argnums, int) else list(argnums)
    if not chosen:
        raise _wrong_argnums("argnums must be non-empty")
    for position in chosen:
        if not -len(args) <= position < len(args):
            raise _wrong_argnums(f"Got argnum={position}, but only {len(args)} positional inputs")
    counted = [position % len(args) for position in chosen]
    if len(set(counted)) != len(counted):
        raise _wrong_argnums(f"argnums elements must be unique, got {argnums}")
    return counted


def _wrong_argnums(headline: str) -> errors.LaminaError:
    return errors.InvalidArgument(
        headline,
        [(blame.this_place(), "called here")],
        ["argnums counts positional arguments from 0; those given by keyword are not among them"],
    )


def replaced(args: Sequence[Any], positions: Sequence[int], others: Sequence[Any]) -> list[Any]:
    """The arguments with others at some positions."""
    found = list(args)
    for position, other in zip(positions, others, strict=True):
        found[position] = other
    return found


# --- outputs -------------------------------------------------------------------------------------


def split_aux(func: Function, output: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    """`(output, aux)`; aux must be made of tensors."""
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise errors.InvalidArgument(
            f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True",
            _notes(func),
        )
    for leaf in tree_flatten(output[1])[0]:
        if not isinstance(leaf, Tensor):
            raise errors.InvalidArgument(
                f"Expected tensors, got unsupported type {type(leaf)}: aux must be made of tensors",
                _notes(func),
                ["make a tensor of it: torch.tensor(...)"],
            )
    return output[0], output[1]


def check_tensors(func: Function, leaves: Sequence[Any], what: str) -> None:
    """Raise unless all leaves of an output are tensors."""
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise errors.InvalidArgument(
                f"{what}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(leaf)}",
                _notes(func),
            )


def _check_scalar(func: Function, output: Any) -> None:
    what = "grad_and_value(f)(*args)"
    if not isinstance(output, Tensor):
        raise errors.InvalidArgument(
            f"{what}: Expected f(*args) to return a Tensor, got {type(output)}",
            _notes(func),
            ["for (output, further results), say has_aux=True"]
            if isinstance(output, tuple)
            else [],
        )
    if output.ndim:
        raise errors.InvalidArgument(
            f"{what}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} "
            "dims. Maybe you wanted to use the vjp or jacrev APIs instead?",
            _notes(func),
            ["reduce it to one number: `.sum()` or `.mean()`", "or use torch.func.jacrev"],
        )
    if output.dtype.is_complex:
        raise errors.InvalidArgument(
            f"grad can be implicitly created only for real scalar outputs but got {output.dtype}",
            _notes(func),
            ["take its real part or absolute value, or use torch.func.vjp with a cotangent"],
        )


def _notes(func: Function) -> list[Any]:
    return [(blame.this_place(), "called here"), (returned(func), "returned here")]
