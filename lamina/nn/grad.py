"""Gradients of convolutions as functions: with respect to the input, and to the weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lamina.autograd import grad
from lamina.core.modes import enable_grad
from lamina.core.tensor import Tensor
from lamina.nn import functional as F
from lamina.ops.creation import zeros

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]


def _derivative(
    convolution: Callable[..., Tensor], of: int, given: list[Any], grad_output: Tensor, *rest: Any
) -> Tensor:
    """Return the gradient with respect to `given[of]`, which is a shape there.

    A convolution is linear in both, so that any values serve.
    """
    with enable_grad():
        unknown = zeros(
            tuple(given[of]),
            dtype=grad_output.dtype,
            device=grad_output.device,
            requires_grad=True,
        )
        arguments = [*given]
        arguments[of] = unknown
        result = convolution(*arguments, None, *rest)
        found: Any = grad(result, unknown, grad_output, create_graph=grad_output.requires_grad)
        return found[0]


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv1d` with respect to its input; see `conv2d_input`."""
    rest = (stride, padding, dilation, groups)
    return _derivative(F.conv1d, 0, [input_size, weight], grad_output, *rest)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv1d` with respect to its weight; see `conv2d_weight`."""
    rest = (stride, padding, dilation, groups)
    return _derivative(F.conv1d, 1, [input, weight_size], grad_output, *rest)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv2d` with respect to its input.

    Args:
        input_size: the shape of the input.
        weight: the filters.
        grad_output: the gradient with respect to the output.
        stride: as for `conv2d`.
        padding: as for `conv2d`.
        dilation: as for `conv2d`.
        groups: as for `conv2d`.

    Example:
        >>> import lamina
        >>> conv2d_input((1, 1, 2, 2), lamina.ones(1, 1, 1, 1), lamina.ones(1, 1, 2, 2))
        tensor([[[[1., 1.],
                  [1., 1.]]]])
    """
    rest = (stride, padding, dilation, groups)
    return _derivative(F.conv2d, 0, [input_size, weight], grad_output, *rest)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv2d` with respect to its weight.

    Args:
        input: the input.
        weight_size: the shape of the weight.
        grad_output: the gradient with respect to the output.
        stride: as for `conv2d`.
        padding: as for `conv2d`.
        dilation: as for `conv2d`.
        groups: as for `conv2d`.
    """
    rest = (stride, padding, dilation, groups)
    return _derivative(F.conv2d, 1, [input, weight_size], grad_output, *rest)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv3d` with respect to its input; see `conv2d_input`."""
    rest = (stride, padding, dilation, groups)
    return _derivative(F.conv3d, 0, [input_size, weight], grad_output, *rest)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv3d` with respect to its weight; see `conv2d_weight`."""
    rest = (stride, padding, dilation, groups)
    return _derivative(F.conv3d, 1, [input, weight_size], grad_output, *rest)
