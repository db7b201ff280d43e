"""Smooth activation functions, and the piecewise ones that imitate them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.codegen.fused import fused
from lamina.codegen.vectorized import vectorized
from lamina.core.arguments import native, takes_tensors
from lamina.core.call import operation
from lamina.core.fast import unary
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import KEEP, traced
from lamina.core.samples import Make, Sample, sample
from lamina.ops.choices import change_by
from lamina.ops.error_function import erf_of
from lamina.ops.softmax import converted
from lamina.ops.trigonometry import tanh

__all__: list[str] = []


def _off_kinks(make: Make) -> list[Sample]:
    return [sample(make.distinct(5, 8) * 2.0), sample(make(3))]


def _plain(name: str, kernel: Any, rule: Any, node_name: str, doc: str) -> Any:
    def checked(input: Any) -> Any:
        if input.dtype.kind not in "fc":
            raise errors.NotImplementedForDtype(f'"{name}" not implemented for {input.dtype}')
        return kernel(input)

    return unary(
        name,
        vectorized()(checked),
        grad=rule,
        node_name=node_name,
        dtypes=KEEP,
        samples=_off_kinks,
        doc=doc,
    )


# --- gelu --------------------------------------------------------------------------------------

_ROOT_HALF = 0.7071067811865476
_SLOPE = 0.7978845608028654  # sqrt(2 / pi)
_CUBIC = 0.044715


@fused
def _gelu(input: Any, *, approximate: str = "none") -> Any:
    kind = input.dtype.type
    if approximate == "none":
        return input * (erf_of(input * kind(_ROOT_HALF)) + 1) * kind(0.5)
    if approximate == "tanh":
        inner = (input + input * input * input * kind(_CUBIC)) * kind(_SLOPE)
        return input * (np.tanh(inner) + 1) * kind(0.5)
    raise errors.InvalidArgument("approximate argument must be either none or tanh.")


@fused
def _gelu_rule(F: Any, g: Any, input: Any, approximate: str) -> Any:
    if approximate == "none":
        below = (F.erf(input * _ROOT_HALF) + 1) * 0.5
        return g * (below + input * F.exp(input * input * -0.5) * (_SLOPE * 0.5))
    square = input * input
    bent = F.tanh((input + input * square * _CUBIC) * _SLOPE)
    turn = (square * (3 * _CUBIC) + 1) * _SLOPE
    return g * ((bent + 1) * 0.5 + input * (1 - bent * bent) * turn * 0.5)


_gelu_op = operation(
    "gelu",
    _gelu,
    grad={"input": _gelu_rule},
    samples=lambda make: [sample(make(3, 4)), sample(make(3, 4), approximate="tanh")],
    doc="Each element times the share of a normal distribution below it.",
)


@takes_numpy_names
def gelu(input: Any, approximate: str = "none", **numpy_names: Any) -> Any:
    r"""Each element times the share of a normal distribution below it: $x \Phi(x)$."""
    if numpy_names or input is MISSING:
        return again(gelu, numpy_names, input, approximate)
    return _gelu_op(input, approximate=approximate)


# --- silu, mish, softplus and the like ---------------------------------------------------------


def _logistic(input: Any) -> Any:
    return np.reciprocal(1 + np.exp(-input))


@fused
def _silu_rule(F: Any, g: Any, input: Any) -> Any:
    share = F.sigmoid(input)
    return g * F.conj(share * (input * (1 - share) + 1))


_silu_op = _plain(
    "silu", lambda input: input * _logistic(input), _silu_rule, "SiluBackward0",
    r"Each element times its logistic function: $x / (1 + e^{-x})$.",
)  # fmt: skip


def silu(input: Any, inplace: bool = False) -> Any:
    r"""Each element times its logistic function: $x / (1 + e^{-x})$."""
    return change_by(_silu_op, input) if inplace else _silu_op(input)


@fused
def _mish_rule(F: Any, g: Any, input: Any) -> Any:
    bent = F.tanh(F.softplus(input, 1.0, 20.0))
    return g * (bent + input * F.sigmoid(input) * (1 - bent * bent))


def _mish(input: Any) -> Any:
    if input.dtype.kind == "c":
        raise errors.NotImplementedForDtype(f'"mish" not implemented for {input.dtype}')
    # tanh(log(1 + e^x)) = n / (n + 2) with n = e^x (e^x + 2); from 20 on it is 1.
    power = np.exp(np.minimum(input, 20))
    n = power * (power + 2)
    return input * (n / (n + 2))


_mish_op = _plain(
    "mish", _mish, _mish_rule, "MishBackward0",
    r"$x \tanh(\log(1 + e^x))$ of each element.",
)  # fmt: skip


def mish(input: Any, inplace: bool = False) -> Any:
    r"""$x \tanh(\log(1 + e^x))$ of each element."""
    return change_by(_mish_op, input) if inplace else _mish_op(input)


@fused
def _softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    kind = input.dtype.type
    scaled = input * kind(beta)
    soft = np.log1p(np.exp(np.minimum(scaled, kind(threshold)))) / kind(beta)
    return np.where(scaled > threshold, input, soft)


@fused
def _softplus_rule(F: Any, g: Any, input: Any, beta: float, threshold: float) -> Any:
    scaled = input * beta
    return F.where(scaled > threshold, g, g * F.sigmoid(scaled))


_softplus_op = operation(
    "softplus",
    _softplus,
    grad={"input": _softplus_rule},
    samples=lambda make: [sample(make(3, 4)), sample(make.distinct(5, 8), 2.0, 1.0)],
    doc=r"$\log(1 + e^{\beta x}) / \beta$ of each element, a smooth relu.",
)


@takes_numpy_names
def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0, **numpy_names: Any) -> Any:
    r"""$\log(1 + e^{\beta x}) / \beta$ of each element; $x$ itself where $\beta x$ is large."""
    if numpy_names or input is MISSING:
        return again(softplus, numpy_names, input, beta, threshold)
    return _softplus_op(input, beta, threshold)


logsigmoid = _plain(
    "logsigmoid",
    lambda input: np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input))),
    lambda F, g, input: g * F.sigmoid(-input),
    "LogSigmoidBackward0",
    "The logarithm of the logistic function of each element.",
)


@takes_tensors
def softsign(input: Any) -> Any:
    r"""$x / (1 + |x|)$ of each element."""
    return input / (input.abs() + 1)


def tanhshrink(input: Any) -> Any:
    r"""$x - \tanh x$ of each element."""
    return input - tanh(input)


# --- piecewise ---------------------------------------------------------------------------------


def _between(input: Any, low: float, high: float) -> Any:
    return np.minimum(np.maximum(input, input.dtype.type(low)), input.dtype.type(high))


_hardsigmoid_op = _plain(
    "hardsigmoid",
    lambda input: _between(input + 3, 0, 6) / 6,
    lambda F, g, input: F.where(F.logical_and(input > -3, input < 3), g / 6, 0),
    "HardsigmoidBackward0",
    "A line from 0 at -3 to 1 at 3, level outside.",
)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """A line from 0 at -3 to 1 at 3, level outside."""
    return change_by(_hardsigmoid_op, input) if inplace else _hardsigmoid_op(input)


@fused
def _hardswish_rule(F: Any, g: Any, input: Any) -> Any:
    return F.where(input <= -3, 0, F.where(input < 3, g * (input / 3 + 0.5), g))


_hardswish_op = _plain(
    "hardswish",
    lambda input: input * _between(input + 3, 0, 6) / 6,
    _hardswish_rule,
    "HardswishBackward0",
    "Each element times its hardsigmoid.",
)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """Each element times its hardsigmoid."""
    return change_by(_hardswish_op, input) if inplace else _hardswish_op(input)


def _softshrink(input: Any, lambd: float = 0.5) -> Any:
    if not lambd >= 0:
        raise errors.InvalidArgument(
            f"lambda must be greater or equal to 0, but found to be {lambd}"
        )
    kind = input.dtype.type
    moved = np.where(input > lambd, input - kind(lambd), input + kind(lambd))
    return np.where(np.abs(input) <= lambd, input * 0, moved)


def _outside(F: Any, g: Any, input: Any, lambd: float) -> Any:
    return F.where(F.logical_and(input >= -lambd, input <= lambd), 0, g)


_softshrink_op = operation(
    "softshrink",
    _softshrink,
    grad={"input": _outside},
    samples=lambda make: [sample(make.distinct(5, 8), 0.5)],
    doc="Each element moved towards 0 by a distance, and not past it.",
)


@native
def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """Each element moved towards 0 by a distance, and not past it."""
    return _softshrink_op(input, lambd)


_hardshrink_op = operation(
    "hardshrink",
    lambda input, lambd=0.5: np.where(np.abs(input) <= lambd, input.dtype.type(0), input),
    grad={"input": _outside},
    samples=lambda make: [sample(make.distinct(5, 8), 0.5)],
    doc="Each element that is far enough from 0, else 0.",
)


@native
def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """Each element that is far enough from 0, else 0."""
    return _hardshrink_op(input, lambd)


# --- glu ---------------------------------------------------------------------------------------


def _halves(input: Any, dim: int) -> tuple[Any, Any]:
    first, second = np.split(input, 2, axis=dim)
    return first, second


@fused
def _glu(input: Any, dim: int = -1) -> Any:
    if not input.ndim:
        raise errors.InvalidArgument("glu does not support 0-dimensional tensors")
    if input.shape[dim] % 2:
        raise errors.InvalidArgument(
            f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}"
        )
    first, second = _halves(input, dim)
    return first * _logistic(second)


def _half_index(ndim: int, dim: int, part: slice) -> tuple[Any, ...]:
    return (slice(None),) * (dim % ndim) + (part,)


@fused
def _glu_rule(F: Any, g: Any, input: Any, dim: int) -> Any:
    half = input.shape[dim] // 2
    first = F.slice_view(input, _half_index(input.ndim, dim, slice(0, half)))
    share = F.sigmoid(F.slice_view(input, _half_index(input.ndim, dim, slice(half, None))))
    return F.cat([g * share, g * first * share * (1 - share)], dim)


_glu_op = operation(
    "glu",
    _glu,
    grad={"input": _glu_rule},
    samples=lambda make: [sample(make(3, 4)), sample(make(4, 3), 0)],
    doc="The first half of a dimension times the logistic function of the second half.",
)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half of a dimension times the logistic function of the second half."""
    return _glu_op(input, dim)


# --- softmax as torch.nn.functional has it -----------------------------------------------------


def _implied_dim(ndim: int) -> int:
    """The dimension that old programs meant when they gave none."""
    return 0 if ndim in (0, 1, 3) else 1


@takes_tensors
def softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Exponentials along a dimension, divided by their sum."""
    dim = _implied_dim(input._array.ndim) if dim is None else dim
    return traced.softmax(converted(input, dtype), dim)


@takes_tensors
def log_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of softmax, computed without loss."""
    dim = _implied_dim(input._array.ndim) if dim is None else dim
    return traced.log_softmax(converted(input, dtype), dim)


def softmin(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Softmax of the negated elements: the smallest gets the most."""
    return softmax(-input, dim, _stacklevel, dtype)
