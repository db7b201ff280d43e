"""Random programs give the same compiled as when NumPy runs them step by step."""

from contextlib import nullcontext

import numpy as np
import pytest
from codegen.machines import WAYS, cutting_small_loops, recorded, ulps
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamina.codegen.executable import Executable
from lamina.codegen.lowering import lower

UNARY = [np.negative, np.exp, np.tanh, np.sin, np.cos, np.sqrt, np.log, np.square, np.absolute]
UNARY += [np.floor, np.sign, lambda x: np.clip(x, -1, 1), lambda x: 1 / x, lambda x: x.T.copy().T]
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum]
BINARY += [lambda x, y: np.where(x > y, x, 2.0), lambda x, y: np.where(np.isnan(x), y, x)]
BINARY += [
    lambda x, y: (x <= y).astype(x.dtype),
    lambda x, y: np.copysign(x, np.where(np.isnan(y), 1, y)),
]
EXACT = {np.negative, np.absolute, np.floor, np.sign}
STEPS = ["unary", "binary", "binary", "write", "slice", "sum", "max", "T", "join"]
SHAPES = [(), (1,), (7,), (16,), (3, 5), (1, 33), (4, 1), (0, 3), (2, 3, 17), (5, 1, 2), (40, 16)]


def arrays(draw, shape, kind):
    """An array with unusual numbers in it, and perhaps with unusual strides."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    layout = draw(st.sampled_from(["rows", "columns", "steps", "backwards"]))
    if not shape:
        return np.array(rng.standard_normal(), kind)
    if layout == "columns":
        array = rng.standard_normal(shape[::-1]).astype(kind).T
    elif layout == "steps":
        array = rng.standard_normal((*shape[:-1], shape[-1] * 2)).astype(kind)[..., ::2]
    else:
        array = rng.standard_normal(shape).astype(kind)
        array = array[..., ::-1] if layout == "backwards" else array
    if array.size > 4 and draw(st.booleans()):
        array.flat[0], array.flat[1], array.flat[2] = np.nan, np.inf, -np.inf
        array.flat[3] = -0.0
    return array


@st.composite
def programs(draw):
    """A function of some arrays, and arrays for it: a chain of random steps."""
    kind = draw(st.sampled_from([np.float32, np.float64]))
    shape = draw(st.sampled_from(SHAPES))
    inputs = [arrays(draw, shape, kind)]
    other = tuple(draw(st.sampled_from([size, 1])) for size in shape)
    inputs.append(arrays(draw, other[draw(st.integers(0, len(other))) :], kind))
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(STEPS),
                st.integers(0, 99), st.integers(0, 99), st.integers(0, 99),
            ),
            min_size=1, max_size=9,
        )
    )  # fmt: skip

    def function(*given):
        known = list(given)
        for what, a, b, c in steps:
            x, y = known[a % len(known)], known[b % len(known)]
            try:
                known += step(what, x, y, c)
            except ValueError:  # shapes that do not go together
                continue
        return tuple(known[2:][-3:]) or (known[0] * 1,)

    return function, inputs


def step(what, x, y, choice):
    if what == "unary":
        return [UNARY[choice % len(UNARY)](x)]
    if what == "binary":
        return [BINARY[choice % len(BINARY)](x, y)]
    if what == "write" and x.ndim and x.shape[-1]:
        half = x[..., : x.shape[-1] // 2 + 1]
        half += 1.5
    elif what == "slice" and x.ndim:
        return [x[..., ::2] * 0.5]
    elif what == "sum":
        return [np.sum(x, axis=choice % x.ndim if x.ndim else None, keepdims=bool(choice % 2))]
    elif what == "max" and x.size and x.ndim:
        return [np.max(x, axis=choice % x.ndim)]
    elif what == "T":
        return [np.transpose(x)]
    elif what == "join" and x.ndim:
        return [np.concatenate([x, y, x + 1][: 2 + choice % 2], axis=choice % x.ndim)]
    return []


@pytest.mark.parametrize("native", [*WAYS, *(["cut"] if True in WAYS else [])])
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs(native, program):
    function, inputs = program
    with np.errstate(all="ignore"):
        recorder, results = recorded(function, *inputs)
        refs = [result.ref for result in results]
        first, second = ([np.array(a, copy=True, order="K") for a in inputs] for _ in "12")
        first = [as_laid(a, i) for a, i in zip(first, inputs, strict=True)]
        second = [as_laid(a, i) for a, i in zip(second, inputs, strict=True)]
        expected = recorder.replay(first, refs)
        with cutting_small_loops() if native == "cut" else nullcontext():
            executable = Executable(lower(recorder.program, refs), native=bool(native))
        actual = executable.run(second)
    for a, e in zip([*actual, *second], [*expected, *first], strict=True):
        close(a, e)


def as_laid(copy, original):
    """A copy with the strides of the original."""
    if copy.strides == original.strides:
        return copy
    span = np.lib.array_utils.byte_bounds(original)
    buffer = np.zeros(span[1] - span[0] + 16, np.uint8)
    start = original.ctypes.data - span[0]
    twin = np.ndarray(original.shape, original.dtype, buffer, start, original.strides)
    twin[...] = original
    return twin


def close(actual, expected):
    """Equal where exact; else near, relative to the largest (sums cancel)."""
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if actual.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
        return
    single = actual.dtype == np.float32
    rtol, atol = (1e-4, 1e-5) if single else (1e-11, 1e-12)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("native", WAYS)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_pointwise_chains_are_equal_to_four_units_of_the_last_place(native, data):
    chain = data.draw(st.lists(st.sampled_from(sorted(EXACT, key=str)), min_size=1, max_size=4))
    last = data.draw(st.sampled_from([np.exp, np.tanh, np.sin, np.log, np.sqrt]))
    shape = data.draw(st.sampled_from([s for s in SHAPES if s]))
    x = arrays(data.draw, shape, np.float32)

    def function(x):
        for operation in chain:
            x = operation(x)
        return last(x)

    with np.errstate(all="ignore"):
        recorder, results = recorded(function, x)
        executable = Executable(lower(recorder.program, [results[0].ref]), native=native)
        (actual,) = executable.run([x])
        assert ulps(actual, function(x.astype(np.float64))).max(initial=0) <= 4


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.bool_])
def test_whole_numbers_and_truth_values(native, kind):
    def function(x, y):
        total = x + y if kind != np.bool_ else x ^ y
        chosen = np.where(x > y, x, total)
        return chosen, (x != y) & (x >= y), chosen.astype(np.float32) * 0.5, np.sum(x * y), ~x

    rng = np.random.default_rng(1)
    low = 0 if kind in (np.bool_, np.uint8) else -100
    x, y = (rng.integers(low, 2 if kind == np.bool_ else 120, (5, 37)).astype(kind) for _ in "12")
    recorder, results = recorded(function, x, y)
    refs = [r.ref for r in results]
    executable = Executable(lower(recorder.program, refs), native=native)
    with np.errstate(all="ignore"):
        for a, e in zip(executable.run([x, y]), function(x, y), strict=True):
            np.testing.assert_array_equal(a, e)
            assert a.dtype == np.asarray(e).dtype
