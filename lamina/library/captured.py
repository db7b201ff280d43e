"""Operators in programs that are captured: a call is one step; its shapes the fake function tells.

So a compiled program calls the kernel as it is written, each time it runs; the capture does not
look inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.core.tensor import Tensor, wrap
from lamina.devices.dispatched import replace, visit
from lamina.devices.layouts import Layout, fresh
from lamina.devices.recorders import current_recorder, paused
from lamina.devices.traced import TracedArray
from lamina.library import blame, results
from lamina.library.registry import Operator

__all__ = ["step"]

Kernel = Callable[..., Any]


def step(operator: Operator, kernel: Kernel, positional: list[Any], by_name: dict[str, Any]) -> Any:
    """The results of a call as one step of the program that is captured.

    None if none is captured, or if what the operator takes and gives is more than dense arrays in
    host memory, whose shapes say all.
    """
    recorder = current_recorder()
    if recorder is None or not all(map(_is_dense, _tensors_of((positional, by_name)))):
        return None
    shapes = _shapes(operator, positional, by_name)
    if shapes is None:
        return None
    arrays = replace((positional, by_name), (Tensor,), lambda tensor: tensor._array)
    made = recorder.call(_as_step(operator, kernel, shapes), (*arrays[0], arrays[1]), {}, shapes)
    return replace(made, (TracedArray,), lambda array: wrap(array, None))


def _tensors_of(nest: Any) -> list[Tensor]:
    found: list[Tensor] = []
    visit(nest, (Tensor,), found.append)
    return found


def _is_dense(tensor: Tensor) -> bool:
    return isinstance(tensor._array, np.ndarray | TracedArray) and tensor.device.type == "cpu"


def _shapes(operator: Operator, positional: list[Any], by_name: dict[str, Any]) -> Any:
    """The layouts of the results, in their nest; None if there is more to say of them."""
    assert operator.fake is not None
    args, kwargs = replace((positional, by_name), (Tensor,), _without_elements)
    with paused():
        found = operator.fake(*args, **kwargs)
    if not _is_plain(found):
        return None
    return replace(found, (Tensor,), lambda tensor: fresh(tensor._array.shape, tensor._array.dtype))


def _without_elements(tensor: Tensor) -> Tensor:
    array = tensor._array
    made = wrap(TracedArray(fresh(array.shape, array.dtype, array.strides)), None)
    made._requires_grad = tensor.requires_grad
    return made


def _is_plain(value: Any) -> bool:
    """Whether a result is made of contiguous tensors alone."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return isinstance(value, Tensor) and value.is_contiguous()


def _as_step(operator: Operator, kernel: Kernel, shapes: Any) -> Callable[..., Any]:
    """The kernel as a function of arrays, for a program."""

    def run(*args: Any) -> Any:
        *positional, by_name = replace(args, (np.ndarray,), lambda array: wrap(array, None))
        found = kernel(*positional, **by_name)
        fitted = results.checked(operator, kernel, positional, by_name, found)
        return _fitted(operator, kernel, fitted, shapes)

    run.__name__ = operator.shown
    return run


def _fitted(operator: Operator, kernel: Kernel, found: Any, shapes: Any) -> Any:
    """The arrays of results, which must have the shapes that the program was made for."""
    if isinstance(shapes, tuple | list):
        return type(shapes)(
            _fitted(operator, kernel, part, shape)
            for part, shape in zip(found, shapes, strict=True)
        )
    layout: Layout = shapes
    array = found._array
    if array.shape != layout.shape or array.dtype != layout.dtype:
        raise blame.other_than_fake(operator.declared, kernel, found, layout)
    return np.ascontiguousarray(array)
