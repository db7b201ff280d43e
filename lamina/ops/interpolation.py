"""Interpolation: images, lines and volumes at another size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import takes_tensors, whole_numbers
from lamina.core.call import operation
from lamina.core.samples import sample
from lamina.core.warning import warn
from lamina.ops.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    along,
)
from lamina.ops.constants import constant_like
from lamina.ops.halves import in_float

__all__: list[str] = []


# --- taps: which input elements make an output element, and with what weights --------------------


def _ratio(size: int, count: int, scale: float | None, align_corners: bool) -> float:
    """Input elements for each output element."""
    if align_corners:
        return (size - 1) / (count - 1) if count > 1 else 0.0
    return 1 / scale if scale else size / count


def _nearest_taps(size: int, count: int, scale: float | None, exact: bool) -> tuple[Any, Any]:
    # float32, since PyTorch decides with float32 which element is nearest.
    ratio = np.float32(_ratio(size, count, scale, False))
    places = np.arange(count, dtype=np.float32)
    if exact:
        places += np.float32(0.5)
    index = np.minimum(np.floor(places * ratio).astype(np.int64), size - 1)
    if not exact and count in (size, 2 * size):
        index = np.arange(count) // (count // size)
    return index[None], None


def _sources(size: int, count: int, scale: float | None, align_corners: bool, kind: Any) -> Any:
    """Where output elements lie between input elements, computed as precisely as PyTorch does."""
    ratio = kind(_ratio(size, count, scale, align_corners))
    places = np.arange(count, dtype=kind)
    return places * ratio if align_corners else (places + kind(0.5)) * ratio - kind(0.5)


def _linear_taps(
    size: int, count: int, scale: float | None, align_corners: bool, kind: Any
) -> tuple[Any, Any]:
    source = np.maximum(_sources(size, count, scale, align_corners, kind), 0)
    low = np.minimum(source.astype(np.int64), size - 1)
    share = np.minimum(source - low, 1)
    return np.stack([low, np.minimum(low + 1, size - 1)]), np.stack([1 - share, share])


def cubic_weights(t: Any) -> list[Any]:
    """The weights of the four neighbours of a place, `t` behind the second of them."""
    a = -0.75

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic_taps(
    size: int, count: int, scale: float | None, align_corners: bool, kind: Any
) -> tuple[Any, Any]:
    source = _sources(size, count, scale, align_corners, kind)
    low = np.floor(source)
    index = low.astype(np.int64) + np.arange(-1, 3)[:, None]
    return np.clip(index, 0, size - 1), np.stack(cubic_weights(source - low))


def _smooth_taps(
    size: int, count: int, scale: float | None, align_corners: bool, reach: int
) -> tuple[Any, Any]:
    """Taps that average over what falls together when an image gets smaller (antialiasing)."""
    ratio = _ratio(size, count, scale, align_corners)
    stretch = max(ratio, 1.0)
    support = reach / 2 * stretch
    centers = ratio * (np.arange(count) + 0.5)
    first = np.maximum((centers - support + 0.5).astype(np.int64), 0)
    last = np.minimum((centers + support + 0.5).astype(np.int64), size)
    index = first[:, None] + np.arange(max(np.max(last - first), 1))
    distance = np.abs((index - centers[:, None] + 0.5) / stretch)
    weights = np.maximum(1 - distance, 0) if reach == 2 else _soft_cubic(distance)
    weights = np.where(index < last[:, None], weights, 0)
    weights /= np.sum(weights, axis=1, keepdims=True)
    return np.minimum(index, size - 1).T, weights.T


def _soft_cubic(x: Any) -> Any:
    # With antialiasing PyTorch takes -0.5 where it takes -0.75 without.
    a = -0.5
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _taps(
    mode: str, size: int, count: int, scale: float | None, align_corners: bool, antialias: bool,
    kind: Any,
) -> tuple[Any, Any]:  # fmt: skip
    if mode.startswith("nearest"):
        return _nearest_taps(size, count, scale, mode == "nearest-exact")
    if antialias:
        return _smooth_taps(size, count, scale, align_corners, 4 if mode == "bicubic" else 2)
    made = _cubic_taps if mode == "bicubic" else _linear_taps
    return made(size, count, scale, align_corners, kind)


# --- the operations ----------------------------------------------------------------------------


def _resample(input: Any, taps: Any, sizes: Any) -> Any:
    """Each dimension's taps in turn: `taps` has (indices, weights) for each."""
    rank = len(taps)
    for k, (index, weights) in enumerate(taps):
        axis = k - rank
        if weights is None:
            input = np.take(input, constant_like(input, index[0]), axis=axis)
            continue
        shape = (-1, *[1] * (rank - 1 - k))
        total: Any = 0
        for places, share in zip(index, weights, strict=True):
            places = constant_like(input, places)
            share = constant_like(input, share.astype(input.dtype).reshape(shape))
            total = total + np.take(input, places, axis=axis) * share
        input = total
    return input


@in_float
def _resample_back(input: Any, taps: Any, sizes: Any) -> Any:
    """The transpose of `resample`: `sizes` are those of its input."""
    rank = len(taps)
    for k, (index, weights) in enumerate(taps):
        matrix = np.zeros((sizes[k], index.shape[1]))
        for t, places in enumerate(index):
            share = 1.0 if weights is None else weights[t]
            np.add.at(matrix, (places, np.arange(len(places))), share)
        input = along(input, constant_like(input, matrix.astype(input.dtype)), k - rank)
    return input


resample_back = operation(
    "resample_back",
    _resample_back,
    grad={"input": lambda F, g, taps, sizes: F.resample(g, taps, sizes)},
    doc="The gradients of interpolated elements, at the elements that they were made from.",
)


