"""Special functions beside mpmath, to the errors their chapters state; signals beside PyTorch."""

import numpy as np
import pytest
import torch
from mpmath import mp, mpf

import lamina

RANDOM = np.random.default_rng(0)


def near(*ranges, count=40):
    return np.concatenate([RANDOM.uniform(low, high, count) for low, high in ranges])


def scaled(low, high, count=40):
    return 10.0 ** RANDOM.uniform(low, high, count)


def wave(x, value):
    """The height of a Bessel function's wave; the value itself before the first."""
    return max(abs(value), mp.sqrt(2 / (mp.pi * abs(x)))) if abs(x) > 1 else abs(value)


def airy_scale(x, value):
    zeta = mp.sqrt(abs(x)) ** 3 * 2 / 3
    height = abs(value) if x > -1 else abs(x) ** mpf(-0.25)
    return height * max(1, zeta * mpf("0.15"))


def relative(x, value):
    return abs(value)


def tail(x, value):
    return abs(value) * max(1, x * x / 50)


both = np.concatenate([near((1e-3, 8), (8, 60)), -near((1e-3, 8), (8, 60)), scaled(-8, 2)])
right = np.concatenate([near((1e-3, 8), (8, 60)), scaled(-8, 2.5)])
TABLE = [
    # name, in mpmath, where, error is measured by, largest error
    ("i0", lambda x: mp.besseli(0, x), both, relative, 3e-15),
    ("i1", lambda x: mp.besseli(1, x), both, relative, 3e-15),
    ("i0e", lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), both, relative, 3e-15),
    ("i1e", lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), both, relative, 3e-15),
    ("modified_bessel_k0", lambda x: mp.besselk(0, x), right, relative, 3e-15),
    ("modified_bessel_k1", lambda x: mp.besselk(1, x), right, relative, 3e-15),
    ("scaled_modified_bessel_k0", lambda x: mp.besselk(0, x) * mp.exp(x), right, relative, 3e-15),
    ("scaled_modified_bessel_k1", lambda x: mp.besselk(1, x) * mp.exp(x), right, relative, 3e-15),
    ("bessel_j0", lambda x: mp.besselj(0, x), both, wave, 3e-15),
    ("bessel_j1", lambda x: mp.besselj(1, x), both, wave, 3e-15),
    ("bessel_y0", lambda x: mp.bessely(0, x), right, lambda x, y: max(wave(x, y), 0.3), 3e-15),
    ("bessel_y1", lambda x: mp.bessely(1, x), right, wave, 3e-15),
    ("spherical_bessel_j0", lambda x: mp.sin(x) / x, near((0.01, 3)), relative, 1e-15),
    ("airy_ai", mp.airyai, near((-30, 2), (2, 90), (-3, 3)), airy_scale, 4e-15),
    ("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), near((-26, 5), (5, 1e4)), relative, 1e-14),
    ("ndtr", mp.ncdf, near((-37, 8), (-5, 5)), tail, 1e-14),
    ("log_ndtr", lambda x: mp.log(mp.ncdf(x)), near((-37, 8), (-5, 5)), relative, 1e-14),
    (
        "ndtri",
        lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1),
        near((0.01, 0.99)),
        lambda x, value: max(abs(value), mpf(0.1)),
        1e-14,
    ),
    ("entr", lambda x: -x * mp.log(x), near((0.01, 0.9), (1.1, 9)), relative, 1e-15),
]


@pytest.mark.parametrize(
    ("name", "exact", "where", "scale", "bound"), TABLE, ids=lambda v: str(v)[:9]
)
def test_errors_are_as_stated(name, exact, where, scale, bound):
    got = getattr(lamina.special, name)(lamina.tensor(where)).numpy()
    with mp.workdps(40):
        for x, value in zip(where.tolist(), got.tolist(), strict=True):
            wanted = exact(mpf(x))
            assert abs(value - wanted) <= bound * scale(mpf(x), wanted), (x, value, wanted)


def test_errors_of_zeta():
    s, q = RANDOM.uniform(1.01, 40, 40), scaled(-2, 2, 40)
    got = lamina.special.zeta(lamina.tensor(s), lamina.tensor(q)).numpy()
    with mp.workdps(110):  # mpmath's digits here are those after the point
        for a, b, value in zip(s.tolist(), q.tolist(), got.tolist(), strict=True):
            assert abs(value - mp.zeta(mpf(a), mpf(b))) <= 1e-14 * value, (a, b)


