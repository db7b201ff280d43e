"""The cost of small operations, beside PyTorch's in the same run.

`x = x * b + a` a hundred times on ten elements, summed, and its backward pass; and one recorded
addition. Positions and versions are recorded as always.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, note, print_table

LINKS = 100
ADDITIONS = 1000


def workloads(module: Any) -> list[tuple[str, int, Callable[[], object]]]:
    """(what, operations in a call, call) for a module with PyTorch's names."""
    a = module.rand(10).requires_grad_()
    b = module.full((10,), 0.5).requires_grad_()

    def forward() -> Any:
        x = a
        for _ in range(LINKS):
            x = x * b + a
        return x.sum()

    def forward_and_backward() -> None:
        a.grad = b.grad = None
        forward().backward()

    def additions() -> None:
        for _ in range(ADDITIONS):
            a + b

    def unrecorded() -> None:
        with module.no_grad():
            for _ in range(ADDITIONS):
                a + b

    return [
        ("chain, forward", 2 * LINKS, forward),
        ("chain, forward + backward", 2 * LINKS, forward_and_backward),
        ("recorded add", ADDITIONS, additions),
        ("add under no_grad", ADDITIONS, unrecorded),
    ]


def main() -> None:
    """Print microseconds per operation, and the ratio to PyTorch."""
    names = ["lamina"] + ["torch"] * has_torch()
    if len(names) == 1:
        note("PyTorch is not installed: times of Lamina alone")
    columns = [workloads(importlib.import_module(name)) for name in names]
    rows = []
    for same in zip(*columns, strict=True):
        what, operations, _ = same[0]
        times = best_seconds([call for _, _, call in same], calls=max(1, 4000 // operations))
        micro = [f"{1e6 * t / operations:.2f}" for t in times]
        ratio = [f"{times[0] / times[1]:.2f}"] if len(times) > 1 else []
        rows.append([what, *micro, *ratio])
    print_table(["us per op", *names, *(["ratio"] if len(names) > 1 else [])], rows)


if __name__ == "__main__":
    main()
