"""Attention beside PyTorch's in the same run, both on two threads: forward, and with gradients.

attention.py            times of plain and causal attention
attention.py others     times with dropout, and with a mask that wants a gradient
attention.py memory     the same, forward and backward: megabytes beyond inputs (Linux)
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _report import best_seconds, has_torch, note, print_table

SHAPES = [(8, 4, 64, 32), (4, 8, 256, 64), (1, 8, 1024, 64), (1, 4, 2048, 64), (1, 4, 4096, 64)]
OTHER_SHAPES = [(4, 4, 256, 32), (4, 4, 512, 64), (1, 4, 2048, 64)]
PLAIN = ("whole", "causal")
OTHERS = ("dropout", "dropout, causal", "mask with gradient")
THREADS = 2


def calls(
    module: Any, shape: tuple[int, ...], how: str
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Forward without a graph, and forward with the backward pass."""
    inputs = [module.randn(*shape, requires_grad=True) for _ in range(3)]
    options: dict[str, Any] = {"is_causal": "causal" in how}
    options["dropout_p"] = 0.1 if "dropout" in how else 0.0
    if "mask" in how:
        mask = module.randn(shape[1], shape[2], shape[2], requires_grad=True)
        options["attn_mask"] = mask
    weights = module.randn(*shape)
    attend = module.nn.functional.scaled_dot_product_attention

    def forward() -> None:
        with module.no_grad():
            attend(*inputs, **options)

    def forward_and_backward() -> None:
        for tensor in (*inputs, options.get("attn_mask")):
            if tensor is not None:
                tensor.grad = None
        attend(*inputs, **options).backward(weights)

    return forward, forward_and_backward


def print_times(
    modules: list[Any], names: list[str], shapes: list[tuple[int, ...]], ways: tuple[str, ...]
) -> None:
    """Print milliseconds, and how many times PyTorch's time is Lamina's."""
    rows = []
    for shape in shapes:
        for how in ways:
            cells: list[str] = []
            for pair in zip(*(calls(module, shape, how) for module in modules), strict=True):
                rounds = 200 if shape[-2] < 100 else 15 if how in PLAIN else 5
                times = best_seconds(pair, calls=1, rounds=rounds)
                cells += [f"{1e3 * seconds:.2f}" for seconds in times]
                cells += [f"{times[1] / times[0]:.2f}"] if len(times) > 1 else []
            rows.append([f"{shape}, {how}", *cells])
    each = [*names, "ratio"] if len(names) > 1 else names
    header = [f"{name}, {what}" for what in ("forward", "forward + backward") for name in each]
    print_table(["ms", *header], rows)


# --- memory --------------------------------------------------------------------------------------


def resident(field: str) -> float:
    """Megabytes that this process has (`VmRSS`) or had at most (`VmHWM`)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def print_peak(name: str, shape: tuple[int, ...], how: str) -> None:
    """Print what a call needs at most, after a smaller one has loaded all that is loaded once."""
    module = importlib.import_module(name)
    module.set_num_threads(THREADS)
    calls(module, (1, 2, 256, shape[-1]), how)[1]()
    call = calls(module, shape, how)[1]
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    call()
    print(f"{resident('VmHWM') - before:.0f}")


def print_memory(names: list[str]) -> None:
    """Print a table of peaks, each measured in a process of its own."""
    rows = []
    for shape in OTHER_SHAPES:
        for how in (*PLAIN, *OTHERS):
            asked = [[sys.executable, __file__, "peak", n, repr(shape), how] for n in names]
            found = [subprocess.check_output(command, text=True).strip() for command in asked]
            rows.append([f"{shape}, {how}", *found])
    print_table(["MB", *names], rows)


def main() -> None:
    """Do what the command line says."""
    what = sys.argv[1] if len(sys.argv) > 1 else "plain"
    if what == "peak":
        print_peak(sys.argv[2], tuple(map(int, sys.argv[3].strip("()").split(","))), sys.argv[4])
        return
    names = ["lamina"] + ["torch"] * has_torch()
    if len(names) == 1:
        note("PyTorch is not installed: figures of Lamina alone")
    if what == "memory":
        print_memory(names)
        return
    modules = [importlib.import_module(name) for name in names]
    for module in modules:
        module.set_num_threads(THREADS)
    if what == "others":
        print_times(modules, names, OTHER_SHAPES, OTHERS)
    else:
        print_times(modules, names, SHAPES, PLAIN)


if __name__ == "__main__":
    main()
