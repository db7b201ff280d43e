"""A step of each optimizer, beside PyTorch's in the same run: 100 tensors of 10,000 float32."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, note, print_table

COUNT, SIZE = 100, (100, 100)
WARM_UP = 20  # steps, after which loops are compiled
SETTINGS: dict[str, dict[str, Any]] = {
    "SGD": {},
    "SGD with momentum": {"momentum": 0.9, "weight_decay": 0.01},
    "Adam": {},
    "AdamW": {"amsgrad": True},
    "Adagrad": {},
    "Adadelta": {},
    "Adamax": {},
    "RMSprop": {"centered": True, "momentum": 0.9},
    "Rprop": {},
    "ASGD": {},
    "NAdam": {},
    "RAdam": {},
    "Adafactor": {},
    "Muon": {},
}


def stepper(module: Any, name: str) -> Callable[[], object]:
    """The step of an optimizer whose parameters have gradients."""
    params = [module.rand(*SIZE, requires_grad=True) for _ in range(COUNT)]
    for param in params:
        param.grad = module.randn(*SIZE)
    optimizer = getattr(module.optim, name.split()[0])(params, **SETTINGS[name])
    for _ in range(WARM_UP):
        optimizer.step()
    step: Callable[[], object] = optimizer.step
    return step


def main() -> None:
    """Print milliseconds per step, and the ratio to PyTorch."""
    names = ["lamina"] + ["torch"] * has_torch()
    if len(names) == 1:
        note("PyTorch is not installed: times of Lamina alone")
    modules = [importlib.import_module(name) for name in names]
    rows = []
    for name in SETTINGS:
        times = best_seconds([stepper(module, name) for module in modules], calls=5)
        shown = [f"{1e3 * t:.2f}" for t in times]
        ratio = [f"{times[0] / times[1]:.2f}"] if len(times) > 1 else []
        rows.append([name, *shown, *ratio])
    print_table(["ms per step", *names, *(["ratio"] if len(names) > 1 else [])], rows)


if __name__ == "__main__":
    main()
