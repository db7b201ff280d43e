"""Functions of each element of a million numbers, beside PyTorch's in the same run, two threads."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, note, print_table

SIZE = 1 << 20
THREADS = 2
PAUSE = 0.01
USUAL = (-4.0, 4.0)
INNER = (-0.95, 0.95)
POSITIVE = (0.1, 4.0)
FUNCTIONS: dict[str, tuple[float, float]] = {
    "exp": USUAL, "exp2": USUAL, "expm1": USUAL, "log": POSITIVE, "log2": POSITIVE,
    "log10": POSITIVE, "log1p": INNER, "sqrt": POSITIVE, "tanh": USUAL, "sigmoid": USUAL,
    "sin": USUAL, "cos": USUAL, "tan": USUAL, "asin": INNER, "acos": INNER, "atan": USUAL,
    "sinh": USUAL, "cosh": USUAL, "asinh": USUAL, "acosh": (1.1, 4.0), "atanh": INNER,
    "erf": USUAL, "erfc": USUAL, "erfinv": INNER, "special.ndtr": USUAL, "lgamma": POSITIVE,
    "digamma": POSITIVE, "pow": POSITIVE, "nn.functional.gelu": USUAL, "nn.functional.silu": USUAL,
    "nn.functional.softplus": USUAL, "nn.functional.logsigmoid": USUAL, "nn.functional.mish": USUAL,
}  # fmt: skip


def found(module: Any, name: str) -> Callable[..., Any]:
    """A function by its path."""
    for part in name.split("."):
        module = getattr(module, part)
    return module  # type: ignore[no-any-return]


def calls(name: str, kind: str, module: Any, compiles: bool) -> Callable[[], object]:
    """What computes a function of a million numbers."""
    low, high = FUNCTIONS[name]
    x = module.linspace(low, high, SIZE, dtype=getattr(module, kind))
    function = found(module, name)
    ready = module.compile(function) if compiles else function
    operands = (x, x) if name == "pow" else (x,)
    for _ in range(3):
        ready(*operands)
    return lambda: ready(*operands)


def main() -> None:
    """Print milliseconds, and Lamina's times over PyTorch's; `names` choose functions."""
    names = ["lamina"] + ["torch"] * has_torch()
    if len(names) == 1:
        note("PyTorch is not installed: times of Lamina alone")
    modules = [importlib.import_module(name) for name in names]
    for module in modules:
        module.set_num_threads(THREADS)
    rows = []
    for name in sys.argv[1:] or FUNCTIONS:
        cells = []
        for kind in ("float32", "float64"):
            ways = [(modules[0], False), (modules[0], True), *((m, False) for m in modules[1:])]
            functions = [calls(name, kind, *way) for way in ways]
            times = best_seconds(functions, calls=2, rounds=9, pause=PAUSE)
            cells += [f"{1e3 * seconds:.2f}" for seconds in times]
            cells += [f"{seconds / times[2]:.2f}" for seconds in times[:2] if len(times) > 2]
        rows.append([name, *cells])
    each = ["eager", "compiled"] + ["torch", "eager ratio", "compiled ratio"] * (len(modules) > 1)
    print_table(["ms", *(f"{what}, {kind}" for kind in ("32", "64") for what in each)], rows)


if __name__ == "__main__":
    main()
