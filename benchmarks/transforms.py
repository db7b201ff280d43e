"""Transforms of functions, beside PyTorch's in the same run.

Gradients of 64 samples of two networks, by `vmap(grad(...))`; the Jacobian and the Hessian of a
small network. Threads: `OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1` for one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, note, print_table

SAMPLES = 64


def of_each_sample(module: Any, model: Any, x: Any, target: Any) -> Callable[[], object]:
    """The gradients by all parameters, for each sample apart."""
    func, loss_of = module.func, module.nn.functional.cross_entropy
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters: Any, x: Any, target: Any) -> Any:
        output = func.functional_call(model, parameters, (x.unsqueeze(0),))
        return loss_of(output, target.unsqueeze(0))

    gradients = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
    return lambda: gradients(parameters, x, target)


def workloads(name: str) -> list[tuple[str, Callable[[], object]]]:
    """(what, call) for a module with PyTorch's names."""
    module = importlib.import_module(name)
    importlib.import_module(f"{name}.func")
    nn, func = module.nn, module.func
    module.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    images = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 7 * 7, 10),
    )  # fmt: skip
    small = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 16))
    weights = {key: p.detach() for key, p in small.named_parameters()}
    point = module.randn(16)
    target = module.randint(0, 10, (SAMPLES,))

    def mapped(x: Any) -> Any:
        return func.functional_call(small, weights, (x,))

    def energy(x: Any) -> Any:
        return mapped(x).pow(2).sum()

    return [
        ("gradients of 64 samples, three layers",
         of_each_sample(module, network, module.randn(SAMPLES, 64), target)),
        ("gradients of 64 samples, convolutions",
         of_each_sample(module, images, module.randn(SAMPLES, 1, 28, 28), target)),
        ("grad of a small network", lambda: func.grad(energy)(point)),
        ("jacrev, 16 by 16", lambda: func.jacrev(mapped)(point)),
        ("jacfwd, 16 by 16", lambda: func.jacfwd(mapped)(point)),
        ("hessian, 16 by 16", lambda: func.hessian(energy)(point)),
    ]  # fmt: skip


def main() -> None:
    """Print milliseconds a call, and the ratio to PyTorch."""
    names = ["lamina"] + ["torch"] * has_torch()
    if len(names) == 1:
        note("PyTorch is not installed: times of Lamina alone")
    rows = []
    for same in zip(*map(workloads, names), strict=True):
        times = best_seconds([call for _, call in same], calls=10)
        ratio = [f"{times[0] / times[1]:.2f}"] if len(times) > 1 else []
        rows.append([same[0][0], *[f"{1e3 * t:.2f}" for t in times], *ratio])
    print_table(["ms per call", *names, *(["ratio"] if len(names) > 1 else [])], rows)


if __name__ == "__main__":
    main()
