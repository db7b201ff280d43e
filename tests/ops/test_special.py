"""Special functions: by identities that tie them together, and at the ends of their domains."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina import special

POSITIVE = st.floats(1e-3, 60.0)
REAL = st.floats(-30.0, 30.0)
INF, NAN = float("inf"), float("nan")


def f64(*values):
    return lamina.tensor(values, dtype=lamina.float64)


def value(function, *args):
    """A function of numbers, as a number."""
    return function(*[f64(a) for a in args]).item()


def close(got, wanted, rtol=1e-13, atol=0.0):
    assert got == pytest.approx(wanted, rel=rtol, abs=atol)


@given(POSITIVE)
def test_wronskian_of_modified_bessel_functions(x):
    # DLMF 10.28.2, with the exponential factors cancelled
    i0, i1 = value(special.i0e, x), value(special.i1e, x)
    k0, k1 = (
        value(special.scaled_modified_bessel_k0, x),
        value(special.scaled_modified_bessel_k1, x),
    )
    close(i0 * k1 + i1 * k0, 1 / x)


@given(st.floats(1e-2, 300.0))
def test_wronskian_of_bessel_functions(x):
    # DLMF 10.5.2
    j0, j1 = value(special.bessel_j0, x), value(special.bessel_j1, x)
    y0, y1 = value(special.bessel_y0, x), value(special.bessel_y1, x)
    close(j1 * y0 - j0 * y1, 2 / (math.pi * x), 1e-12)


@given(st.floats(-8.0, 1.9) | st.floats(2.1, 8.0))
def test_airy_solves_its_equation(x):
    # y'' = x y, by differences of fourth order
    h = 0.01
    y = special.airy_ai(f64(*(x + k * h for k in (-2, -1, 0, 1, 2)))).numpy()
    second = float(np.dot(y, [-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12])) / h**2
    close(second, x * y[2], 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        # A&S tables 9.1, 9.8, 10.11
        ("bessel_j0", 2.0, 0.223890779141235), ("bessel_j1", 2.0, 0.5767248078),
        ("bessel_y0", 2.0, 0.510375672649745), ("bessel_y1", 2.0, -0.1070324315),
        ("i0e", 2.0, 0.3085083225), ("i1e", 2.0, 0.2152692892),
        ("airy_ai", 1.0, 0.13529242), ("airy_ai", -1.0, 0.53556088),
        ("spherical_bessel_j0", 2.0, math.sin(2.0) / 2.0), ("spherical_bessel_j0", 0.0, 1.0),
        ("ndtr", 0.0, 0.5), ("ndtri", 0.975, 1.959963984540054), ("erfcx", 0.0, 1.0),
        ("entr", math.e, -math.e), ("entr", 0.0, 0.0), ("entr", -1.0, -INF),
    ],
)  # fmt: skip
def test_tabulated_values(name, x, wanted):
    close(value(getattr(special, name), x), wanted, 3e-8)


@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        ("i0", INF, INF), ("i1", -INF, -INF), ("i0e", INF, 0.0), ("bessel_j0", -INF, 0.0),
        ("bessel_y0", 0.0, -INF), ("bessel_y1", -1.0, NAN), ("modified_bessel_k0", 0.0, INF),
        ("modified_bessel_k1", -1.0, NAN), ("airy_ai", INF, 0.0), ("erfcx", -INF, INF),
        ("erfcx", INF, 0.0), ("ndtri", 0.0, -INF), ("ndtri", 1.0, INF), ("ndtri", 1.5, NAN),
        ("log_ndtr", -INF, -INF), ("bessel_j0", NAN, NAN), ("erfcx", NAN, NAN),
    ],
)  # fmt: skip
def test_ends_of_domains(name, x, wanted):
    got = value(getattr(special, name), x)
    assert got == wanted or (math.isnan(got) and math.isnan(wanted))


@given(REAL)
def test_log_ndtr_is_the_logarithm(x):
    close(value(special.log_ndtr, x), math.log(value(special.ndtr, x)), 1e-11, 1e-15)


@given(st.floats(-37.0, 5.0))
def test_ndtri_is_the_inverse(x):
    close(value(special.ndtri, value(special.ndtr, x)), x, 1e-9, 1e-9)


@given(st.floats(0.01, 300.0), st.floats(0.01, 600.0))
def test_incomplete_gamma_functions_complement_and_recur(a, x):
    lower, upper = value(lamina.igamma, a, x), value(lamina.igammac, a, x)
    close(lower + upper, 1.0, 1e-14)
    # DLMF 8.8.5
    step = math.exp(a * math.log(x) - x - math.lgamma(a + 1))
    close(value(lamina.igamma, a + 1, x), lower - step, 1e-11, 1e-13)


@given(POSITIVE)
def test_incomplete_gamma_functions_of_order_one(x):
    close(value(lamina.igammac, 1.0, x), math.exp(-x), 1e-12)
    close(value(lamina.igamma, 0.5, x), math.erf(math.sqrt(x)), 1e-13)


def test_incomplete_gamma_at_the_ends():
    a, x = f64(0, 0, 2, 2, INF, -1, 2), f64(0, 1, 0, INF, 2, 1, -1)
    expected = [NAN, 1, 0, 1, 0, NAN, NAN]
    np.testing.assert_array_equal(lamina.igamma(a, x).numpy(), expected)
    np.testing.assert_array_equal(lamina.igammac(a, x).numpy(), 1 - np.array(expected))


@given(st.floats(1.05, 40.0), POSITIVE)
def test_zeta_loses_one_term(s, q):
    # DLMF 25.11.3
    close(value(special.zeta, s, q), value(special.zeta, s, q + 1) + q**-s, 1e-13)


def test_zeta_at_known_places():
    close(value(special.zeta, 2.0, 1.0), math.pi**2 / 6)
    close(value(special.zeta, 4.0, 1.0), math.pi**4 / 90)
    close(value(special.zeta, 2.0, -0.5), 4 + math.pi**2 / 2)
    assert value(special.zeta, 1.0, 3.0) == value(special.zeta, 2.0, -3.0) == INF
    assert math.isnan(value(special.zeta, 2.5, -0.5))
    close(special.zeta(2, f64(1.0)).item(), math.pi**2 / 6)


@given(st.floats(0.0, 3.0), st.integers(0, 40))
def test_chebyshev_polynomials_are_cosines(t, n):
    x = f64(math.cos(t))
    close(special.chebyshev_polynomial_t(x, n).item(), math.cos(n * t), 1e-11, 1e-12)
    close(
        special.chebyshev_polynomial_u(x, n).item() * math.sin(t),
        math.sin((n + 1) * t),
        1e-11,
        1e-12,
    )
    close(
        special.chebyshev_polynomial_v(x, n).item() * math.cos(t / 2), math.cos((n + 0.5) * t),
        1e-11, 1e-12,
    )  # fmt: skip
    close(
        special.chebyshev_polynomial_w(x, n).item() * math.sin(t / 2), math.sin((n + 0.5) * t),
        1e-11, 1e-12,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("hermite_polynomial_h", np.polynomial.hermite.hermval),
        ("hermite_polynomial_he", np.polynomial.hermite_e.hermeval),
        ("laguerre_polynomial_l", np.polynomial.laguerre.lagval),
        ("legendre_polynomial_p", np.polynomial.legendre.legval),
        ("chebyshev_polynomial_t", np.polynomial.chebyshev.chebval),
        (
            "shifted_chebyshev_polynomial_t",
            lambda x, c: np.polynomial.chebyshev.chebval(2 * x - 1, c),
        ),
    ],
)
def test_polynomials_by_numpy(name, series):
    x = np.linspace(-2, 2, 9)
    for n in range(8):
        wanted = series(x, [0.0] * n + [1.0])
        got = getattr(special, name)(lamina.tensor(x), n)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_polynomials_take_a_degree_for_each_element():
    x, n = f64(0.5, 0.5, 0.5), lamina.tensor([-1, 0, 2])
    assert special.chebyshev_polynomial_t(x, n).tolist() == [0.0, 1.0, -0.5]
    assert special.chebyshev_polynomial_t(0.5, n.double()).tolist() == [0.0, 1.0, -0.5]


def test_functions_without_a_written_derivative_say_so():
    a = f64(2.0).requires_grad_()
    with pytest.raises(NotImplementedError, match="igamma"):
        lamina.igamma(a, f64(1.0)).backward()
    assert not special.bessel_j0(a).requires_grad


def test_multigammaln_is_a_sum():
    wanted = 0.5 * math.log(math.pi) + math.lgamma(3.0) + math.lgamma(2.5)
    close(value(lambda x: special.multigammaln(x, 2), 3.0), wanted)
    with pytest.raises(RuntimeError, match="p has to be greater than or equal to 1"):
        lamina.mvlgamma(f64(3.0), 0)


def test_products_with_logarithms_have_their_limits():
    x, y = f64(0.0, 0.0, 2.0), f64(-1.0, NAN, 1.0)
    np.testing.assert_array_equal(special.xlog1py(x, y).numpy(), [0.0, NAN, 2 * math.log(2)])
    assert special.xlog1py(2.0, f64(1.0)).item() == 2 * math.log(2)
    assert special.xlog1py(f64(2.0), 1.0).item() == 2 * math.log(2)


@pytest.mark.parametrize("name", ["i0", "erfcx", "bessel_j1", "ndtri"])
def test_integers_become_floats_and_halves_stay(name):
    function = getattr(special, name)
    assert function(lamina.tensor([0, 1])).dtype is lamina.float32
    half = function(lamina.tensor([0.25, 0.5], dtype=lamina.float16))
    assert half.dtype is lamina.float16
    single = function(lamina.tensor([0.25, 0.5]))
    np.testing.assert_allclose(half.float().numpy(), single.numpy(), rtol=1e-3)


def test_methods_and_their_forms_in_place():
    x = f64(0.5, 2.0)
    for name in ("i0", "igamma", "igammac"):
        args = () if name == "i0" else (f64(1.0, 2.0),)
        changed = x.clone()
        assert getattr(changed, name + "_")(*args) is changed
        assert changed.tolist() == getattr(x, name)(*args).tolist()
    assert x.mvlgamma_(1).tolist() == pytest.approx([math.lgamma(0.5), 0.0])


# --- gamma ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [9, 1 << 16])
def test_lgamma_is_exact_beside_its_zero(size):
    """Its Taylor series at 1 (DLMF 5.7.3)."""
    d = np.resize([-(2.0**-11), 2.0**-11, -(2.0**-14), 2.0**-14, 0.0], size)
    zetas = 1.6449340668482264, 1.2020569031595943, 1.0823232337111382, 1.0369277551433699
    slopes = [-0.57721566490153286, *((-1) ** k * z / k for k, z in enumerate(zetas, start=2))]
    expected = np.polynomial.polynomial.polyval(d, [0, *slopes])
    for _ in range(3):  # the last ones by machine code
        found = lamina.lgamma(lamina.from_numpy(1 + d))
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-15)


@pytest.mark.parametrize("size", [99, 1 << 16])
def test_digamma_of_float32_has_its_precision(size):
    x = np.linspace(0.01, 9, size, dtype=np.float32)
    expected = lamina.digamma(lamina.from_numpy(x.astype(np.float64))).numpy()
    found = lamina.digamma(lamina.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, expected, rtol=6e-8)


@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 3000])
@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions_of_few_and_of_many_numbers(name, count):
    for kind in (lamina.float32, lamina.float64):
        x = lamina.linspace(-4, 4, count, dtype=kind)
        expected = [getattr(math, name)(value) for value in x.tolist()]
        tolerance = 1e-6 if kind is lamina.float32 else 1e-14
        found = getattr(lamina, name)(x)
        assert found.dtype is kind
        np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=0)
    edges = lamina.tensor([np.inf, -np.inf, np.nan, -0.0])
    assert np.array_equal(
        getattr(lamina, name)(edges).numpy(),
        [getattr(math, name)(value) for value in edges.tolist()],
        equal_nan=True,
    )
    turned = lamina.rand(3, 2).t()
    assert getattr(lamina, name)(turned).stride() == (1, 2)
