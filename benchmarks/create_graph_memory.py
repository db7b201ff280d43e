"""A thousand steps of `backward(create_graph=True)`: memory must be flat after a collection."""

from __future__ import annotations

import gc
import warnings

from _report import print_table
from deep_chain import resident_bytes

import lamina

STEPS = 1000


def step() -> None:
    """One step whose graph, gradients and second derivatives are dropped."""
    w = lamina.randn(64, 64, requires_grad=True)
    x = lamina.randn(32, 64)
    loss = (x @ w).tanh().square().mean()
    loss.backward(create_graph=True)
    assert w.grad is not None
    w.grad.square().sum().backward()


def main() -> None:
    """Print the resident memory along the way."""
    warnings.simplefilter("ignore")
    rows = []
    for number in range(STEPS + 1):
        if number % (STEPS // 4) == 0:
            gc.collect()
            rows.append([number, f"{resident_bytes() / 1e6:.1f}", len(gc.get_objects())])
        step()
    print_table(["step", "resident MB", "objects known to the collector"], rows)


if __name__ == "__main__":
    main()
