"""Saving and loading a state dict of 200 MB, and one of many small tensors, beside PyTorch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, print_table

import lamina

LARGE, SMALL = (200, (256, 1024)), (5000, (3,))
ROUNDS = 5


def state(t: Any, count: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """So many tensors by name."""
    return {f"layer{k}.weight": t.ones(*shape) for k in range(count)}


def without_syncing(function: Callable[[], object]) -> Callable[[], object]:
    """A call during which nobody waits for the disk, which PyTorch does not do."""

    def call() -> None:
        sync, os.fsync = os.fsync, lambda descriptor: None
        try:
            function()
        finally:
            os.fsync = sync

    return call


def unchecked(function: Callable[[], object]) -> Callable[[], object]:
    """A call during which checksums are not compared, which PyTorch does not do."""

    def call() -> None:
        lamina.serialization.set_crc32_options(False)
        try:
            function()
        finally:
            lamina.serialization.set_crc32_options(True)

    return call


def main() -> None:
    """Print the best times, in milliseconds."""
    libraries: list[Any] = [lamina]
    if has_torch():
        import torch

        libraries.append(torch)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for label, (count, shape) in (("200 MB", LARGE), ("5000 small tensors", SMALL)):
            states = [(t, f"{folder}/{t.__name__}.pt", state(t, count, shape)) for t in libraries]
            saves = [lambda t=t, p=p, v=v: t.save(v, p) for t, p, v in states]
            loads = [lambda t=t, p=p: t.load(p) for t, p, _ in states]
            maps = [lambda t=t, p=p: t.load(p, mmap=True) for t, p, _ in states]
            for name, calls in (
                ("save", saves),
                ("save, not waiting for the disk", [without_syncing(saves[0]), *saves[1:]]),
                ("load", loads),
                ("load, without checksums", [unchecked(loads[0]), *loads[1:]]),
                ("load, mapped", maps),
            ):
                times = [f"{1000 * s:.0f}" for s in best_seconds(calls, 1, ROUNDS)]
                rows.append([f"{label}: {name}", *times])
    print_table(["ms", *(t.__name__ for t in libraries)], rows)


if __name__ == "__main__":
    main()
