"""The derivative of a function as a matrix of real numbers: from differences, and from gradients.

J[i, k] = d output_i / d input_k. A complex number counts as two reals, so functions between real
and complex tensors need no cases of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.autograd.backward import grad
from lamina.core.tensor import Tensor, wrap
from lamina.devices import backend_of


def listed(value: Any) -> list[Any]:
    """A list of what a function returned: its outputs, or the only one."""
    return list(value) if isinstance(value, tuple | list) else [value]


def outputs_of(func: Callable[..., Any], arguments: Sequence[Any]) -> list[Tensor]:
    """The differentiable outputs, or all tensors if none is."""
    found = [output for output in listed(func(*arguments)) if isinstance(output, Tensor)]
    return [output for output in found if output.requires_grad] or found


def host(tensor: Tensor) -> Any:
    """A tensor's elements as an array in the memory of the CPU."""
    return np.asarray(backend_of(tensor.device).to_host(tensor._array))


def reals(array: Any) -> Any:
    """The elements as a flat array of real numbers; a complex one gives two."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def numerical_jacobians(
    func: Callable[..., Any], arguments: list[Any], given: Tensor, eps: float
) -> Any:
    """For each output, the matrix of differences by each real number of one input."""
    array = given._array
    steps = (eps, 1j * eps) if given.dtype.is_complex else (eps,)
    columns = []
    for index in np.ndindex(*array.shape):
        at = (*index, Ellipsis)
        for step in steps:
            columns.append(_difference(func, arguments, given, at, step, eps))
    if not columns:
        return [np.zeros((reals(host(t)).size, 0)) for t in outputs_of(func, arguments)]
    return [np.stack(parts, axis=1) for parts in zip(*columns, strict=True)]


def _difference(
    func: Callable[..., Any], arguments: list[Any], given: Tensor, at: Any, step: Any, eps: float
) -> list[Any]:
    """(f(x + step) - f(x - step)) / 2 eps, changing one element of the input and restoring it."""
    array = given._array
    original = array[at].copy()
    sides = []
    try:
        for sign in (1, -1):
            array[at] = original + sign * step
            sides.append([reals(host(t)).copy() for t in outputs_of(func, arguments)])
    finally:
        array[at] = original
    return [(up - down) / (2 * eps) for up, down in zip(*sides, strict=True)]


def analytical_jacobians(output: Tensor, checked: list[Tensor]) -> list[Any]:
    """For each input, the matrix of gradients of one output's real numbers."""
    rows: list[list[Any]] = [[] for _ in checked]
    units = (1, 1j) if output.dtype.is_complex else (1,)
    for index in np.ndindex(*output._array.shape):
        for unit in units:
            seed = np.zeros_like(output._array)
            seed[(*index, Ellipsis)] = unit
            gradients = grad(
                output, checked, wrap(seed, None), retain_graph=True, allow_unused=True
            )
            for k, gradient in enumerate(gradients):
                rows[k].append(_row(gradient, checked[k]))
    return [
        np.stack(found) if found else np.zeros((0, reals(host(t)).size))
        for found, t in zip(rows, checked, strict=True)
    ]


def _row(gradient: Tensor | None, given: Tensor) -> Any:
    if gradient is None:
        return np.zeros(reals(host(given)).size)
    if gradient.shape != given.shape:
        raise errors.GradcheckFailed(
            f"Analytical gradient has incorrect size: {list(gradient.shape)} for an input of size "
            f"{list(given.shape)}"
        )
    return reals(host(gradient)).copy()
