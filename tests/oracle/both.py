"""Every operation's samples, called by its public name in PyTorch and in Lamina."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import lamina
from lamina.core.op import Op, catalogue, is_written
from lamina.core.samples import Make

Pair = tuple[Any, Any]


def callers(name: str) -> Iterator[tuple[str, Pair]]:
    """The functions and methods of an operation's name that both have."""
    spaces: list[tuple[str, Pair]] = [
        ("torch.", (lamina, torch)),
        ("Tensor.", (lamina.Tensor, torch.Tensor)),
        ("functional.", (lamina.nn.functional, torch.nn.functional)),
    ]
    for prefix, space in (("linalg_", "linalg"), ("fft_", "fft"), ("special_", "special")):
        if name.startswith(prefix):
            pair = getattr(lamina, space), getattr(torch, space)
            spaces.append((space + ".", pair))
            name = name.removeprefix(prefix)
    for label, (ours, theirs) in spaces:
        if hasattr(ours, name) and hasattr(theirs, name):
            yield label + name, (getattr(ours, name), getattr(theirs, name))


def as_tensors(module: Any, value: Any) -> Any:
    """A sample's arguments for one of the two modules."""
    if isinstance(value, np.ndarray):
        return module.tensor(value)
    if isinstance(value, np.dtype):
        return getattr(module, value.name)
    if type(value) in (list, tuple):
        return type(value)(as_tensors(module, item) for item in value)
    return value


def flagged(op: Op, args: Any) -> None:
    """Ask for the gradients of all inputs that have a derivative."""
    for position, value in enumerate(args):
        if position in op.tensor_positions and is_written(op.rules.get(position)):
            for tensor in value if isinstance(value, list | tuple) else [value]:
                if hasattr(tensor, "requires_grad_") and (
                    tensor.is_floating_point() or tensor.is_complex()
                ):
                    tensor.requires_grad_()


def results(op: Op) -> Iterator[tuple[str, Any, Any]]:
    """(name of the function, Lamina's tensors, PyTorch's) for each sample that both can take."""
    for sample in op.samples(Make(zlib.crc32(op.name.encode()))):
        for label, functions in callers(op.name):
            outcomes = []
            for module, function in zip((lamina, torch), functions, strict=True):
                args = [as_tensors(module, value) for value in sample.args]
                flagged(op, args)
                kwargs = {key: as_tensors(module, v) for key, v in sample.kwargs.items()}
                module.manual_seed(0)
                try:
                    made = function(*args, **kwargs)
                except Exception:  # the sample is one of the kernel's own signature
                    break
                outputs = made if isinstance(made, list | tuple) else [made]
                if not all(isinstance(o, module.Tensor) for o in outputs):
                    break
                outcomes.append(outputs)
            if len(outcomes) == 2 and len(outcomes[0]) == len(outcomes[1]):
                yield label, outcomes[0], outcomes[1]


WITH_SAMPLES = sorted(name for name, op in catalogue.items() if op.samples is not None)
