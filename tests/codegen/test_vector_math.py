"""The elementary functions of machine code, measured against references of a wider type."""

import math

import numpy as np
import pytest
from codegen import references
from codegen.machines import compiled, machine, ulps

from lamina.ops import error_function

pytestmark = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")

MOST_ULPS = {
    "exp": 1.0, "exp2": 1.1, "expm1": 1.9, "log": 1.0, "log2": 1.7, "log10": 1.7, "log1p": 1.6,
    "tanh": 2.6, "sin": 1.0, "cos": 1.0, "tan": 2.5, "arcsin": 1.6, "arccos": 1.1, "arctan": 1.5,
    "sinh": 1.8, "cosh": 1.6, "arcsinh": 2.2, "arccosh": 2.4, "arctanh": 2.4,
}  # fmt: skip
OWN_ULPS = {"erf": 1.1, "erfc": 2.8, "erfinv": 2.8}
BY_STEPS = {"erf": 5.0, "erfc": 5.2, "erfinv": 5.0}
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 88.72, 88.73, -87.3, -103.9, -104.0]
EDGES += [1e-45, -1e-45, 1.1754944e-38, 1e30, -1e30, 3e38, 2.0**40, 2.0**41, 89.41, 0.5, -0.5]


def everywhere(kind, size=100_000):
    """Numbers of all exponents, more of those where functions bend, and the edges."""
    rng = np.random.default_rng(5)
    whole = np.uint32 if kind == np.float32 else np.uint64
    bits = rng.integers(0, np.iinfo(whole).max, size, dtype=whole, endpoint=True).view(kind)
    reaches = (1e-3, 1, 2, 20, 110, 750, 1e5)
    usual = [rng.uniform(-reach, reach, size).astype(kind) for reach in reaches]
    return np.concatenate([bits, *usual, np.array(EDGES, kind)])


def wider(kind):
    """A type in which references are exact enough."""
    return np.float64 if kind == np.float32 else np.longdouble


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", MOST_ULPS)
def test_functions_are_exact_to_a_few_units_of_the_last_place(name, kind):
    function, x = getattr(np, name), everywhere(kind)
    with np.errstate(all="ignore"):
        (actual,) = compiled(function, x, native=True)(x)
        assert ulps(actual, function(x.astype(wider(kind)))).max() <= MOST_ULPS[name]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sin", "tan", "sinh", "arcsin", "arctan", "erf", "erfinv"])
def test_zeros_keep_their_sign(name, kind):
    function = getattr(np, name, None) or getattr(error_function, f"{name}_of")
    x = np.array([0.0, -0.0], kind)
    (actual,) = compiled(function, x, native=True)(x)
    assert np.signbit(actual).tolist() == np.signbit(x).tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_logarithms_of_powers_are_whole_numbers(kind):
    twos = np.array([2.0**k for k in range(-120, 121)], kind)
    tens = np.array([10.0**k for k in range(11 if kind == np.float32 else 23)], kind)
    np.testing.assert_array_equal(compiled(np.log2, twos, native=True)(twos)[0], np.log2(twos))
    np.testing.assert_array_equal(
        compiled(np.log10, tens, native=True)(tens)[0], np.arange(tens.size, dtype=kind)
    )


# --- two operands --------------------------------------------------------------------------------


def pairs(kind):
    """Numbers everywhere beside others, and all edges beside all."""
    rng, edges = np.random.default_rng(6), np.array([*EDGES, 2, 3, -2, -3], kind)
    x = np.concatenate([everywhere(kind, 50_000), np.repeat(edges, edges.size)])
    y = np.concatenate([rng.permutation(everywhere(kind, 50_000)), np.tile(edges, edges.size)])
    return x, y


