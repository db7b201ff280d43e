"""Fourier transforms: NumPy's numbers, inverses, adjoints, and precision kept."""

import numpy as np
import pytest

import lamina

T = lamina.fft
REAL = ["fft", "ifft", "rfft", "ihfft", "fft2", "rfft2", "fftn", "rfftn"]
COMPLEX = ["fft", "ifft", "irfft", "hfft", "ifft2", "irfft2", "ifftn", "irfftn"]


def values(is_complex):
    random = np.random.default_rng(0)
    x = random.normal(size=(3, 4, 5))
    return x + 1j * random.normal(size=x.shape) if is_complex else x


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize(
    ("name", "is_complex"), [(n, False) for n in REAL] + [(n, True) for n in COMPLEX]
)
def test_transforms_are_numpys(name, is_complex, norm):
    x = values(is_complex)
    expected = getattr(np.fft, name)(x, norm=norm)
    found = getattr(T, name)(lamina.from_numpy(x), norm=norm)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [3, 5, 8])
@pytest.mark.parametrize(("name", "is_complex"), [("fft", False), ("irfft", True), ("hfft", True)])
def test_the_derivative_is_the_adjoint(name, is_complex, n):
    x = lamina.from_numpy(values(is_complex)).requires_grad_()
    y = getattr(T, name)(x, n=n, dim=1)
    random = np.random.default_rng(1)
    g = random.normal(size=y.shape) + (1j * random.normal(size=y.shape) if y.is_complex() else 0)
    (back,) = lamina.autograd.grad(y, x, lamina.from_numpy(g))
    out, along = np.vdot(g, y.detach().numpy()), np.vdot(back.numpy(), x.detach().numpy())
    assert out.real == pytest.approx(along.real, rel=1e-10)


def test_single_precision_stays_single():
    x = lamina.ones(4)
    assert T.fft(x).dtype is lamina.complex64
    assert T.irfft(T.rfft(x)).dtype is lamina.float32
    assert T.fft(lamina.arange(4)).dtype is lamina.complex64


def test_shifts_undo_each_other():
    x = lamina.arange(5)
    assert T.fftshift(T.fftfreq(4)).tolist() == [-0.5, -0.25, 0.0, 0.25]
    assert T.ifftshift(T.fftshift(x)).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("expects a real input tensor, but got ComplexFloat", lambda x: T.rfft(T.fft(x))),
        ("Invalid normalization mode", lambda x: T.fft(x, norm="none")),
        ("Invalid number of data points", lambda x: T.fft(x, n=0)),
        ("FFT dims must be unique", lambda x: T.fftn(x, dim=(0, 0))),
    ],
)
def test_what_makes_no_sense_is_refused(text, call):
    with pytest.raises(RuntimeError, match=text):
        call(lamina.ones(4))
