"""Rounding, bounds, and the larger or smaller of two elements."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.arguments import native
from lamina.core.call import operation, run
from lamina.core.fast import binary, unary
from lamina.core.numpy_names import again, takes_numpy_names
from lamina.core.op import KEEP, PROMOTE, SAME, ZERO
from lamina.core.samples import Make, Sample, sample
from lamina.core.tensor import Tensor
from lamina.ops.choices import change_by, checked, refuse

__all__ = [
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "fix",
    "floor",
    "fmax",
    "fmin",
    "frac",
    "maximum",
    "minimum",
    "nan_to_num",
    "round",
    "trunc",
]

# --- rounding ----------------------------------------------------------------------------------


def _rounding(name: str, ufunc: Any, doc: str) -> Any:
    def kernel(input: Any) -> Any:
        return ufunc(input) if input.dtype.kind == "f" else _whole(name, input)

    return unary(name, kernel, grad=ZERO, dtypes=KEEP, doc=doc)


def _whole(name: str, input: Any) -> Any:
    """Integers are whole already; other kinds can't be rounded."""
    if input.dtype.kind in "iu":
        return input.copy()
    raise errors.NotImplementedForDtype(
        f'"{name}" not implemented for {dtypes.from_numpy(input.dtype)!r}'
    )


floor = _rounding("floor", np.floor, "The largest whole number not above each element.")
ceil = _rounding("ceil", np.ceil, "The smallest whole number not below each element.")
trunc = _rounding("trunc", np.trunc, "Each element without its fraction.")
fix = trunc
frac = unary(
    "frac",
    lambda input: input - np.trunc(input) if input.dtype.kind == "f" else _no_fraction(input),
    grad=SAME,
    dtypes=KEEP,
    doc="The fraction of each element, with its sign.",
)


def _no_fraction(input: Any) -> Any:
    raise errors.NotImplementedForDtype(
        f'"frac" not implemented for {dtypes.from_numpy(input.dtype)!r}'
    )


def _round(input: Any) -> Any:
    return np.rint(input) if input.dtype.kind == "f" else _whole("round", input)


_round_whole = unary(
    "round", _round, grad=ZERO, dtypes=KEEP, doc="The nearest whole number; of two, the even one."
)


def _round_decimals_kernel(input: Any, decimals: int) -> Any:
    if input.dtype.kind != "f":
        return _whole("round", input)
    scale = input.dtype.type(10.0 ** builtins.abs(decimals))
    if decimals >= 0:
        return np.rint(input * scale) / scale
    return np.rint(input / scale) * scale


_round_decimals = operation(
    "round_decimals",
    _round_decimals_kernel,
    grad={"input": ZERO},
    node_name="RoundBackward1",
    samples=lambda make: [sample(make(3, 4), 1), sample(make(3), -1)],
    doc="The nearest number with so many decimal places.",
)


@takes_numpy_names
def round(input: Any, *, decimals: int = 0, out: Any = None, **numpy_names: Any) -> Any:
    """The nearest whole number, or number with so many decimals; of two, the even one.

    >>> import lamina
    >>> lamina.round(lamina.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    """
    if numpy_names:
        return again(round, numpy_names, input, decimals, out)
    if decimals == 0:
        return _round_whole(input) if out is None else _round_whole(input, out=out)
    return _round_decimals(input, decimals, out=out)


def round_(input: Any, *, decimals: int = 0) -> Any:
    """Round each element, in place."""
    if decimals == 0:
        return change_by(_round_whole, input)
    return change_by(_round_decimals, input, decimals)


# --- bounds ------------------------------------------------------------------------------------


def _bound_in_common(input: Any, *bounds: Any) -> Any:
    """The input in the dtype that numbers as bounds ask for: integers with a bound of 0.5 widen."""
    kind = dtypes.from_numpy(input.dtype)
    if kind.is_complex:
        raise errors.DtypeError("clamp is not supported for complex types")
    for bound in bounds:
        if bound is not None:
            kind = dtypes.promote_categories(kind, None, dtypes.of_number(bound))
    return input if kind.numpy == input.dtype else input.astype(kind.numpy)


