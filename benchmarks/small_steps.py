"""A training step of a small network, part by part, beside PyTorch's in the same run.

The 2-16-16-1 network of `micro_mlp`, batch 32, SGD: eager, and with `compile` around the loss
alone, so that the backward pass and the optimizer's step are called from outside. And what the call
of a compiled function costs, with one operation and with ten.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, note, print_table

STEPS = 2000
PARTS = ("zero_grad", "loss", "backward", "step")


def parts_of(module: Any, is_compiled: bool) -> list[Callable[[], Any]]:
    """The four parts of a step, to be called in turn."""
    module.manual_seed(1)
    nn, functional = module.nn, module.nn.functional
    model = nn.Sequential(
        nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)
    )
    points, sides = module.randn(32, 2), module.sign(module.randn(32, 1))
    optimizer = module.optim.SGD(model.parameters(), lr=0.05)

    def loss() -> Any:
        hinge = functional.relu(1 - sides * model(points)).mean()
        return hinge + 1e-4 * sum((p * p).sum() for p in model.parameters())

    run = module.compile(loss, dynamic=False) if is_compiled else loss
    last: list[Any] = []

    def forward() -> None:
        last[:] = [run()]

    return [optimizer.zero_grad, forward, lambda: last[0].backward(), optimizer.step]


def micros_of(parts: list[Callable[[], Any]]) -> list[float]:
    """The median time of each part, in microseconds."""
    times: list[list[float]] = [[] for _ in parts]
    for _ in range(STEPS):
        for each, part in zip(times, parts, strict=True):
            start = time.perf_counter()
            part()
            each.append(time.perf_counter() - start)
    return [1e6 * statistics.median(each[STEPS // 4 :]) for each in times]


def steps() -> None:
    """Print the parts of a step."""
    columns = {"torch": parts_of(importlib.import_module("torch"), False)} if has_torch() else {}
    lamina = importlib.import_module("lamina")
    columns |= {"lamina": parts_of(lamina, False), "loss compiled": parts_of(lamina, True)}
    found = {name: micros_of(parts) for name, parts in columns.items()}
    rows = [[part, *(f"{each[k]:.1f}" for each in found.values())] for k, part in enumerate(PARTS)]
    rows.append(["whole", *(f"{sum(each):.1f}" for each in found.values())])
    print_table(["us", *found], rows)


def chain(count: int) -> Callable[[Any, Any], Any]:
    """`count` products, one after another."""

    def function(x: Any, w: Any) -> Any:
        for _ in range(count):
            x = x * w
        return x

    return function


def calls() -> None:
    """Print calls of small functions, eager and compiled."""
    lamina = importlib.import_module("lamina")
    x, w = lamina.rand(10), lamina.rand(10)
    rows = []
    for count in (1, 10):
        for wanted in (False, True):
            x.requires_grad_(wanted)
            given = [(f, x, w) for f in (chain(count), lamina.compile(chain(count)))]
            times = best_seconds([lambda f=f, x=x, w=w: f(x, w) for f, x, w in given], 2000)
            what = f"{count} operation{'s' * (count > 1)}" + ", recorded" * wanted
            rows.append([what, *(f"{1e6 * t:.2f}" for t in times)])
    print_table(["us a call", "eager", "compiled"], rows)


if __name__ == "__main__":
    if not has_torch():
        note("PyTorch is not installed: times of Lamina alone")
    steps()
    calls()
