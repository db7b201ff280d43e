"""The elementary functions of machine code, measured against references of a wider type."""

import math

import numpy as np
import pytest
from codegen.machines import compiled, machine, ulps

from lamina.ops import error_function

pytestmark = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")

MOST_ULPS = {
    "exp": 1.0, "expm1": 1.9, "log": 1.0, "log1p": 1.6, "tanh": 2.6, "sin": 1.7, "cos": 1.7,
    "power": 0.52, "erf_of": 5.0, "erfc_of": 4.0,
}  # fmt: skip
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 88.72, 88.73, -87.3, -103.9, -104.0]
EDGES += [1e-45, -1e-45, 1.1754944e-38, 1e30, -1e30, 3e38, 2.0**40, 2.0**41]


def everywhere(kind, size=200_000):
    """Numbers of all exponents, more of those where functions bend, and the edges."""
    rng = np.random.default_rng(5)
    whole = np.uint32 if kind == np.float32 else np.uint64
    bits = rng.integers(0, np.iinfo(whole).max, size, dtype=whole, endpoint=True).view(kind)
    reaches = (1e-3, 2, 20, 110, 750, 1e5)
    usual = [rng.uniform(-reach, reach, size).astype(kind) for reach in reaches]
    return np.concatenate([bits, *usual, np.array(EDGES, kind)])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    "name", [name for name in MOST_ULPS if hasattr(np, name) and name != "power"]
)
def test_functions_are_exact_to_a_few_units_of_the_last_place(name, kind):
    function, x = getattr(np, name), everywhere(kind)
    wide = np.float64 if kind == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        (actual,) = compiled(function, x, native=True)(x)
        assert ulps(actual, function(x.astype(wide))).max() <= MOST_ULPS[name]


def test_powers_are_exact_to_half_a_unit_of_the_last_place():
    rng = np.random.default_rng(6)
    edges = np.array([*EDGES, 2, 3, -2, -3, 0.5, -0.5], np.float32)
    x = np.concatenate([everywhere(np.float32, 50_000), np.repeat(edges, edges.size)])
    y = rng.permutation(everywhere(np.float32, 50_000))
    with np.errstate(all="ignore"):
        whole = np.rint(y[: y.size // 2])  # half of the exponents are whole numbers
    y = np.concatenate([whole, y[y.size // 2 :], np.tile(edges, edges.size)])
    with np.errstate(all="ignore"):
        (actual,) = compiled(np.power, x, y, native=True)(x, y)
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
        assert ulps(actual, expected).max() <= MOST_ULPS["power"]


@pytest.mark.parametrize("name", ["sqrt", "floor", "ceil", "trunc", "rint", "negative", "sign"])
def test_exact_functions_are_exact(name):
    function, x = getattr(np, name), everywhere(np.float32)
    with np.errstate(all="ignore"):
        (actual,) = compiled(function, x, native=True)(x)
        np.testing.assert_array_equal(actual, function(x))


@pytest.mark.parametrize("function", [error_function.erf_of, error_function.erfc_of])
def test_the_error_function_is_as_exact_in_machine_code(function):
    """Its steps are NumPy's; the reference is the C library's, in float64."""
    x = everywhere(np.float32, 20_000)
    x = x[np.isfinite(x)]
    reference = math.erf if function is error_function.erf_of else math.erfc
    expected = np.array([reference(each) for each in x.tolist()])
    with np.errstate(all="ignore"):
        (actual,) = compiled(function, x, native=True)(x)
        assert ulps(actual, expected).max() <= MOST_ULPS[function.__name__]
