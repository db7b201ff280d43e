"""The three Fourier transforms behind all others: complex, from real numbers, and to real ones.

What a transform is divided by is named by `norm`: "backward" divides the inverse by n, "forward"
the forward transform, "ortho" both by the square root. So the adjoint of a transform is the
opposite transform with "backward" and "forward" exchanged.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from lamina.core.call import operation
from lamina.core.samples import sample

__all__: list[str] = []

Sizes = tuple[int, ...]
Norm = Literal["backward", "ortho", "forward"]
OPPOSITE: dict[str, Norm] = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _resized(input: Any, shape: Sizes) -> Any:
    if input.shape == shape:
        return input
    inside = tuple(slice(0, min(m, n)) for m, n in zip(input.shape, shape, strict=True))
    cut = input[inside]
    if cut.shape == shape:
        return cut.copy()
    made = np.zeros_like(input, shape=shape)
    made[inside] = cut
    return made


fft_resized = operation(
    "fft_resized",
    _resized,
    grad={"input": lambda F, g, input_shape: F.fft_resized(g, input_shape)},
    node_name="ConstantPadNdBackward0",
    samples=lambda make: [sample(make(2, 5), (2, 3)), sample(make(2, 3), (4, 2))],
    doc="A tensor cut off, or continued with zeros, at the end of each dimension.",
)


def _c2c(input: Any, s: Sizes, dim: Sizes, norm: Norm, is_forward: bool) -> Any:
    function = np.fft.fftn if is_forward else np.fft.ifftn
    return function(input, s=s, axes=dim, norm=norm)


fft_c2c = operation(
    "fft_c2c",
    _c2c,
    grad={
        "input": lambda F, g, input_shape, s, dim, norm, is_forward: F.fft_resized(
            F.fft_c2c(g, s, dim, opposite(norm), not is_forward), input_shape
        )
    },
    node_name="FftC2CBackward0",
    doc="The Fourier transform between complex numbers.",
)


def opposite(norm: Norm) -> Norm:
    """What the opposite transform is divided by, to be the adjoint."""
    return OPPOSITE[norm]


def _r2c(input: Any, s: Sizes, dim: Sizes, norm: Norm, is_half: bool) -> Any:
    function = np.fft.rfftn if is_half else np.fft.fftn
    with np.errstate(all="ignore"):  # NumPy would warn in its own name
        return function(input, s=s, axes=dim, norm=norm)


def _r2c_rule(
    F: Any, g: Any, input_shape: Sizes, input_dtype: Any, s: Sizes, dim: Sizes, norm: Norm
) -> Any:
    whole = F.fft_resized(g, sized(tuple(g.shape), dim, s))
    back = F.fft_c2c(whole, s, dim, opposite(norm), False)
    return F.fft_resized(F.cast_like_input(back, input_dtype), input_shape)


def sized(shape: Sizes, dim: Sizes, s: Sizes) -> Sizes:
    """A shape with the lengths `s` in the dimensions `dim`."""
    sizes = list(shape)
    for d, n in zip(dim, s, strict=True):
        sizes[d] = n
    return tuple(sizes)


fft_r2c = operation(
    "fft_r2c",
    _r2c,
    grad={"input": _r2c_rule},
    node_name="FftR2CBackward0",
    samples=lambda make: [
        sample(make(3, 5), (5,), (1,), "backward", True),
        sample(make(3, 5), (4, 6), (0, 1), "ortho", True),
        sample(make(3, 5), (5,), (1,), "forward", False),
    ],
    doc="The Fourier transform of real numbers; `is_half` leaves out what symmetry gives.",
)


def _c2r(input: Any, s: Sizes, dim: Sizes, norm: Norm) -> Any:
    return np.fft.irfftn(input, s=s, axes=dim, norm=norm)


def _c2r_rule(F: Any, g: Any, input_shape: Sizes, s: Sizes, dim: Sizes, norm: Norm) -> Any:
    half = F.fft_r2c(g, s, dim, opposite(norm), True)
    # All but the first (and, of an even number, the last) stand for two elements.
    count = s[-1] - (s[-1] // 2 + 1)
    return F.fft_resized(F.fft_doubled(half, dim[-1], count), input_shape)


fft_c2r = operation(
    "fft_c2r",
    _c2r,
    grad={"input": _c2r_rule},
    node_name="FftC2RBackward0",
    doc="The inverse Fourier transform to real numbers, of half a spectrum.",
)


def _doubled(input: Any, dim: int, count: int) -> Any:
    made = input.copy()
    place = (slice(None),) * (dim % input.ndim) + (slice(1, 1 + count),)
    made[place] *= 2
    return made


fft_doubled = operation(
    "fft_doubled",
    _doubled,
    grad={"input": lambda F, g, dim, count: F.fft_doubled(g, dim, count)},
    samples=lambda make: [sample(make(3, 5), 1, 2)],
    doc="A tensor with the elements from 1 to `count` of a dimension doubled.",
)
