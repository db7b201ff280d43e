"""The Fourier transform of short stretches of a signal, and the signal back from it."""

from __future__ import annotations

from typing import Any, NamedTuple

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.op import traced
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.ops.creation import ones
from lamina.ops.fft import fft, ifft, irfft, rfft
from lamina.ops.padding import constant_pad_nd, pad
from lamina.ops.product_checks import check_tensors, refuse
from lamina.ops.windows import unfold_backward

__all__ = ["istft", "stft"]


class _Frames(NamedTuple):
    """How a signal is cut: the lengths of a frame, of the steps, and the weights in a frame."""

    n_fft: int
    hop: int
    window: Tensor


def _warn(headline: str, repair: str) -> None:
    warn(errors.DoubtfulValue(headline, [(this_place(), "called here")], [repair]))


def _frames(
    name: str, input: Tensor, n_fft: int, hop: int | None, length: int | None, window: Tensor | None
) -> _Frames:
    """Lengths with their defaults, and the window in the middle of a frame."""
    hop = n_fft // 4 if hop is None else hop
    length = n_fft if length is None else length
    if not 0 < length <= n_fft:
        raise refuse(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is None:
        _warn(
            f"{name}: A window was not provided. A rectangular window will be applied, which is "
            "known to cause spectral leakage.",
            f"window=torch.hann_window({length}), or torch.ones({length}) if that is meant",
        )
        kind = input.dtype.to_real() if input.is_complex() else input.dtype
        window = ones(length, dtype=kind, device=input.device)
    elif tuple(window.shape) != (length,):
        raise refuse(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got "
            f"window with size {list(window.shape)}"
        )
    left = (n_fft - length) // 2
    return _Frames(n_fft, hop, constant_pad_nd(window, (left, n_fft - length - left)))


_ONE_SIDE = "Cannot have onesided output if window or input is complex"


def _check_signal(input: Any, window: Tensor | None) -> bool:
    """Whether signal or window is complex; raises for what is no signal."""
    check_tensors("stft", ("input", input))
    if not input.dtype.is_differentiable or input.ndim not in (1, 2):
        raise refuse(
            "stft: expected a tensor of floating point or complex values, 1D or 2D, but got "
            f"{input.dtype} of shape {list(input.shape)}"
        )
    return input.is_complex() or (window is not None and window.is_complex())


def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    r"""The short-time Fourier transform: $X[\omega, m] = \sum_k w[k] x[m h + k]
    e^{-2 \pi i \omega k / n}$.

    Args:
        input: Signals: (length,) or (batch, length), real or complex.
        n_fft: The length of a frame.
        hop_length: How far apart frames begin; `n_fft // 4` if None.
        win_length: The length of the window, which stands in the middle of a frame; `n_fft` if
            None.
        window: Weights (win_length,); ones if None, which is warned of.
        center: Whether the signal is continued by `n_fft // 2` at both ends, so that frame `m` has
            its middle at `m * hop_length`.
        pad_mode: How it is continued; see `nn.functional.pad`.
        normalized: Whether to divide by the root of `n_fft`.
        onesided: Whether to leave out the frequencies that a real signal has twice; by default if
            signal and window are real.
        return_complex: True for complex numbers (to be given for real signals); False for a last
            dimension of real and imaginary parts.
        align_to_window: Accepted with `center=False`; frames always begin with the signal.

    Returns:
        (frequencies, frames) or (batch, frequencies, frames).

    Raises:
        InvalidArgument: Lengths that do not fit, or `return_complex` missing.

    >>> import lamina
    >>> signal = lamina.ones(8)
    >>> window = lamina.ones(4)
    >>> lamina.stft(signal, 4, window=window, center=False, return_complex=True).real[:, 0]
    tensor([4., 0., 0.])
    """
    is_complex = _check_signal(input, window)
    if align_to_window is not None and center:
        raise refuse("stft align_to_window should only be set when center = false")
    if return_complex is None and not is_complex:
        raise refuse(
            "stft requires the return_complex parameter be given for real inputs",
            "write return_complex=True",
        )
    if return_complex is False:
        _warn(
            "stft with return_complex=False is deprecated",
            "torch.view_as_real(torch.stft(..., return_complex=True)) gives the same",
        )
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise refuse(_ONE_SIDE)
    frames = _frames("stft", input, n_fft, hop_length, win_length, window)
    if frames.hop <= 0:
        raise refuse(f"stft: expected hop_length > 0, but got hop_length={frames.hop}")
    signal = input if input.ndim == 2 else input[None]
    if center:
        half = n_fft // 2
        signal = pad(signal[None], (half, half), pad_mode)[0]
    if not 0 < n_fft <= signal.shape[1]:
        raise refuse(f"stft: expected 0 < n_fft <= {signal.shape[1]}, but got n_fft={n_fft}")
    cut = signal.unfold(-1, n_fft, frames.hop) * frames.window
    transform = rfft if onesided else fft
    spectrum = transform(cut, norm="ortho" if normalized else None).transpose(1, 2)
    spectrum = spectrum if input.ndim == 2 else spectrum[0]
    return traced.view_as_real(spectrum) if return_complex is False else spectrum


@native
def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, normalized: bool = False,
    onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal of which `stft` gave the input: frames are added up, and divided by the sum of
    squared windows (Griffin and Lim 1984, "Signal estimation from modified short-time Fourier
    transform", equation 6).

    Args:
        input: (frequencies, frames) or (batch, frequencies, frames), complex.
        n_fft: The length of a frame; this and the others as they were given to `stft`.
        hop_length: How far apart frames begin.
        win_length: The length of the window.
        window: Weights.
        center: Whether the signal had been continued, which is cut off again.
        normalized: Whether the spectrum was divided by the root of `n_fft`.
        onesided: Whether frequencies that stand twice were left out.
        length: How long the signal is made, by cutting or zeros; what the frames hold if None.
        return_complex: Whether the signal is complex.

    Raises:
        InvalidArgument: Lengths that do not fit, or windows that leave places out.

    >>> import lamina
    >>> signal, window = lamina.arange(8.0), lamina.hann_window(4)
    >>> spectrum = lamina.stft(signal, 4, window=window, return_complex=True)
    >>> lamina.allclose(lamina.istft(spectrum, 4, window=window), signal, atol=1e-6)
    True
    """
    _check_spectrum(input)
    spectrum = input if input.ndim == 3 else input[None]
    onesided = spectrum.shape[1] != n_fft if onesided is None else onesided
    if onesided and (return_complex or (window is not None and window.is_complex())):
        raise refuse(_ONE_SIDE)
    frames = _frames("istft", input, n_fft, hop_length, win_length, window)
    if not 0 < frames.hop <= (win_length or n_fft):
        raise refuse(f"istft: expected 0 < hop_length <= win_length, but got {frames.hop}")
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if spectrum.shape[1] != wanted:
        formula = "n_fft / 2 + 1" if onesided else "n_fft"
        raise refuse(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match {formula} when onesided={onesided}, but got {spectrum.shape[1]}"
        )
    norm, stretches = "ortho" if normalized else None, spectrum.transpose(1, 2)
    if return_complex:
        cut = ifft(stretches, norm=norm)
    else:  # the second half of a real signal's frequencies says nothing new
        cut = irfft(stretches[..., : n_fft // 2 + 1], n_fft, norm=norm)
    signal = _added_up(cut, frames, center, length)
    return signal if input.ndim == 3 else signal[0]


def _check_spectrum(input: Any) -> None:
    check_tensors("istft", ("input", input))
    if not input.is_complex():
        raise refuse(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True.",
            "torch.view_as_complex makes one of real and imaginary parts",
        )
    if input.ndim not in (2, 3) or not input.numel():
        raise refuse(
            "istft: expected a tensor with 2 or 3 dimensions and elements: input tensor cannot be "
            f"empty, but got shape {list(input.shape)}"
        )


def _added_up(cut: Tensor, frames: _Frames, center: bool, length: int | None) -> Tensor:
    """The signals (batch, length) of frames (batch, frames, n_fft)."""
    n_fft, hop, window = frames
    total = n_fft + hop * (cut.shape[1] - 1)
    signal = unfold_backward(cut * window, (cut.shape[0], total), 1, n_fft, hop)
    squares = (window * window).expand(1, *cut.shape[1:])
    weight = unfold_backward(squares, (1, total), 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = total - start if length is None else start + length
    signal, weight = signal[:, start:end], weight[:, start:end]
    lowest = 1.0 if weight.is_meta or not weight.numel() else float(weight.detach().abs().min())
    if lowest <= 1e-11:
        raise refuse(
            f"istft: window overlap add min: {lowest}: some places of the signal are in no window",
            "use center=True, a shorter hop_length, or a window that is not zero at its ends",
        )
    signal = signal / weight
    missing = 0 if length is None else length - signal.shape[1]
    if missing > 0:
        _warn(
            "The length of signal is shorter than the length parameter. Result is being padded "
            "with zeros in the tail.",
            "check `center` and `hop_length`",
        )
        signal = constant_pad_nd(signal, (0, missing))
    return signal
