"""Filling weights with their first values, in place and unrecorded.

After the same seed the numbers are PyTorch's: the same draws in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.ops.creation import empty_like
from lamina.ops.data import from_numpy
from lamina.ops.random import randperm

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR_KINDS: Final = frozenset(
    ["linear", "sigmoid"]
    + [f"conv{n}d" for n in (1, 2, 3)]
    + [f"conv_transpose{n}d" for n in (1, 2, 3)]
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that keeps the variance of activations through a nonlinearity.

    It is 1 for linear layers and sigmoid, 5/3 for tanh, sqrt(2) for relu, 3/4 for selu and
    `sqrt(2 / (1 + slope**2))` for leaky_relu.

    Args:
        nonlinearity: the function's name in `nn.functional`.
        param: leaky_relu's negative slope (0.01 when left out).

    Example:
        >>> calculate_gain("leaky_relu", 1.0)
        1.0
    """
    if nonlinearity in _LINEAR_KINDS:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(f"negative_slope {slope} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with draws from the uniform distribution on `[a, b)`."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with draws from the normal distribution."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with draws from the normal distribution, those outside `[a, b]` drawn again.

    Args:
        tensor: what to fill.
        mean: the mean before truncation.
        std: the standard deviation before truncation.
        a: the least value.
        b: the greatest value.
        generator: where the random numbers come from.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(f"trunc_normal_: the mean {mean} is more than 2 std outside [{a}, {b}]")
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    with no_grad():
        if inside > 0.3:
            _redraw_normal(tensor, mean, std, a, b, generator)
        else:
            _reject_uniform(tensor, mean, std, a, b, generator)
    return tensor


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> None:
    """Draw from the normal distribution until nothing is outside: quick when most is inside."""
    # The bounds as the tensor's dtype has them, or a value may equal its bound and still be out.
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    values = tensor.normal_(mean, std, generator=generator)
    while (outside := (values < low) | (values > high)).any():
        again = empty_like(values).normal_(mean, std, generator=generator)
        values = again.where(outside, values)
    if values is not tensor:
        tensor.copy_(values)


def _reject_uniform(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> None:
    """Draw uniformly and accept by density: quick when the interval lies in the tail."""
    mode = max(a, min(mean, b))
    log_peak = -0.5 * ((mode - mean) / std) ** 2

    def refused(candidates: Tensor) -> Tensor:
        log_density = candidates.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        return empty_like(tensor).uniform_(generator=generator).log_() > log_density

    values = tensor.uniform_(a, b, generator=generator)
    pending = refused(values)
    while pending.any():
        candidates = empty_like(tensor).uniform_(a, b, generator=generator)
        values = candidates.where(pending, values)
        pending = pending & refused(candidates)
    if values is not tensor:
        tensor.copy_(values)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: inputs are passed on as far as there is room."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.zero_()
        tensor.diagonal().fill_(1.0)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it passes its input channels on unchanged.

    Args:
        tensor: a weight of 3, 4 or 5 dimensions.
        groups: the number of groups; each passes its own channels on.
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.shape[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _fans(tensor: Tensor) -> tuple[int, int]:
    """Return how many numbers each output is a sum of, and how many each input goes into."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * receptive_field, tensor.shape[0] * receptive_field


_calculate_fan_in_and_fan_out = _fans  # the name that programs written for PyTorch import


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from the uniform distribution on `[-a, a)`, `a = gain * sqrt(6 / (fan_in + fan_out))`.

    From Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks" (2010).
    """
    fan_in, fan_out = _fans(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from the normal distribution, `std = gain * sqrt(2 / (fan_in + fan_out))`."""
    fan_in, fan_out = _fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """Return the fan that a mode names."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _fans(tensor)
    return fan_in if mode.lower() == "fan_in" else fan_out


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warn("Initializing zero-element tensors is a no-op")
    return True


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill from the uniform distribution on `[-b, b)`, `b = gain * sqrt(3 / fan)`.

    From He et al., "Delving deep into rectifiers" (2015).

    Args:
        tensor: what to fill.
        a: the negative slope of the leaky_relu that follows.
        mode: "fan_in" keeps the variance forward, "fan_out" backward.
        nonlinearity: what follows the layer; see `calculate_gain`.
        generator: where the random numbers come from.
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill from the normal distribution, `std = gain / sqrt(fan)`; see `kaiming_uniform_`."""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with an orthogonal matrix times `gain`, further dimensions flattened into the columns.

    From Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks" (2013).
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    with no_grad():
        noise = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        values = noise.cpu().numpy()
        q, r = np.linalg.qr(values.T if rows < columns else values)
        # With a positive diagonal of r the matrix is drawn evenly from all orthogonal ones.
        q = q * np.sign(np.diagonal(r))
        matrix = np.ascontiguousarray(q.T if rows < columns else q)
        tensor.copy_(from_numpy(matrix).reshape(tensor.shape)).mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix from a normal distribution, then zero a fraction of each column.

    Args:
        tensor: a matrix.
        sparsity: the fraction of each column that becomes zero.
        std: the standard deviation of the rest.
        generator: where the random numbers come from.
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            # torch's sparse_ takes this permutation from the default generator always.
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


def _renamed(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function under its older name, without the underscore: it warns."""
    name = function.__name__
    old = name.removesuffix("_")

    def renamed(*args: Any, **kwargs: Any) -> Tensor:
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning)
        return function(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = old
    renamed.__doc__ = f"Call `{name}`, which replaced this older name."
    return renamed


uniform = _renamed(uniform_)
normal = _renamed(normal_)
constant = _renamed(constant_)
eye = _renamed(eye_)
dirac = _renamed(dirac_)
xavier_uniform = _renamed(xavier_uniform_)
xavier_normal = _renamed(xavier_normal_)
kaiming_uniform = _renamed(kaiming_uniform_)
kaiming_normal = _renamed(kaiming_normal_)
orthogonal = _renamed(orthogonal_)
sparse = _renamed(sparse_)
