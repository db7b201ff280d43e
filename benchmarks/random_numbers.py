"""Random tensors beside PyTorch's in the same run, both on two threads: few and many numbers.

random_numbers.py [COUNT ...]
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, print_table

COUNTS = (128, 1000, 100_000, 10_000_000)
THREADS = 2
WARM_CALLS = 100  # after these Lamina has loaded its machine code


def calls(module: Any, count: int) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    given = module.rand(count)
    wide = given.double()
    functional = module.nn.functional
    return {
        "rand": lambda: module.rand(count),
        "randn": lambda: module.randn(count),
        "randn, float64": lambda: module.randn(count, dtype=module.float64),
        "uniform_": lambda: given.uniform_(0.1, 0.9),
        "normal_, float64": lambda: wide.normal_(),
        "bernoulli_": lambda: wide.bernoulli_(0.3),
        "exponential_": lambda: wide.exponential_(),
        "dropout": lambda: functional.dropout(given, 0.1),
        "randint": lambda: module.randint(0, 10, (count,)),
        "randperm": lambda: module.randperm(count),
    }


def main(counts: list[int]) -> None:
    """Print microseconds, and what part of PyTorch's time Lamina's is."""
    names = ["lamina", "torch"] if has_torch() else ["lamina"]
    modules = [importlib.import_module(name) for name in names]
    for module in modules:
        module.set_num_threads(THREADS)
        for _ in range(WARM_CALLS):
            module.rand(2)
    for count in counts:
        rows = []
        timed = [calls(module, count) for module in modules]
        for what in timed[0]:
            rounds = 3 if count > 1_000_000 else 7
            often = max(1, min(300, 300_000 // count))
            times = best_seconds([each[what] for each in timed], calls=often, rounds=rounds)
            cells = [f"{1e6 * seconds:.1f}" for seconds in times]
            cells += [f"{times[0] / times[1]:.2f}"] if len(times) > 1 else []
            rows.append([what, *cells])
        print_table([f"us, {count:,} numbers", *names, *["ratio"] * (len(names) - 1)], rows)


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or list(COUNTS))
