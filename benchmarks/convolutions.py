"""3 x 3 convolutions beside PyTorch's, eager, in turns: times, and errors beside float64.

The direct way is Lamina's other one, which serves other kernels, strides and small numbers of
channels: by minimal filtering, 3 x 3 kernels take 2.25 times fewer multiplications.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from _report import has_torch, note, print_table

import lamina
from lamina.codegen.kernels import winograd, winograd_weights

SECONDS = 0.6
SHAPES = [  # channels, size, batch
    (16, 32, 32), (64, 32, 32), (128, 28, 8), (256, 14, 8), (512, 7, 8)
]  # fmt: skip


@contextmanager
def direct() -> Iterator[None]:
    """Convolutions are done the direct way."""
    before = winograd.LEAST_CHANNELS, winograd_weights.LEAST_KERNELS
    winograd.LEAST_CHANNELS = winograd_weights.LEAST_KERNELS = 1 << 60  # type: ignore[misc]
    try:
        yield
    finally:
        winograd.LEAST_CHANNELS, winograd_weights.LEAST_KERNELS = before  # type: ignore[misc]


def directly(function: Callable[[], Any]) -> Callable[[], Any]:
    """The same call, the direct way."""

    def call() -> Any:
        with direct():
            return function()

    return call


def calls(library: Any, arrays: list[Any]) -> list[Callable[[], Any]]:
    """A convolution, and one with its gradients, of tensors of a library."""
    x, w, g = (library.from_numpy(array.copy()) for array in arrays)
    other, weight = (each.clone().requires_grad_() for each in (x, w))

    def forward() -> Any:
        with library.no_grad():
            return library.nn.functional.conv2d(x, w, padding=1)

    def both() -> Any:
        made = library.nn.functional.conv2d(other, weight, padding=1)
        other.grad = weight.grad = None
        made.backward(g)
        return made.detach(), other.grad, weight.grad

    return [forward, both]


def least(functions: list[Callable[[], Any]]) -> list[float]:
    """Milliseconds of each, in turns."""
    times = [float("inf")] * len(functions)
    for function in functions:
        function()
    started = time.perf_counter()
    while time.perf_counter() < started + SECONDS:
        for k, function in enumerate(functions):
            for _ in range(3):
                before = time.perf_counter()
                function()
                times[k] = min(times[k], 1e3 * (time.perf_counter() - before))
    return times


def errors(made: tuple[Any, ...], exact: tuple[Any, ...]) -> str:
    """The largest errors, relative to the largest results."""
    pairs = zip(made, exact, strict=True)
    found = [np.abs(a.numpy() - b.numpy()).max() / np.abs(b.numpy()).max() for a, b in pairs]
    return ", ".join(f"{error:.1e}" for error in found)


def main() -> None:
    """Print both tables."""
    random = np.random.default_rng(0)
    rows, far = [], []
    for channels, size, batch in SHAPES:
        shapes = (batch, channels, size, size), (channels, channels, 3, 3)
        arrays = [random.normal(size=each).astype(np.float32) for each in (*shapes, shapes[0])]
        own = calls(lamina, arrays)
        ways = [own, [directly(each) for each in own]]
        exact = calls(lamina, [each.astype(np.float64) for each in arrays])[1]()
        name = f"{channels} channels, {size} x {size}, batch {batch}"
        if has_torch():
            import torch

            ways.append(calls(torch, arrays))
        for k, what in enumerate(("forward", "with gradients")):
            times = least([way[k] for way in ways])
            rows.append([name, what, *(f"{each:.2f}" for each in times)])
        far.append([name, *(errors(way[1](), exact) for way in ways)])
    heads = ["Lamina", "direct", "PyTorch"][: len(ways)]
    print_table(["ms", "", *heads], rows)
    print_table(["errors of the result and of both gradients", *heads], far)
    note("two threads each, where there are two cores")


if __name__ == "__main__":
    main()
