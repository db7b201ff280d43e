"""Attention beside PyTorch's in the same run, both on two threads: forward, and with gradients."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, note, print_table

SHAPES = [(8, 4, 64, 32), (4, 8, 256, 64), (1, 8, 1024, 64), (1, 4, 2048, 64), (1, 4, 4096, 64)]
THREADS = 2


def calls(
    module: Any, shape: tuple[int, ...], is_causal: bool
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Forward without a graph, and forward with the backward pass."""
    inputs = [module.randn(*shape, requires_grad=True) for _ in range(3)]
    weights = module.randn(*shape)
    attend = module.nn.functional.scaled_dot_product_attention

    def forward() -> None:
        with module.no_grad():
            attend(*inputs, is_causal=is_causal)

    def forward_and_backward() -> None:
        for tensor in inputs:
            tensor.grad = None
        attend(*inputs, is_causal=is_causal).backward(weights)

    return forward, forward_and_backward


def main() -> None:
    """Print milliseconds, and how many times PyTorch's time is Lamina's."""
    names = ["lamina"] + ["torch"] * has_torch()
    if len(names) == 1:
        note("PyTorch is not installed: times of Lamina alone")
    modules = [importlib.import_module(name) for name in names]
    for module in modules:
        module.set_num_threads(THREADS)
    rows = []
    for shape in SHAPES:
        for is_causal in (False, True):
            cells: list[str] = []
            for pair in zip(*(calls(module, shape, is_causal) for module in modules), strict=True):
                rounds = 200 if shape[-2] < 100 else 15
                times = best_seconds(pair, calls=1, rounds=rounds)
                cells += [f"{1e3 * seconds:.2f}" for seconds in times]
                cells += [f"{times[1] / times[0]:.2f}"] if len(times) > 1 else []
            rows.append([f"{shape}{', causal' if is_causal else ''}", *cells])
    each = [*names, "ratio"] if len(names) > 1 else names
    header = [f"{name}, {what}" for what in ("forward", "forward + backward") for name in each]
    print_table(["ms", *header], rows)


if __name__ == "__main__":
    main()