@pytest.mark.parametrize(("kind", "most"), [(np.float32, 0.52), (np.float64, 0.65)])
def test_powers_are_exact_to_half_a_unit_of_the_last_place(kind, most):
    x, y = pairs(kind)
    with np.errstate(all="ignore"):
        y[: y.size // 4] = np.rint(y[: y.size // 4])  # some of the exponents are whole numbers
        size = np.abs(x)
        middle = slice(y.size // 4, y.size // 2)  # of others the power is neither huge nor tiny
        reach = 700 if kind == np.float64 else 85
        y[middle] = (np.sin(y[middle]) * reach / np.log(size[middle])).astype(kind)
        (actual,) = compiled(np.power, x, y, native=True)(x, y)
        expected = np.power(x.astype(wider(kind)), y.astype(wider(kind)))
        assert ulps(actual, expected).max() <= most


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_whole_powers_of_whole_numbers_are_whole(kind):
    most = 2 ** (24 if kind == np.float32 else 53)
    known = [(x, y) for x in range(1, 2000) for y in range(9) if x**y < most]
    x, y = np.array(known, kind).T.copy()
    (actual,) = compiled(np.power, x, y, native=True)(x, y)
    assert actual.tolist() == [x**y for x, y in known]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_angles_of_points_are_exact(kind):
    x, y = pairs(kind)
    with np.errstate(all="ignore"):
        (actual,) = compiled(np.arctan2, y, x, native=True)(y, x)
        expected = np.arctan2(y.astype(wider(kind)), x.astype(wider(kind)))
    assert ulps(actual, expected).max() <= 2.2
    is_zero = expected == 0
    assert (np.signbit(actual) == np.signbit(expected))[is_zero].all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_logaddexp_is_exact_beside_its_terms(kind):
    """Where the larger number and the logarithm cancel, the result has the error of the terms."""
    x, y = pairs(kind)
    with np.errstate(all="ignore"):
        (actual,) = compiled(np.logaddexp, x, y, native=True)(x, y)
        expected = np.logaddexp(x.astype(wider(kind)), y.astype(wider(kind)))
        size = np.max(np.abs([x, y, expected, 0.7 + 0 * expected]), axis=0).astype(kind)
        allowed = 2 * np.spacing(np.where(np.isfinite(size), size, 1))
        same = actual == expected.astype(kind)
        is_close = np.abs(actual - expected) <= allowed
    assert (same | is_close | (np.isnan(actual) & np.isnan(expected))).all()


# --- the error function --------------------------------------------------------------------------


def for_errors(name, kind):
    """Where the error function and its relatives bend."""
    rng, near = np.random.default_rng(7), everywhere(kind, 3000)
    if name != "erfinv":
        parts = [rng.uniform(-reach, reach, 20_000) for reach in (1, 2, 6, 30)]
    else:
        parts = [rng.uniform(-1, 1, 20_000), 1 - 10.0 ** rng.uniform(-16, 0, 20_000)]
    return np.concatenate([near, *(part.astype(kind) for part in parts)])


def expected_of(name, x, actual):
    """What a relative of the error function gives."""
    reference = getattr(references, name)
    return reference(x, actual) if name == "erfinv" else reference(x)


def test_the_reference_of_the_error_function_is_the_c_librarys():
    x = np.linspace(-6, 27, 2000)
    for name in ("erf", "erfc"):
        found = getattr(references, name)(x).astype(np.float64)
        known = np.array([getattr(math, name)(each) for each in x.tolist()])
        np.testing.assert_allclose(found, known, rtol=4e-16, atol=1e-300)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", OWN_ULPS)
def test_the_error_function_is_exact_in_machine_code_and_by_steps(name, kind, native):
    function, x = getattr(error_function, f"{name}_of"), for_errors(name, kind)
    with np.errstate(all="ignore"):
        (actual,) = compiled(function, x, native=native)(x)
        most = OWN_ULPS if native else BY_STEPS
        assert ulps(actual, expected_of(name, x, actual)).max() <= most[name]


# --- exact functions -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sqrt", "floor", "ceil", "trunc", "rint", "negative", "sign"])
def test_exact_functions_are_exact(name):
    function, x = getattr(np, name), everywhere(np.float32)
    with np.errstate(all="ignore"):
        (actual,) = compiled(function, x, native=True)(x)
        np.testing.assert_array_equal(actual, function(x))
