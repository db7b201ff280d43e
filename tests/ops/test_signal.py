"""Windows, short-time Fourier transforms, covariances: beside NumPy, and there and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina.errors import DoubtfulValue
from lamina.signal import windows

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "by_numpy"),
    [
        ("hann", np.hanning), ("hamming", np.hamming), ("blackman", np.blackman),
        ("bartlett", np.bartlett), ("kaiser", lambda n: np.kaiser(n, 12.0)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("length", [0, 1, 2, 7, 16])
def test_windows_by_numpy(name, by_numpy, length):
    symmetric = by_numpy(length)
    function = getattr(lamina, f"{name}_window")
    for made in (function(length, False), getattr(windows, name)(length)):
        assert made.dtype is lamina.float32
        np.testing.assert_allclose(made.numpy(), symmetric, atol=1e-7)
    # A period is a symmetric window that is one place longer, without its end.
    period = by_numpy(length + 1)[:length]
    for made in (function(length), getattr(windows, name)(length, sym=False)):
        np.testing.assert_allclose(made.numpy(), period if length > 1 else symmetric, atol=1e-7)


def test_windows_of_signal_alone():
    np.testing.assert_allclose(windows.cosine(3).numpy(), np.sin(np.pi * np.array([1, 3, 5]) / 6))
    np.testing.assert_allclose(
        windows.gaussian(3, std=2.0).numpy(), np.exp([-1 / 8, 0, -1 / 8]), rtol=1e-6
    )
    np.testing.assert_allclose(
        windows.exponential(3, center=0, tau=2.0, sym=False).numpy(),
        np.exp([0, -0.5, -1]),
        rtol=1e-6,
    )
    np.testing.assert_allclose(windows.nuttall(3).numpy(), [0.0003628, 1, 0.0003628], atol=1e-7)


def test_windows_take_dtypes_and_devices():
    made = lamina.hann_window(4, dtype=lamina.float16, requires_grad=True)
    assert made.dtype is lamina.float16
    assert made.requires_grad
    assert lamina.hann_window(4, device="meta").shape == (4,)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: lamina.hann_window(-1), RuntimeError, "non-negative window_length"),
        (lambda: lamina.hann_window(3, dtype=lamina.int64), RuntimeError, "floating point dtypes"),
        (lambda: lamina.hann_window(2.5), TypeError, "must be int, not float"),
        (lambda: windows.hann(-1), ValueError, "non-negative window length"),
        (lambda: windows.hann(3, dtype=lamina.float16), ValueError, "float32 or float64"),
        (lambda: windows.gaussian(3, std=0), ValueError, "Standard deviation must be positive"),
        (lambda: windows.exponential(3, tau=0), ValueError, "Tau must be positive"),
        (lambda: windows.exponential(3, center=1.0), ValueError, "Center must be None"),
        (lambda: windows.kaiser(3, beta=-1), ValueError, "beta must be non-negative"),
        (lambda: windows.general_cosine(3, a=[]), ValueError, "cannot be empty"),
        (lambda: windows.general_cosine(3, a=3), TypeError, "must be a list/tuple"),
    ],
)
def test_windows_refuse(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


SIGNAL = lamina.tensor(RANDOM.normal(size=(2, 40)))
WINDOW = lamina.hann_window(8, dtype=lamina.float64)


def test_stft_is_the_transform_of_windowed_stretches():
    got = lamina.stft(SIGNAL, 8, 3, window=WINDOW, center=False, return_complex=True)
    for m in range(got.shape[2]):
        stretch = SIGNAL.numpy()[:, 3 * m : 3 * m + 8] * WINDOW.numpy()
        np.testing.assert_allclose(got[:, :, m].numpy(), np.fft.rfft(stretch), atol=1e-12)


@given(
    n_fft=st.integers(4, 16), hop=st.integers(1, 4), length=st.integers(20, 50),
    normalized=st.booleans(), onesided=st.booleans(),
)  # fmt: skip
def test_istft_gives_the_signal_back(n_fft, hop, length, normalized, onesided):
    signal = lamina.tensor(RANDOM.normal(size=length))
    window = lamina.tensor(RANDOM.uniform(0.5, 1.5, n_fft))
    settings = {"window": window, "normalized": normalized, "onesided": onesided}
    spectrum = lamina.stft(signal, n_fft, hop, return_complex=True, **settings)
    frames = 1 + length // hop if n_fft % 2 == 0 else 1 + (length - 1) // hop
    assert spectrum.shape == (n_fft // 2 + 1 if onesided else n_fft, frames)
    reached = min(length, n_fft // 2 + hop * (frames - 1))
    back = lamina.istft(spectrum, n_fft, hop, length=reached, **settings)
    np.testing.assert_allclose(back.numpy(), signal.numpy()[:reached], atol=1e-10)


def test_stft_and_back_of_complex_signals_by_gradient():
    signal = lamina.tensor(RANDOM.normal(size=20) + 1j * RANDOM.normal(size=20), requires_grad=True)

    def there_and_back(x):
        spectrum = lamina.stft(x, 6, 2, window=WINDOW[1:7])
        return lamina.istft(spectrum, 6, 2, window=WINDOW[1:7], return_complex=True)

    assert lamina.autograd.gradcheck(there_and_back, signal)


def test_stft_warns_of_what_is_hardly_meant():
    with pytest.warns(DoubtfulValue, match="A window was not provided"):
        lamina.stft(SIGNAL, 8, return_complex=True)
    with pytest.warns(DoubtfulValue, match="return_complex=False is deprecated"):
        parts = lamina.stft(SIGNAL, 8, window=WINDOW, return_complex=False)
    assert parts.shape[-1] == 2
    spectrum = lamina.stft(SIGNAL, 8, window=WINDOW, return_complex=True)
    with pytest.warns(DoubtfulValue, match="shorter than the length parameter"):
        longer = lamina.istft(spectrum, 8, window=WINDOW, length=50)
    assert longer[:, 44:].abs().max() == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "return_complex parameter be given"),
        ({"hop_length": 0, "return_complex": True}, "hop_length > 0"),
        ({"win_length": 9, "return_complex": True}, "0 < win_length <= n_fft"),
        ({"win_length": 7, "return_complex": True}, "window tensor of size equal to win_length"),
        ({"align_to_window": True, "return_complex": True}, "only be set when center = false"),
        (
            {"n_fft": 99, "center": False, "window": lamina.ones(99), "return_complex": True},
            "0 < n_fft",
        ),
    ],
)
def test_stft_refuses(arguments, words):
    arguments = {"n_fft": 8, "window": WINDOW} | arguments
    with pytest.raises(RuntimeError, match=words):
        lamina.stft(SIGNAL, **arguments)


def test_istft_refuses():
    spectrum = lamina.stft(SIGNAL, 8, window=WINDOW, return_complex=True)
    with pytest.raises(RuntimeError, match="complex-valued input"):
        lamina.istft(spectrum.real, 8, window=WINDOW)
    with pytest.raises(RuntimeError, match="window overlap add min"):
        lamina.istft(spectrum, 8, window=WINDOW, center=False)
    with pytest.raises(RuntimeError, match="frequency dimension"):
        lamina.istft(spectrum, 12, window=lamina.ones(12))
    with pytest.raises(RuntimeError, match="0 < hop_length <= win_length"):
        lamina.istft(spectrum, 8, 9, window=WINDOW)


DATA = RANDOM.normal(size=(3, 7))


@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("frequencies", [None, [1, 2, 1, 3, 1, 1, 2]])
@pytest.mark.parametrize("weights", [None, [0.5, 1.0, 0.2, 0.9, 1.0, 0.7, 0.1]])
def test_cov_by_numpy(correction, frequencies, weights):
    wanted = np.cov(DATA, ddof=correction, fweights=frequencies, aweights=weights)
    got = lamina.cov(
        lamina.tensor(DATA), correction=correction,
        fweights=None if frequencies is None else lamina.tensor(frequencies),
        aweights=None if weights is None else lamina.tensor(weights, dtype=lamina.float64),
    )  # fmt: skip
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("data", [DATA, DATA[0], DATA[:1], DATA + 1j * DATA[::-1]])
def test_cov_and_corrcoef_by_numpy(data):
    np.testing.assert_allclose(lamina.cov(lamina.tensor(data)).numpy(), np.cov(data), rtol=1e-12)
    got = lamina.corrcoef(lamina.tensor(data))
    np.testing.assert_allclose(got.numpy(), np.corrcoef(data), rtol=1e-12)


def test_cov_warns_of_too_few_observations():
    with pytest.warns(DoubtfulValue, match="degrees of freedom is <= 0"):
        made = lamina.cov(lamina.ones(2, 1))
    assert made.isnan().all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lamina.cov(lamina.ones(2, 2, 2)), "two or fewer dimensions"),
        (lambda: lamina.corrcoef(lamina.ones(2, 2, 2)), "two or fewer dimensions"),
        (lambda: lamina.cov(lamina.ones(2, 2) > 0), "bool dtype is not supported"),
        (lambda: lamina.cov(lamina.ones(2, 3), fweights=lamina.ones(3)), "integral dtype"),
        (
            lambda: lamina.cov(lamina.ones(2, 3), aweights=lamina.tensor([1, 2, 3])),
            "floating point dtype",
        ),
        (lambda: lamina.cov(lamina.ones(2, 3), fweights=lamina.tensor([1, 2])), "same numel"),
        (
            lambda: lamina.cov(lamina.ones(2, 3), fweights=lamina.tensor([1, 2, -1])),
            "cannot be negative",
        ),
        (
            lambda: lamina.cov(lamina.ones(2, 3), aweights=lamina.ones(1, 3)),
            "one or fewer dimensions",
        ),
    ],
)
def test_cov_refuses(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()