def test_errors_of_incomplete_gamma_functions():
    a = scaled(-2, 2, 80)
    x = np.concatenate(
        [
            a[:40] * 10.0 ** RANDOM.uniform(-0.5, 0.5, 40),
            np.abs(a[40:] + RANDOM.normal(size=40) * np.sqrt(a[40:])),
        ]
    )
    lower = lamina.igamma(lamina.tensor(a), lamina.tensor(x)).numpy()
    upper = lamina.igammac(lamina.tensor(a), lamina.tensor(x)).numpy()
    with mp.workdps(40):
        for k in range(80):
            p = mp.gammainc(mpf(a[k]), 0, mpf(x[k]), regularized=True)
            value, wanted = (lower[k], p) if p < 0.5 else (upper[k], 1 - p)
            size = 3e-14 * max(1, -mp.log(wanted) / 100)
            assert abs(value - wanted) <= max(size * wanted, 1e-14 if a[k] < 2 else 0), (a[k], x[k])
            assert abs(lower[k] - p) <= 1e-14
            assert abs(upper[k] - (1 - p)) <= 1e-14


NAMES = [row[0] for row in TABLE] + ["digamma", "gammaln", "erfinv", "expit", "sinc", "log1p"]
ODD = [0.0, -0.0, 1.0, -1.0, 0.3, -0.5, 2.0, 5.0, float("nan"), 88.0, -88.0, 1e-10]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16", "bfloat16"])
def test_values_and_dtypes_at_odd_places(name, dtype):
    numbers = [n for n in ODD if n == n and n == int(n)] if dtype == "int64" else ODD
    try:
        wanted = getattr(torch.special, name)(torch.tensor(numbers, dtype=getattr(torch, dtype)))
    except (NotImplementedError, RuntimeError):
        return  # PyTorch has no halves here
    got = getattr(lamina.special, name)(lamina.tensor(numbers, dtype=getattr(lamina, dtype)))
    assert str(got.dtype) == str(wanted.dtype)
    rtol = {"float16": 2e-3, "bfloat16": 1.6e-2}.get(dtype, 3e-6)
    np.testing.assert_allclose(got.double().numpy(), wanted.double().numpy(), rtol=rtol, atol=2e-7)


def asked(call):
    """A result as numbers and what it depends on, from one library and the other."""
    found = []
    for module in (lamina, torch):
        with_grad = module.tensor(np.linspace(-1, 2, 48).reshape(2, 24) ** 2, requires_grad=True)
        made = call(module, with_grad)
        made = module.view_as_real(made) if made.is_complex() else made
        (made * module.arange(made.numel()).reshape(made.shape)).sum().backward()
        found.append((made.detach().numpy(), with_grad.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def spectrum(module, x, **settings):
    window = module.hann_window(6, dtype=module.float64)
    return module.stft(x, 8, win_length=6, window=window, return_complex=True, **settings)


SETTINGS = [
    {}, {"center": False}, {"hop_length": 3}, {"normalized": True}, {"onesided": False},
    {"pad_mode": "constant"}, {"center": False, "align_to_window": False},
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS)
def test_stft_and_its_gradient(settings):
    asked(lambda module, x: spectrum(module, x, **settings))


@pytest.mark.parametrize("settings", [{}, {"length": 20}, {"normalized": True}, {"onesided": True}])
def test_istft_and_its_gradient(settings):
    def call(module, x):
        window = module.hamming_window(6, dtype=module.float64)
        again = {key: value for key, value in settings.items() if key != "length"}
        made = module.stft(x, 8, 2, 6, window, return_complex=True, **again)
        return module.istft(made, 8, 2, 6, window, **settings)

    asked(call)


def test_cov_and_corrcoef_and_their_gradients():
    asked(lambda module, x: module.cov(x))
    asked(lambda module, x: module.cov(x, correction=0, aweights=x[0].detach() + 1))
    asked(lambda module, x: x.cov(fweights=module.arange(24) + 1))
    asked(lambda module, x: module.corrcoef(x))
    asked(lambda module, x: x.T[:3].corrcoef())


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows_of_the_front_door(name, periodic):
    for length in (0, 1, 2, 5, 400):
        ours = getattr(lamina, f"{name}_window")(length, periodic)
        theirs = getattr(torch, f"{name}_window")(length, periodic)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("bartlett", {}), ("blackman", {}), ("cosine", {}), ("exponential", {"tau": 2.0}),
        ("gaussian", {"std": 3.0}), ("general_cosine", {"a": [0.4, 0.3, 0.2]}),
        ("general_hamming", {"alpha": 0.6}), ("hamming", {}), ("hann", {}),
        ("kaiser", {"beta": 5.0}), ("nuttall", {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sym", [True, False])
def test_windows_of_signal(name, settings, sym):
    for length in (0, 1, 2, 5, 64):
        ours = getattr(lamina.signal.windows, name)(
            length, sym=sym, dtype=lamina.float64, **settings
        )
        theirs = getattr(torch.signal.windows, name)(
            length, sym=sym, dtype=torch.float64, **settings
        )
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("space", ["special", "signal.windows"])
def test_all_public_names_are_there(space):
    ours, theirs = lamina, torch
    for part in space.split("."):
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    assert set(ours.__all__) == set(theirs.__all__)