def _clamp_numbers_kernel(input: Any, min: Any = None, max: Any = None) -> Any:
    input = _bound_in_common(input, min, max)
    if min is not None:
        input = np.maximum(input, input.dtype.type(min))
    return input if max is None else np.minimum(input, input.dtype.type(max))


def _inside_numbers(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    if min is None:
        outside = input > max
    elif max is None:
        outside = input < min
    else:
        outside = F.logical_or(input < min, input > max)
    return F.where(outside, 0, g)


def _clamp_declared(name: str, node_name: str, samples: Any) -> Any:
    return operation(
        name,
        _clamp_numbers_kernel,
        grad={"input": _inside_numbers},
        node_name=node_name,
        samples=samples,
        doc="Each element, moved to the nearest bound if it is outside the bounds.",
    )


_clamp_numbers = _clamp_declared(
    "clamp",
    "ClampBackward1",
    lambda make: [sample(make.distinct(3, 4), -0.25, 0.25), sample(make.distinct(3, 4), None, 0.1)],
)
_clamp_min_number = _clamp_declared(
    "clamp_min", "ClampMinBackward0", lambda make: [sample(make.distinct(3, 4), 0.15)]
)
_clamp_max_number = _clamp_declared(
    "clamp_max", "ClampMaxBackward0", lambda make: [sample(make.distinct(3, 4), None, 0.15)]
)


def _clamp_tensors_kernel(input: Any, min: Any = None, max: Any = None) -> Any:
    if min is not None:
        input = np.maximum(input, min)
    return input if max is None else np.minimum(input, max)


def _inside_tensors(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    if min is None:
        outside = input > max
    elif max is None:
        outside = input < min
    else:
        outside = F.logical_or(input < min, input > max)
    return F.where(outside, 0, g)


def _at_min(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    below = input < min
    return F.where(below if max is None else F.logical_and(below, min < max), g, 0)


def _at_max(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    above = input > max
    return F.where(above if min is None else F.logical_or(above, max < min), g, 0)


def _clamp_tensor_samples(make: Make) -> list[Sample]:
    return [
        sample(make.distinct(3, 4), make(3, 4) - 1, make(3, 4) + 1),
        sample(make.distinct(3, 4), make(4), None),
        sample(make.distinct(3, 4), None, make(3, 1)),
    ]


def _clamp_tensors_declared(name: str, node_name: str) -> Any:
    return operation(
        name,
        _clamp_tensors_kernel,
        tensors="input ?min ?max",
        grad={"input": _inside_tensors, "min": _at_min, "max": _at_max},
        node_name=node_name,
        dtypes=PROMOTE,
        samples=_clamp_tensor_samples,
        doc="Each element, moved to the nearest bound if it is outside the bounds.",
    )


_clamp_tensors = _clamp_tensors_declared("clamp_tensors", "ClampBackward0")
_clamp_min_tensor = _clamp_tensors_declared("clamp_min_tensor", "ClampMinBackward1")
_clamp_max_tensor = _clamp_tensors_declared("clamp_max_tensor", "ClampMaxBackward1")


def _clamp_for(min: Any, max: Any) -> Any:
    if min is None and max is None:
        raise errors.InvalidArgument("torch.clamp: At least one of 'min' or 'max' must not be None")
    kinds = [isinstance(bound, Tensor) for bound in (min, max) if bound is not None]
    if any(kinds) and not all(kinds):
        raise errors.ArgumentTypeError(
            "clamp(): 'min' and 'max' must both be numbers or both be tensors",
            help=["make a tensor of the number: torch.tensor(...)"],
        )
    return _clamp_tensors if kinds[0] else _clamp_numbers


@native
def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """Each element, moved to the nearest bound if it is outside the bounds.

    >>> import lamina
    >>> lamina.clamp(lamina.tensor([-2.0, 0.5, 3.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return run(_clamp_for(min, max).op, [input, min, max], out)


def clamp_(input: Any, min: Any = None, max: Any = None) -> Any:
    """Move each element into the bounds, in place."""
    return change_by(_clamp_for(min, max), input, min, max)


clip, clip_ = clamp, clamp_


@native
def clamp_min(input: Any, min: Any, *, out: Any = None) -> Any:
    """Each element, or the lower bound where that is larger."""
    chosen = _clamp_min_tensor if isinstance(min, Tensor) else _clamp_min_number
    return run(chosen.op, [input, min, None], out)


def clamp_min_(input: Any, min: Any) -> Any:
    """Raise each element to the lower bound, in place."""
    chosen = _clamp_min_tensor if isinstance(min, Tensor) else _clamp_min_number
    return change_by(chosen, input, min, None)


@native
def clamp_max(input: Any, max: Any, *, out: Any = None) -> Any:
    """Each element, or the upper bound where that is smaller."""
    chosen = _clamp_max_tensor if isinstance(max, Tensor) else _clamp_max_number
    return run(chosen.op, [input, None, max], out)


def clamp_max_(input: Any, max: Any) -> Any:
    """Lower each element to the upper bound, in place."""
    chosen = _clamp_max_tensor if isinstance(max, Tensor) else _clamp_max_number
    return change_by(chosen, input, None, max)


# --- the larger or smaller of two --------------------------------------------------------------


def _share(F: Any, g: Any, wins: Any, ties: Any) -> Any:
    """The gradient where an element was chosen; half of it where both were the same."""
    return F.where(ties, g / 2, F.where(wins, g, 0))


maximum = binary(
    "maximum",
    np.maximum,
    grad={
        "input": lambda F, g, input, other: _share(F, g, input > other, input == other),
        "other": lambda F, g, input, other: _share(F, g, other > input, input == other),
    },
    tensors="input~ other~",
    doc="The larger of each pair of elements; NaN if one is NaN.",
)
minimum = binary(
    "minimum",
    np.minimum,
    grad={
        "input": lambda F, g, input, other: _share(F, g, input < other, input == other),
        "other": lambda F, g, input, other: _share(F, g, other < input, input == other),
    },
    tensors="input~ other~",
    doc="The smaller of each pair of elements; NaN if one is NaN.",
)
for _choice in (maximum, minimum):
    checked(_choice, refuse("c", _choice.__name__ + " not implemented for complex tensors."))


def _first_of(F: Any, wins: Any, other: Any) -> Any:
    return F.logical_or(wins, F.isnan(other))


fmax = binary(
    "fmax",
    np.fmax,
    grad={
        "input": lambda F, g, input, other: F.where(_first_of(F, input >= other, other), g, 0),
        "other": lambda F, g, input, other: F.where(_first_of(F, input >= other, other), 0, g),
    },
    tensors="input~ other~",
    doc="The larger of each pair of elements; a NaN loses against a number.",
)
fmin = binary(
    "fmin",
    np.fmin,
    grad={
        "input": lambda F, g, input, other: F.where(_first_of(F, input <= other, other), g, 0),
        "other": lambda F, g, input, other: F.where(_first_of(F, input <= other, other), 0, g),
    },
    tensors="input~ other~",
    doc="The smaller of each pair of elements; a NaN loses against a number.",
)

# --- NaN and infinity --------------------------------------------------------------------------


def _nan_to_num(input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    if input.dtype.kind not in "fc":
        return input.copy()
    return np.nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


nan_to_num = operation(
    "nan_to_num",
    _nan_to_num,
    grad={"input": lambda F, g, input: F.where(F.isfinite(input), g, 0)},
    samples=lambda make: [sample(make(3, 4)), sample(make(3), 1.0, 2.0, -2.0)],
    doc="NaN and the infinities replaced by numbers: 0 and the largest ones, unless given.",
)
