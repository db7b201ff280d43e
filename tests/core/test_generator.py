"""`Generator` gives PyTorch's numbers (recorded from torch 2.13.0) and leaves PyTorch's state."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina.core.generator import DEFAULT_SEED, Generator

RECORDED = json.loads((Path(__file__).parent / "recorded_generator.json").read_text())


def _dtype(name: str) -> Any:
    if name == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return np.dtype(name)


def call(generator: Generator, name: str, arguments: dict[str, Any]) -> np.ndarray:
    """One recorded call, made on `generator`."""
    arguments = dict(arguments)
    if "dtype" in arguments:
        arguments["dtype"] = _dtype(arguments["dtype"])
    if "shape" in arguments:
        arguments["shape"] = tuple(arguments["shape"])
    if name == "multinomial":
        probs = np.asarray(arguments.pop("probs"), np.float32)
        arguments["probs"] = probs.astype(arguments.pop("dtype"))
    if "p_dtype" in arguments:
        p = np.asarray(arguments["p"])
        arguments["p"] = p.astype(_dtype(arguments.pop("p_dtype")))
    return getattr(generator, name)(**arguments)


def _name(case: dict[str, Any]) -> str:
    name, arguments = case["calls"][0]
    details = [str(arguments.get(key, "")) for key in ("dtype", "shape", "n", "num_samples")]
    return "-".join([name, *(detail for detail in details if detail)])


@pytest.mark.parametrize("case", RECORDED, ids=_name)
def test_values_and_state_are_those_of_pytorch(case: dict[str, Any]) -> None:
    generator = Generator(case["seed"])
    for (name, arguments), answer in zip(case["calls"], case["answers"], strict=True):
        values = call(generator, name, arguments)
        assert values.flags.c_contiguous
        if values.dtype.name == "bfloat16":
            values = values.astype(np.float32)
        if values.dtype.kind == "c":
            values = values.view(values.real.dtype)
        if isinstance(answer, str):
            assert hashlib.sha256(values.tobytes()).hexdigest()[:16] == answer
        else:
            assert values.ravel().tolist() == answer
    state = hashlib.sha256(generator.get_state().tobytes()).hexdigest()[:16]
    assert state == case["state"]


def test_state_restores_the_stream_and_the_kept_normal() -> None:
    generator = Generator(3)
    generator.normal((3,), np.float32)
    state = generator.get_state()
    assert (state.dtype, state.shape) == (np.uint8, (5056,))
    first = generator.normal((5,), np.float64)
    generator.set_state(state)
    assert np.array_equal(generator.normal((5,), np.float64), first)


def test_manual_seed_forgets_the_kept_normal() -> None:
    generator = Generator(3)
    fresh = generator.get_state()
    generator.normal((3,), np.float32)
    assert np.array_equal(generator.manual_seed(3).get_state(), fresh)


@pytest.mark.parametrize("copied", [copy.deepcopy, Generator.clone,
                                    lambda g: pickle.loads(pickle.dumps(g))])  # fmt: skip
def test_a_copy_continues_alone(copied: Any) -> None:
    generator = Generator(5)
    generator.normal((700,), np.float32)
    other = copied(generator)
    state = generator.get_state()
    assert np.array_equal(other.get_state(), state)
    other.uniform((2,), np.float32)
    assert np.array_equal(generator.get_state(), state)


def test_seeds_wrap_to_64_bits_and_the_words_use_32() -> None:
    assert Generator(-1).initial_seed() == 2**64 - 1
    assert Generator().initial_seed() == DEFAULT_SEED
    low, high = Generator(5), Generator(2**32 + 5)
    assert np.array_equal(low.uniform(9, np.float64), high.uniform(9, np.float64))
    seed = low.seed()
    assert low.initial_seed() == seed


@pytest.mark.parametrize(
    ("seed", "error"),
    [(1.5, RuntimeError), ("3", RuntimeError), (None, RuntimeError), (True, RuntimeError),
     (2**64, ValueError), (-(2**63) - 1, ValueError)],
)  # fmt: skip
def test_bad_seeds_are_refused(seed: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="manual_seed"):
        Generator(seed)


def test_bad_states_are_refused_and_change_nothing() -> None:
    generator = Generator(1)
    before = generator.get_state()
    broken = before.copy()
    broken[16] = 7  # 7 words used, but 1 left
    with pytest.raises(RuntimeError, match="5056"):
        generator.set_state(before[:-1])
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        generator.set_state(np.zeros(5056, np.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        generator.set_state(broken)
    with pytest.raises(TypeError, match="uint8"):
        generator.set_state(before.astype(np.int64))
    assert np.array_equal(generator.get_state(), before)


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("uniform", {"shape": 2, "dtype": "int64"}, NotImplementedError),
        ("uniform", {"shape": 2, "dtype": "float32", "low": 2, "high": 1}, RuntimeError),
        ("uniform", {"shape": 2, "dtype": "float32", "low": -3e38, "high": 3e38}, RuntimeError),
        ("normal", {"shape": 2, "dtype": "bool"}, NotImplementedError),
        ("normal", {"shape": 2, "dtype": "float32", "std": -1}, RuntimeError),
        ("integers", {"shape": 2, "dtype": "int64", "low": 3, "high": 3}, RuntimeError),
        ("random_full", {"shape": 2, "dtype": "uint32"}, NotImplementedError),
        ("bernoulli", {"shape": 2, "dtype": "float32", "p": 1.5}, RuntimeError),
        ("bernoulli", {"shape": 2, "dtype": "float32", "p": np.array([0.5, np.nan])}, RuntimeError),
        ("exponential", {"shape": 2, "dtype": "float32", "lambd": 0}, RuntimeError),
        ("exponential", {"shape": 2, "dtype": "complex64"}, NotImplementedError),
        ("log_normal", {"shape": 2, "dtype": "float32", "std": 0}, RuntimeError),
        ("cauchy", {"shape": 2, "dtype": "float32", "sigma": 0}, RuntimeError),
        ("geometric", {"shape": 2, "dtype": "float32", "p": 1.0}, RuntimeError),
        ("permutation", {"n": -1}, RuntimeError),
        ("multinomial", {"probs": np.ones(2), "num_samples": 3}, RuntimeError),
        ("multinomial", {"probs": np.ones(2), "num_samples": 0}, RuntimeError),
        ("multinomial", {"probs": np.zeros(2), "num_samples": 1}, RuntimeError),
        ("multinomial", {"probs": np.array([-1.0, 2.0]), "num_samples": 1}, RuntimeError),
        ("multinomial", {"probs": np.array([np.inf, 2.0]), "num_samples": 1}, RuntimeError),
        ("multinomial", {"probs": np.ones((2, 2, 2)), "num_samples": 1}, RuntimeError),
        ("multinomial", {"probs": np.ones(2, int), "num_samples": 1}, RuntimeError),
    ],
)
def test_bad_arguments_are_refused_before_any_word_is_drawn(
    name: str, arguments: dict[str, Any], error: type[Exception]
) -> None:
    generator = Generator(1)
    before = generator.get_state()
    with pytest.raises(error):
        getattr(generator, name)(**arguments)
    assert np.array_equal(generator.get_state(), before)


def test_empty_shapes_draw_nothing() -> None:
    generator = Generator(1)
    before = generator.get_state()
    assert generator.normal((0, 3), np.float32).shape == (0, 3)
    assert generator.uniform((0,), np.complex64).shape == (0,)
    assert generator.permutation(0).shape == (0,)
    assert np.array_equal(generator.get_state(), before)


def test_threads_share_a_stream_without_losing_or_repeating_a_word() -> None:
    shared, alone = Generator(2), Generator(2)
    parts: list[np.ndarray] = []

    def work() -> None:
        for _ in range(50):
            parts.append(shared.uniform(100, np.float64))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = np.sort(np.concatenate(parts))
    assert np.array_equal(together, np.sort(alone.uniform(20000, np.float64)))
    assert np.array_equal(shared.get_state(), alone.get_state())


def test_the_memory_that_states_are_read_from_is_the_engine() -> None:
    generator = Generator(3)
    generator.uniform((700,), np.float32)
    told = generator._bits.state["state"]
    assert np.array_equal(generator._state[:-1], told["key"])
    assert generator._state[-1] == told["pos"] == 700 - 624
    other = Generator(4).set_state(generator.get_state())
    assert np.array_equal(other._bits.state["state"]["key"], told["key"])


@pytest.mark.parametrize("n", [2, 5, 400, 500, 501, 502, 3000])
def test_permutations_of_both_ways_are_swaps_in_order(n: int) -> None:
    words = Generator(n)._words(n - 1)
    order = list(range(n))
    for place, word in enumerate(words.tolist()):
        other = place + word % (n - place)
        order[place], order[other] = order[other], order[place]
    assert Generator(n).permutation(n).tolist() == order
