"""Records PyTorch's random numbers into `recorded_generator.json`: run it where torch 2.13 is.

A case is a seed and a list of calls, each written as one of `Generator`'s methods with its keyword
arguments. `torch_call` makes the same call in PyTorch, so it also serves the comparison in
`tests/oracle/test_generator_oracle.py`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).parent
Call = tuple[str, dict[str, Any]]


def _empty(arguments: dict[str, Any]) -> tuple[torch.Tensor, dict[str, Any]]:
    """An empty tensor of the call's shape and dtype, and the arguments that are left."""
    rest = {k: v for k, v in arguments.items() if k not in ("shape", "dtype")}
    return torch.empty(arguments["shape"], dtype=getattr(torch, arguments["dtype"])), rest


def torch_call(name: str, arguments: dict[str, Any], generator: torch.Generator) -> torch.Tensor:
    """What PyTorch gives for `Generator.name(**arguments)`."""
    if name == "permutation":
        return torch.randperm(arguments["n"], generator=generator)
    if name == "multinomial":
        probs = torch.tensor(arguments["probs"], dtype=getattr(torch, arguments["dtype"]))
        counts = arguments["num_samples"], arguments["replacement"]
        return torch.multinomial(probs, *counts, generator=generator)
    out, rest = _empty(arguments)
    if name == "uniform":
        return out.uniform_(rest.get("low", 0), rest.get("high", 1), generator=generator)
    if name == "integers":
        return out.random_(rest["low"], rest["high"], generator=generator)
    if name == "random_full":
        return out.random_(generator=generator)
    if name == "normal":
        values = rest.get("mean", 0), rest.get("std", 1)
        if rest.get("packed", True):
            return out.normal_(*values, generator=generator)
        spread = torch.empty(*out.shape, 2, dtype=out.dtype)[..., 0]
        return spread.normal_(*values, generator=generator).contiguous()
    if name == "bernoulli":
        p = rest["p"]
        if "p_dtype" in rest:
            p = torch.tensor(p, dtype=getattr(torch, rest["p_dtype"]))
        return out.bernoulli_(p, generator=generator)
    return getattr(out, f"{name}_")(**rest, generator=generator)


def as_numpy(values: torch.Tensor) -> np.ndarray:
    """`values` as an array; bfloat16 in float32, which holds each exactly."""
    return (values.float() if values.dtype == torch.bfloat16 else values).numpy()


def digest(data: bytes) -> str:
    """A short name for bytes too many to write down."""
    return hashlib.sha256(data).hexdigest()[:16]


def _cases() -> list[tuple[int, list[Call]]]:
    real = ["float16", "bfloat16", "float32", "float64"]
    number = [*real, "complex64", "complex128"]
    whole = ["bool", "uint8", "int8", "int16", "int32", "int64"]
    cases: list[tuple[int, list[Call]]] = []

    def add(seed: int, *calls: Call) -> None:
        cases.append((seed, list(calls)))

    for dtype in number:
        for shape in ([3], [2, 10], [16], [40]):
            add(7, ("uniform", {"shape": shape, "dtype": dtype}))
            add(7, ("normal", {"shape": shape, "dtype": dtype}))
        add(-1, ("uniform", {"shape": [19], "dtype": dtype, "low": -0.37, "high": 2.9}))
        for count in (5, 21):
            add(8, ("normal", {"shape": [count], "dtype": dtype, "mean": 0.3, "std": 1.7}))
        add(
            8, ("normal", {"shape": [21], "dtype": dtype, "mean": 0.3, "std": 1.7, "packed": False})
        )
    for dtype in real:
        add(9, ("exponential", {"shape": [5], "dtype": dtype, "lambd": 1.3}))
        add(9, ("log_normal", {"shape": [5], "dtype": dtype, "mean": 0.1, "std": 0.7}))
        add(9, ("cauchy", {"shape": [5], "dtype": dtype, "median": 0.1, "sigma": 0.7}))
    for dtype in real + whole:
        high = 1 if dtype == "bool" else 100
        add(10, ("integers", {"low": 0, "high": high, "shape": [9], "dtype": dtype}))
        add(10, ("random_full", {"shape": [9], "dtype": dtype}))
        add(10, ("bernoulli", {"p": 0.3, "shape": [9], "dtype": dtype}))
        if dtype != "bool":
            add(10, ("geometric", {"p": 0.3, "shape": [9], "dtype": dtype}))
    for low, high in ((-5, 2**32 - 5), (-5, 2**32 - 6), (-(2**62), 2**62 + 5)):
        add(2**32 + 5, ("integers", {"low": low, "high": high, "shape": [5], "dtype": "int64"}))
    for low, high in ((0, 2**28 - 1), (0, 2**28), (-(2**31), 2**31 - 1)):
        add(3, ("integers", {"low": low, "high": high, "shape": [5], "dtype": "int32"}))
    add(1, ("integers", {"low": 0, "high": 65504, "shape": [40], "dtype": "float16"}))
    for p_dtype in real:
        p = [[0.3, 0.5], [0.0, 1.0]]
        add(11, ("bernoulli", {"p": p, "p_dtype": p_dtype, "shape": [2, 2], "dtype": "float32"}))
    for n in (0, 1, 2, 30, 2000, 40000):
        add(12, ("permutation", {"n": n}))
    weights = [[1.0, 2.0, 0.5, 4.0], [3.0, 0.25, 1.0, 1.0]]
    for dtype in real:
        for count, replacement in ((1, True), (3, False), (9, True)):
            drawn = {"num_samples": count, "replacement": replacement, "dtype": dtype}
            add(13, ("multinomial", dict(probs=weights, **drawn)))
            add(13, ("multinomial", dict(probs=weights[0], **drawn)))
    for dtype in ("float32", "float64"):
        add(14, ("uniform", {"shape": [100003], "dtype": dtype}))
        add(14, ("normal", {"shape": [100003], "dtype": dtype}))
    small = ("normal", {"shape": [3], "dtype": "float32"})
    large = ("normal", {"shape": [20], "dtype": "float32"})
    add(15, small, large, small, ("permutation", {"n": 9}), small)
    add(
        15,
        small,
        ("log_normal", {"shape": [2], "dtype": "float64", "mean": 1.0, "std": 2.0}),
        small,
    )
    return cases


def record() -> list[dict[str, Any]]:
    """Every case with PyTorch's answers: values (or a digest of many) and the state after it."""
    recorded = []
    for seed, calls in _cases():
        generator = torch.Generator().manual_seed(seed)
        answers = []
        for name, arguments in calls:
            values = as_numpy(torch_call(name, arguments, generator))
            if values.dtype.kind == "c":
                values = values.view(values.real.dtype)
            many = values.size > 64
            answers.append(digest(values.tobytes()) if many else values.ravel().tolist())
        state = digest(generator.get_state().numpy().tobytes())
        recorded.append({"seed": seed, "calls": calls, "answers": answers, "state": state})
    return recorded


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(case) for case in record())
    (HERE / "recorded_generator.json").write_text(f"[\n{lines}\n]\n")
