"""Random sequences of calls: `Generator` against PyTorch, values and state, bit for bit."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from lamina.core.generator import Generator

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")
hypothesis = pytest.importorskip("hypothesis")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies


def _load(name: str) -> ModuleType:
    path = Path(__file__).parents[1] / "core" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


recorder, tester = _load("record_generator"), _load("test_generator")

REAL = st.sampled_from(["float16", "bfloat16", "float32", "float64"])
NUMBER = st.one_of(REAL, st.sampled_from(["complex64", "complex128"]))
WHOLE = st.sampled_from(["uint8", "int8", "int16", "int32", "int64"])
SHAPE = st.one_of(
    st.lists(st.integers(0, 9), max_size=3),
    st.lists(st.integers(0, 1500), min_size=1, max_size=1),
)
CENTRE = st.floats(-3, 3, width=32)
WIDTH = st.floats(0.01, 4)
CHANCE = st.floats(0.01, 0.99)


def _call(name: str, **arguments: Any) -> Any:
    return st.tuples(st.just(name), st.fixed_dictionaries(arguments))


def _uniform(dtype: str, shape: list[int], low: float, width: float) -> Any:
    return "uniform", {"dtype": dtype, "shape": shape, "low": low, "high": low + width}


def _integers(dtype: str, shape: list[int], low: int, span: int) -> Any:
    return "integers", {"dtype": dtype, "shape": shape, "low": low, "high": low + span}


def _multinomial(dtype: str, row: list[int], count: int, replacement: bool) -> Any:
    count = count if replacement else min(count, len(row))
    drawn = {"num_samples": count, "replacement": replacement, "dtype": dtype}
    return "multinomial", dict(probs=[row, row[::-1]], **drawn)


CALLS = st.one_of(
    _call("uniform", dtype=NUMBER, shape=SHAPE),
    st.builds(_uniform, NUMBER, SHAPE, CENTRE, WIDTH),
    _call("normal", dtype=NUMBER, shape=SHAPE),
    _call("normal", dtype=NUMBER, shape=SHAPE, mean=CENTRE, std=WIDTH, packed=st.booleans()),
    _call("exponential", dtype=REAL, shape=SHAPE, lambd=WIDTH),
    _call("log_normal", dtype=REAL, shape=SHAPE, mean=CENTRE, std=WIDTH),
    _call("cauchy", dtype=REAL, shape=SHAPE, median=CENTRE, sigma=WIDTH),
    _call("geometric", dtype=st.sampled_from(["float32", "float64", "int64"]), shape=SHAPE,
          p=CHANCE),
    st.builds(_integers, st.one_of(REAL, WHOLE), SHAPE, st.integers(0, 20), st.integers(1, 100)),
    st.builds(_integers, st.just("int32"), SHAPE, st.integers(-(2**31), 0), st.integers(1, 2**31)),
    st.builds(_integers, st.just("int64"), SHAPE, st.integers(-(2**63), 0),
              st.integers(1, 2**63 - 1)),
    st.builds(_integers, st.sampled_from(["float32", "float64"]), SHAPE,
              st.integers(-(2**24), 2**24), st.integers(1, 2**24)),
    _call("random_full", dtype=st.one_of(REAL, WHOLE, st.just("bool")), shape=SHAPE),
    _call("bernoulli", dtype=st.one_of(REAL, WHOLE, st.just("bool")), shape=SHAPE, p=CHANCE),
    _call("bernoulli", dtype=REAL, shape=SHAPE, p=CHANCE, p_dtype=REAL),
    _call("permutation", n=st.integers(0, 3000)),
    st.builds(_multinomial, REAL, st.lists(st.integers(1, 50), min_size=1, max_size=9),
              st.integers(1, 9), st.booleans()),
)  # fmt: skip


def _same(name: str, arguments: dict[str, Any], mine: np.ndarray, theirs: np.ndarray) -> None:
    assert mine.shape == theirs.shape
    if mine.dtype.name == "bfloat16":
        mine = mine.astype(np.float32)
    assert mine.dtype == theirs.dtype
    np.testing.assert_array_equal(mine, theirs, err_msg=f"{name} {arguments}")


@pytest.mark.filterwarnings("ignore:.*is out of bounds.*:UserWarning")
@settings(max_examples=150, deadline=None)
@given(st.integers(-(2**63), 2**64 - 1), st.lists(CALLS, min_size=1, max_size=6))
def test_sequences_of_calls_agree(seed: int, calls: list[Any]) -> None:
    theirs, mine = torch.Generator().manual_seed(seed), Generator(seed)
    for name, arguments in calls:
        expected = recorder.as_numpy(recorder.torch_call(name, arguments, theirs))
        _same(name, arguments, tester.call(mine, name, arguments), expected)
        assert np.array_equal(mine.get_state(), theirs.get_state().numpy()), (name, arguments)


def test_states_interchange() -> None:
    theirs, mine = torch.Generator().manual_seed(4), Generator(5)
    torch.randn(3, generator=theirs)
    torch.rand(700, generator=theirs)
    mine.set_state(theirs.get_state().numpy())
    assert np.array_equal(mine.normal(5, np.float32), torch.randn(5, generator=theirs).numpy())
    mine.normal(2, np.float64)
    theirs.set_state(torch.from_numpy(mine.get_state()))
    assert np.array_equal(mine.normal(5, np.float32), torch.randn(5, generator=theirs).numpy())


def test_a_million_numbers_agree() -> None:
    theirs, mine = torch.Generator().manual_seed(6), Generator(6)
    for dtype in ("float32", "float64"):
        for name in ("uniform", "normal"):
            arguments = {"shape": [10**6], "dtype": dtype}
            expected = recorder.torch_call(name, arguments, theirs).numpy()
            _same(name, arguments, tester.call(mine, name, arguments), expected)
    expected = torch.randperm(10**6, generator=theirs).numpy()
    assert np.array_equal(mine.permutation(10**6), expected)
