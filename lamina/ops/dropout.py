"""Dropout: elements or channels set to zero at random while training."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native, takes_tensors
from lamina.core.tensor import wrap
from lamina.core.warning import warn
from lamina.devices import device_of
from lamina.ops.choices import change_by
from lamina.ops.draws import draw, draw_like
from lamina.ops.pointwise import mul

__all__ = ["alpha_dropout", "dropout", "feature_alpha_dropout"]

# What SELU tends to for very negative inputs, negated: alpha dropout sets elements to that.
_SATURATION = 1.7580993408473766


def check_probability(p: float) -> None:
    """Raise for a number that is no probability."""
    if not 0 <= p <= 1:
        raise errors.InvalidValue(
            f"dropout probability has to be between 0 and 1, but got {p}",
            help=["p is the share of elements that are set to zero"],
        )


def _kept(input: Any, p: float, features: bool, value: float = 1.0) -> Any:
    """`value` where an element (or a channel of a sample) is kept, 0 where it is dropped."""
    array = input._array
    if not features:
        kind, place = array.dtype, device_of(array)
        return wrap(draw_like("chosen", None, array, kind, place, 1 - p, value), None)
    if array.ndim < 2:
        raise errors.InvalidArgument("Feature dropout requires at least 2 dimensions in the input")
    shape = (*array.shape[:2], *[1] * (array.ndim - 2))
    return wrap(draw("chosen", None, shape, array.dtype, input.device, 1 - p, value), None)


@functools.lru_cache(64)
def _factor(p: float, kind: np.dtype[Any]) -> float:
    """1 / (1 - p), as the dtype has it."""
    return float(kind.type(1) / kind.type(1 - p))


def _dropped(input: Any, p: float, training: bool, inplace: bool, features: bool = False) -> Any:
    """Zeros with probability `p`; what is kept is scaled so that the expected sum stays."""
    check_probability(p)
    array = input._array
    if p == 0 or not training or not array.size:
        return input
    if p == 1:
        kept = wrap(np.zeros_like(array), None)
    elif array.dtype.char in "fd":
        kept = _kept(input, p, features, _factor(float(p), array.dtype))
    else:
        kept = _kept(input, p, features) / (1 - p)
    return change_by(mul, input, kept) if inplace else mul(input, kept)


@native
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Set elements to zero with probability `p`, and scale the others by `1 / (1 - p)`.

    Args:
        input: any tensor.
        p: the probability.
        training: whether to do anything at all.
        inplace: whether to change the input itself.

    >>> import lamina
    >>> lamina.dropout(lamina.ones(3), 0.5, False)
    tensor([1., 1., 1.])
    """
    return _dropped(input, p, training, inplace)


@takes_tensors
def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Set whole channels of (N, C, L) or (C, L) to zero with probability `p`."""
    ndim = input._array.ndim
    if ndim not in (2, 3):
        raise errors.InvalidArgument(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input."
        )
    return _of_samples(input, p, training, inplace, ndim == 3)


@takes_tensors
def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Set whole channels of (N, C, H, W) to zero with probability `p`.

    The first two dimensions of a 3-dimensional input count as N and C.
    """
    check_probability(p)
    ndim = input._array.ndim
    if ndim not in (3, 4):
        warn(f"dropout2d: received a {ndim}D input; channels are taken to be dimension 1")
    return _dropped(input, p, training, inplace, features=True)


@takes_tensors
def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Set whole channels of (N, C, D, H, W) or (C, D, H, W) to zero with probability `p`."""
    ndim = input._array.ndim
    if ndim not in (4, 5):
        warn(f"dropout3d: received a {ndim}D input; channels are taken to be dimension 1")
    return _of_samples(input, p, training, inplace, ndim != 4)


def _of_samples(input: Any, p: float, training: bool, inplace: bool, batched: bool) -> Any:
    """Feature dropout, of a single sample too."""
    if batched:
        return _dropped(input, p, training, inplace, features=True)
    check_probability(p)
    return _dropped(input.unsqueeze(0), p, training, inplace, features=True).squeeze(0)


def _alpha_dropped(input: Any, p: float, training: bool, inplace: bool, features: bool) -> Any:
    """Dropout that keeps mean 0 and variance 1, for networks of SELU."""
    check_probability(p)
    if p == 0 or not training or not input._array.size:
        return input
    if p == 1:
        zeros = wrap(np.zeros_like(input._array), None)
        return change_by(mul, input, zeros) if inplace else mul(input, zeros)
    kept = _kept(input, p, features)
    scale = 1 / math.sqrt((_SATURATION * _SATURATION * p + 1) * (1 - p))
    shift = (kept - 1) * (_SATURATION * scale) + _SATURATION * scale * p
    if inplace:
        return change_by(mul, input, kept * scale).add_(shift)
    return mul(input, kept * scale) + shift


@native
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Dropout that keeps mean 0 and variance 1, for networks of SELU; see `dropout`."""
    return _alpha_dropped(input, p, training, inplace, features=False)


@native
def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """Alpha dropout of whole channels; see `alpha_dropout`."""
    return _alpha_dropped(input, p, training, inplace, features=True)
