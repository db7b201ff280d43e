"""Products of matrices, and stacks of them, beside PyTorch's in the same run, on two threads.

    python benchmarks/products.py

Forward of what wants no gradient, and forward with both gradients; eager and compiled. Libraries
take turns, with a pause between: threads of PyTorch's and BLAS's spin for a while after a product.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, print_table

Product = Callable[[Any, Any], Any]

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], Product]] = {
    **{
        f"{size} x {size} x {size}": ((size, size), (size, size), lambda a, b: a @ b)
        for size in (64, 128, 256, 384)
    },
    "512 of 16 x 16 x 16": ((512, 16, 16), (512, 16, 16), lambda a, b: a @ b),
    "32 of 64 x 32 x 64": ((32, 64, 32), (32, 32, 64), lambda a, b: a @ b),
    "128 of 64 x 64 x 64": ((128, 64, 64), (128, 64, 64), lambda a, b: a @ b),
    "64 of 128 x 64 x 128": ((64, 128, 64), (64, 64, 128), lambda a, b: a @ b),
    "heads' queries and keys, 32 x 4 of 64 x 32 x 64": (
        (32, 64, 4, 32), (32, 64, 4, 32), lambda q, k: q.transpose(1, 2) @ k.permute(0, 2, 3, 1),
    ),
    "heads' weights and values, 32 x 4 of 64 x 64 x 32": (
        (32, 4, 64, 64), (32, 64, 4, 32), lambda w, v: w @ v.transpose(1, 2),
    ),
}  # fmt: skip
THREADS = 2
SECONDS = 0.02  # of work in a round
ROUNDS = 3
PAUSE = 0.15


def calls(module: Any, name: str, is_compiled: bool) -> list[Callable[[], object]]:
    """Forward, and forward with the backward pass."""
    left, right, product = CASES[name]
    x, y = (module.randn(*shape, requires_grad=True) for shape in (left, right))
    multiply = module.compile(product) if is_compiled else product
    weights = module.ones_like(product(x, y).detach())

    a, b = x.detach(), y.detach()

    def forward() -> None:
        multiply(a, b)

    def with_gradients() -> None:
        x.grad = y.grad = None
        multiply(x, y).backward(weights)

    return [forward, with_gradients]


def least(function: Callable[[], object], best: float) -> float:
    """The least time of a call in this turn, or in those before."""
    time.sleep(PAUSE)
    once = best_seconds([function], calls=2, rounds=3)[0]
    return min(best, *best_seconds([function], calls=max(int(SECONDS / once), 2), rounds=4))


def main() -> None:
    """Print microseconds."""
    modules = [
        (importlib.import_module("lamina"), False),
        (importlib.import_module("lamina"), True),
    ]
    names = ["Lamina", "compiled"]
    if has_torch():
        modules.append((importlib.import_module("torch"), False))
        names.append("PyTorch")
    for module, _ in modules:
        module.set_num_threads(THREADS)
    rows = []
    for name in CASES:
        made = [calls(module, name, is_compiled) for module, is_compiled in modules]
        cells: list[str] = []
        for functions in zip(*made, strict=True):
            best = [float("inf")] * len(functions)
            for _ in range(ROUNDS):
                best = [least(*pair) for pair in zip(functions, best, strict=True)]
            cells += [f"{1e6 * seconds:.0f}" for seconds in best]
        rows.append([name, *cells])
    header = [f"{name}{how}" for how in ("", ", with gradients") for name in names]
    print_table(["us", *header], rows)


if __name__ == "__main__":
    main()
