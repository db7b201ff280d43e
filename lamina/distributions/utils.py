"""What distributions share: parameters of one shape, probabilities and their logarithms."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, final

from lamina import dtypes, errors
from lamina.core.blame.words import this_place
from lamina.core.modes import enable_grad
from lamina.core.tensor import Tensor
from lamina.nn.functional import binary_cross_entropy_with_logits, softmax
from lamina.ops.arranging import tril
from lamina.ops.broadcasting import broadcast_tensors
from lamina.ops.creation import ones, zeros
from lamina.ops.data import tensor
from lamina.ops.dtype_info import finfo
from lamina.ops.random import normal

__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs",
    "probs_to_logits", "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape; numbers take dtype and device of a tensor.

    Raises:
        InvalidValue: Something that is neither.

    >>> import lamina
    >>> broadcast_all(lamina.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    model = next((value for value in values if isinstance(value, Tensor)), None)
    for value in values:
        if not isinstance(value, Tensor | Number):
            raise errors.InvalidValue(
                "Input arguments must all be instances of Number or torch.Tensor, not "
                f"{type(value).__name__}",
                [(this_place(), "called here")],
            )
    kind = dtypes.get_default_dtype() if model is None else model.dtype
    place = None if model is None else model.device
    found = [
        value if isinstance(value, Tensor) else tensor(value, dtype=kind, device=place)
        for value in values
    ]
    return tuple(broadcast_tensors(*found))


def standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Standard normal random numbers, as `normal` of tensors draws them."""
    mean = zeros(shape, dtype=dtype, device=device)
    return normal(mean, ones(shape, dtype=dtype, device=device))


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape(*value.shape[:-dim], -1).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from logarithms of weights (of categories), or from log odds (`is_binary`)."""
    return logits.sigmoid() if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities moved away from 0 and 1 by the dtype's epsilon: logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logarithms of the probabilities of categories, or log odds (`is_binary`)."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


def log_chance(logits: Tensor, value: Tensor) -> Tensor:
    """value log p + (1 - value) log (1 - p) for log odds: a Bernoulli trial's log probability."""
    return -binary_cross_entropy_with_logits(logits, value, reduction="none")


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices (..., n, n) from their elements (..., count), row by row.

    Args:
        vec: The elements on and below the diagonal `diag`.
        diag: Which diagonal is the last with elements: 0, or -1 for one below.
    """
    count = vec.shape[-1]
    n = next(k for k in range(1, count + 3) if _count_below(k, diag) >= count)
    if _count_below(n, diag) != count:
        raise errors.InvalidValue(
            f"The size of last dimension is {count} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix.",
            [(this_place(), "called here")],
        )
    matrix = zeros(*vec.shape[:-1], n, n, dtype=vec.dtype, device=vec.device)
    matrix[..., _below(n, diag, vec.device)] = vec
    return matrix


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal of matrices (..., n, n), row by row."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise errors.InvalidValue(
            f"diag ({diag}) provided is outside [{-n}, {n - 1}].", [(this_place(), "called here")]
        )
    return mat[..., _below(n, diag, mat.device)]


def _count_below(n: int, diag: int) -> int:
    """How many elements of an n by n matrix stand on and below a diagonal."""
    return sum(min(max(row + 1 + diag, 0), n) for row in range(n))


def _below(n: int, diag: int, device: Any) -> Tensor:
    return tril(ones(n, n, device=device), diag) > 0


@final
class lazy_property:
    """A property that is computed when first read, with gradients, and then kept on the object."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


# Names that programs write although they are private in PyTorch.
_standard_normal, _sum_rightmost = standard_normal, sum_rightmost
