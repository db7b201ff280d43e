"""All parameters of a model as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError
from lamina.ops.joining import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Join all parameters, flattened, into one vector.

    Example:
        >>> import lamina.nn as nn
        >>> nn.utils.parameters_to_vector(nn.Linear(3, 2).parameters()).shape
        torch.Size([8])
    """
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Cut a vector into pieces and make them the values of the parameters.

    Args:
        vec: as `parameters_to_vector` returns it.
        parameters: what takes the values; the memory is then the vector's.
    """
    if not isinstance(vec, Tensor):
        raise ArgumentTypeError(f"expected a Tensor, but got {type(vec).__name__}")
    start = 0
    with no_grad():
        for parameter in parameters:
            count = parameter.numel()
            parameter.data = vec[start : start + count].view_as(parameter).data
            start += count
