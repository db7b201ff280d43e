"""Discrete Fourier transforms along one dimension or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import dtypes
from lamina.core.arguments import native
from lamina.core.op import traced
from lamina.core.tensor import Tensor
from lamina.ops.axes import axis_of
from lamina.ops.contraction import into
from lamina.ops.data import tensor
from lamina.ops.fft_kernels import Norm, Sizes, fft_c2c, fft_c2r, fft_r2c, opposite
from lamina.ops.product_checks import check_tensors, legacy, refuse

__all__: list[str] = []

# --- arguments ---------------------------------------------------------------------------------


_NORMS: dict[str | None, Norm] = {
    None: "backward",
    "backward": "backward",
    "forward": "forward",
    "ortho": "ortho",
}


def _norm_of(norm: str | None) -> Norm:
    if norm not in _NORMS:
        raise refuse(f'Invalid normalization mode: "{norm}"')
    return _NORMS[norm]


def _floating(name: str, input: Any, *, is_real: bool = False) -> Any:
    """A tensor of floating-point numbers, complex or not."""
    check_tensors(name, ("input", input))
    if is_real and input.is_complex():
        raise refuse(f"{name} expects a real input tensor, but got {legacy(input)}")
    if not input.dtype.is_differentiable:
        return input.to(dtypes.get_default_dtype())
    if input.dtype.itemsize == 2:
        raise refuse(f"Unsupported dtype {legacy(input)}", "convert it first: `.float()`")
    return input


def _complex(input: Any) -> Any:
    return input if input.is_complex() else input.to(input.dtype.to_complex())


def _one(input: Tensor, n: int | None, dim: int, *, is_spectrum: bool = False) -> tuple[Any, Any]:
    """The lengths and dimensions of a transform along one dimension."""
    if not input.ndim:
        raise refuse("Dimension specified as -1 but tensor has no dimensions")
    axis = axis_of(dim, input.ndim)
    size = n
    if size is None:
        size = input._array.shape[axis]
        size = 2 * (size - 1) if is_spectrum else size
    if size < 1:
        raise refuse(f"Invalid number of data points ({size}) specified")
    return (size,), (axis,)


def _many(input: Tensor, s: Any, dim: Any, *, is_spectrum: bool = False) -> tuple[Sizes, Sizes]:
    """The lengths and dimensions of a transform along several."""
    ndim = input.ndim
    dim = (dim,) if isinstance(dim, int) else dim
    s = (s,) if isinstance(s, int) else s
    if dim is None:
        count = ndim if s is None else len(s)
        if count > ndim:
            raise refuse(
                f"Got shape with {count} values but input tensor only has {ndim} dimensions."
            )
        axes = tuple(range(ndim - count, ndim))
    else:
        axes = tuple(axis_of(d, ndim) for d in dim)
    if len(set(axes)) != len(axes):
        raise refuse("FFT dims must be unique")
    if s is not None and len(s) != len(axes):
        raise refuse("When given, dim and shape arguments must have the same length")
    shape = input._array.shape
    sizes = [shape[a] if s is None or s[k] == -1 else s[k] for k, a in enumerate(axes)]
    if is_spectrum and axes and (s is None or s[-1] == -1):
        sizes[-1] = 2 * (shape[axes[-1]] - 1)
    for size in sizes:
        if size < 1:
            raise refuse(f"Invalid number of data points ({size}) specified")
    return tuple(sizes), axes


# --- along one dimension -----------------------------------------------------------------------


@native
def fft(
    input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Any:
    r"""The discrete Fourier transform: $y_k = \sum_j x_j e^{-2 \pi i j k / n}$.

    With `n` the input is cut off, or continued with zeros, to that length first.

    >>> import lamina
    >>> lamina.fft.fft(lamina.tensor([1.0, 0.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    input, norm = _floating("fft", input), _norm_of(norm)
    s, axes = _one(input, n, dim)
    if input.is_complex():
        return into(out, fft_c2c(input, s, axes, norm, True))
    return into(out, fft_r2c(input, s, axes, norm, False))


@native
def ifft(
    input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Any:
    """The inverse of `fft`."""
    input, norm = _floating("ifft", input), _norm_of(norm)
    s, axes = _one(input, n, dim)
    if input.is_complex():
        return into(out, fft_c2c(input, s, axes, norm, False))
    return into(out, traced.conj(fft_r2c(input, s, axes, opposite(norm), False)))


@native
def rfft(
    input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Any:
    """The Fourier transform of real numbers: the first half, which has it all."""
    input, norm = _floating("rfft", input, is_real=True), _norm_of(norm)
    s, axes = _one(input, n, dim)
    return into(out, fft_r2c(input, s, axes, norm, True))


@native
def irfft(
    input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Any:
    """The inverse of `rfft`: real numbers. Give `n` if there was an odd number of them."""
    input, norm = _complex(_floating("irfft", input)), _norm_of(norm)
    s, axes = _one(input, n, dim, is_spectrum=True)
    return into(out, fft_c2r(input, s, axes, norm))


@native
def hfft(
    input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Any:
    """The Fourier transform of a signal that is Hermitian, of which half is given: real numbers."""
    input, norm = _complex(_floating("hfft", input)), _norm_of(norm)
    s, axes = _one(input, n, dim, is_spectrum=True)
    return into(out, fft_c2r(traced.conj(input), s, axes, opposite(norm)))


@native
def ihfft(
    input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Any:
    """The inverse of `hfft`."""
    input, norm = _floating("ihfft", input, is_real=True), _norm_of(norm)
    s, axes = _one(input, n, dim)
    return into(out, traced.conj(fft_r2c(input, s, axes, opposite(norm), True)))


# --- along several -----------------------------------------------------------------------------


@native
def fftn(
    input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Any:
    """The Fourier transform along several dimensions (all of them by default)."""
    input, norm = _complex(_floating("fftn", input)), _norm_of(norm)
    return into(out, fft_c2c(input, *_many(input, s, dim), norm, True))


@native
def ifftn(
    input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Any:
    """The inverse of `fftn`."""
    input, norm = _complex(_floating("ifftn", input)), _norm_of(norm)
    return into(out, fft_c2c(input, *_many(input, s, dim), norm, False))


def _last_dim(name: str, axes: Sequence[int]) -> None:
    if not axes:
        raise refuse(f"{name} must transform at least one axis")


@native
def rfftn(
    input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Any:
    """The Fourier transform of real numbers along several dimensions; half of the last."""
    input, norm = _floating("rfftn", input, is_real=True), _norm_of(norm)
    sizes, axes = _many(input, s, dim)
    _last_dim("rfftn", axes)
    return into(out, fft_r2c(input, sizes, axes, norm, True))


@native
def irfftn(
    input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Any:
    """The inverse of `rfftn`."""
    input, norm = _complex(_floating("irfftn", input)), _norm_of(norm)
    sizes, axes = _many(input, s, dim, is_spectrum=True)
    _last_dim("irfftn", axes)
    return into(out, fft_c2r(input, sizes, axes, norm))


@native
def hfftn(
    input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Any:
    """The Fourier transform of a Hermitian signal along several dimensions."""
    input, norm = _complex(_floating("hfftn", input)), _norm_of(norm)
    sizes, axes = _many(input, s, dim, is_spectrum=True)
    _last_dim("hfftn", axes)
    return into(out, fft_c2r(traced.conj(input), sizes, axes, opposite(norm)))


@native
def ihfftn(
    input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Any:
    """The inverse of `hfftn`."""
    input, norm = _floating("ihfftn", input, is_real=True), _norm_of(norm)
    sizes, axes = _many(input, s, dim)
    _last_dim("ihfftn", axes)
    return into(out, traced.conj(fft_r2c(input, sizes, axes, opposite(norm), True)))


@native
def fft2(
    input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None
) -> Any:
    """The Fourier transform along two dimensions."""
    return fftn(input, s, dim, norm, out=out)


@native
def ifft2(
    input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None
) -> Any:
    """The inverse of `fft2`."""
    return ifftn(input, s, dim, norm, out=out)


@native
def rfft2(
    input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None
) -> Any:
    """The Fourier transform of real numbers along two dimensions; half of the last."""
    return rfftn(input, s, dim, norm, out=out)


@native
def irfft2(
    input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None
) -> Any:
    """The inverse of `rfft2`."""
    return irfftn(input, s, dim, norm, out=out)


@native
def hfft2(
    input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None
) -> Any:
    """The Fourier transform of a Hermitian signal along two dimensions."""
    return hfftn(input, s, dim, norm, out=out)


@native
def ihfft2(
    input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None
) -> Any:
    """The inverse of `hfft2`."""
    return ihfftn(input, s, dim, norm, out=out)


# --- frequencies and shifts --------------------------------------------------------------------


def fftfreq(
    n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies that the elements of `fft` belong to, for samples `d` apart."""
    return _frequencies(np.fft.fftfreq(n, d), out, dtype, device, requires_grad)


def rfftfreq(
    n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies that the elements of `rfft` belong to, for samples `d` apart."""
    return _frequencies(np.fft.rfftfreq(n, d), out, dtype, device, requires_grad)


def _frequencies(values: Any, out: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    return into(out, tensor(values, dtype=kind, device=device, requires_grad=requires_grad))


@native
def fftshift(input: Any, dim: Any = None) -> Any:
    """The elements of a transform in order of frequency: zero in the middle."""
    axes = _shift_axes(input, dim)
    return traced.roll(input, [input.shape[a] // 2 for a in axes], axes)


@native
def ifftshift(input: Any, dim: Any = None) -> Any:
    """The inverse of `fftshift`."""
    axes = _shift_axes(input, dim)
    return traced.roll(input, [(input.shape[a] + 1) // 2 for a in axes], axes)


def _shift_axes(input: Any, dim: Any) -> list[int]:
    check_tensors("fftshift", ("input", input))
    if dim is None:
        return list(range(input.ndim))
    return [dim] if isinstance(dim, int) else list(dim)
