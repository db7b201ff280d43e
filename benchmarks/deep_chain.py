"""A chain of a million operations: forward, backward and release, and memory per node."""

from __future__ import annotations

import gc
import time
from itertools import pairwise

from _report import print_table

import lamina

SIZES = (10_000, 100_000, 1_000_000)


def resident_bytes() -> int:
    """The process's resident memory (Linux; 0 elsewhere)."""
    try:
        with open("/proc/self/statm") as status:
            return int(status.read().split()[1]) * 4096
    except OSError:
        return 0


def measure(length: int) -> list[object]:
    """One chain: microseconds per node for each phase, and bytes per node."""
    x = lamina.ones(1, requires_grad=True)
    gc.collect()
    before = resident_bytes()
    times = [time.perf_counter()]
    y = x
    for _ in range(length):
        y = y * 1.0
    times.append(time.perf_counter())
    held = resident_bytes() - before
    y.backward()
    times.append(time.perf_counter())
    assert x.grad is not None
    assert x.grad.item() == 1.0
    del y
    gc.collect()
    times.append(time.perf_counter())
    phases = [f"{1e6 * (b - a) / length:.2f}" for a, b in pairwise(times)]
    return [f"{length:,}", *phases, f"{held / length:.0f}"]


def main() -> None:
    """Print a row for each length: the figures per node must stay the same."""
    rows = [measure(length) for length in SIZES]
    print_table(["nodes", "forward us", "backward us", "release us", "bytes per node"], rows)


if __name__ == "__main__":
    main()