def _declare(name: str, node_name: str) -> Any:
    return operation(
        name,
        _resample,
        grad={"input": lambda F, g, taps, sizes: F.resample_back(g, taps, sizes)},
        node_name=node_name,
        samples=lambda make: [
            sample(make(1, 2, 4), (_taps("linear", 4, 7, None, False, False, np.float64),), (4,)),
            sample(make(1, 2, 4), (_taps("nearest", 4, 7, None, False, False, np.float64),), (4,)),
        ],
        doc="Elements at other places, from weighted neighbours along each dimension.",
    )


_NAMES = {
    ("nearest", 1): "UpsampleNearest1DBackward0",
    ("nearest", 2): "UpsampleNearest2DBackward0",
    ("nearest", 3): "UpsampleNearest3DBackward0",
    ("nearest-exact", 1): "UpsampleNearestExact1DBackward0",
    ("nearest-exact", 2): "UpsampleNearestExact2DBackward0",
    ("nearest-exact", 3): "UpsampleNearestExact3DBackward0",
    ("linear", 1): "UpsampleLinear1DBackward0",
    ("bilinear", 2): "UpsampleBilinear2DBackward0",
    ("bicubic", 2): "UpsampleBicubic2DBackward0",
    ("trilinear", 3): "UpsampleTrilinear3DBackward0",
}
_declare("resample", "ResampleBackward0")
_RESAMPLE = {
    key: _declare(f"upsample_{key[0].replace('-', '_')}{key[1]}d", name)
    for key, name in _NAMES.items()
}
_AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}


def _per_dimension(value: Any, rank: int, name: str) -> list[Any]:
    if not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0:
        return [value] * rank
    values = list(value)
    if len(values) != rank:
        raise errors.InvalidValue(
            f"interpolate: {name} has {len(values)} entries, but the input has {rank} spatial "
            "dimensions",
            help=["the first two dimensions of the input are batch and channels"],
        )
    return values


def _target(
    sizes: tuple[int, ...], size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[list[int], list[float | None]]:
    """The sizes to make, and the scales to compute with (None: from the sizes)."""
    rank = len(sizes)
    if (size is None) == (scale_factor is None):
        problem = "either size or scale_factor should be defined"
        if size is not None:
            problem = "only one of size or scale_factor should be defined"
        raise errors.InvalidValue(f"interpolate: {problem}")
    if size is not None:
        if recompute:
            raise errors.InvalidValue(
                "recompute_scale_factor is not meaningful with an explicit size."
            )
        lengths = whole_numbers("interpolate", "size", _per_dimension(size, rank, "size"))
        return list(lengths), [None] * rank
    scales = _per_dimension(scale_factor, rank, "scale_factor")
    if any(isinstance(scale, str) for scale in scales):
        raise errors.ArgumentTypeError(
            "interpolate(): argument 'scale_factor' must be float or tuple of floats, not str"
        )
    scales = list(map(float, scales))
    wanted = [math.floor(n * s) for n, s in zip(sizes, scales, strict=True)]
    return wanted, [None] * rank if recompute else list(scales)


@takes_tensors
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """The input at another size.

    Args:
        input: (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size: the spatial sizes wanted.
        scale_factor: or, by what the sizes are multiplied.
        mode: "nearest", "nearest-exact", "linear" (3-d input), "bilinear" and "bicubic" (4-d),
            "trilinear" (5-d), or "area".
        align_corners: whether first and last elements keep their places, instead of the edges of
            what they cover.
        recompute_scale_factor: whether to compute with the ratio of the sizes instead of
            `scale_factor`.
        antialias: whether to average over what falls together ("bilinear" and "bicubic").

    >>> import lamina
    >>> lamina.nn.functional.interpolate(lamina.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise errors.InvalidValue(
            "align_corners option can only be set with the interpolating modes: linear | "
            "bilinear | bicubic | trilinear"
        )
    sizes = tuple(input._array.shape[2:])
    rank = len(sizes)
    wanted, scales = _target(sizes, size, scale_factor, recompute_scale_factor)
    if mode == "area" and rank in _AREA:
        return _AREA[rank](input, wanted)
    if (mode, rank) not in _RESAMPLE:
        raise errors.NotSupported(
            f"interpolate: Got {rank + 2}D input, but mode {mode!r} needs another one",
            help=["3D, 4D and 5D inputs go with (linear), (bilinear, bicubic) and (trilinear)"],
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise errors.InvalidValue("Anti-alias option is restricted to bilinear and bicubic modes")
    if min((*wanted, *sizes), default=1) <= 0:
        raise errors.InvalidArgument(
            f"Input and output sizes should be greater than 0, but got input {list(sizes)} and "
            f"output {wanted}"
        )
    kind = np.float64 if input._array.dtype == np.float64 else np.float32
    taps = tuple(
        _taps(mode, have, want, scale, bool(align_corners), antialias, kind)
        for have, want, scale in zip(sizes, wanted, scales, strict=True)
    )
    return _RESAMPLE[mode, rank](input, taps, sizes)


@takes_tensors
def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """The older name of `interpolate`."""
    warn("upsample is deprecated; use interpolate instead")
    return interpolate(input, size, scale_factor, mode, align_corners)


@takes_tensors
def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` with mode "nearest"."""
    warn("upsample_nearest is deprecated; use interpolate instead")
    return interpolate(input, size, scale_factor, "nearest")


@takes_tensors
def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` with mode "bilinear" and aligned corners."""
    warn("upsample_bilinear is deprecated; use interpolate instead")
    return interpolate(input, size, scale_factor, "bilinear", True)
