"""What a workload is, and the list of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final


@final
class Workload(NamedTuple):
    """Something to time.

    Attributes:
        name: What the command line calls it.
        about: One line for the reader.
        build: Sets it up on a module with PyTorch's names. The same seed gives both libraries the
            same parameters and inputs.
        rtol: How far results may be apart, relative to the largest of them.
    """

    name: str
    about: str
    build: Callable[[Any], Callable[[], Any]]
    rtol: float = 1e-4


def numbers(results: Any, most: int = 500) -> list[list[float]]:
    """Elements from all over each result, and each one's sum of squares."""
    tensors = results if isinstance(results, Sequence) else [results]
    found = []
    for tensor in tensors:
        flat = tensor.detach().reshape(-1)
        step = max(flat.shape[0] // most, 1)
        total = float((flat.double() * flat.double()).sum())
        found.append([*map(float, flat[::step].tolist()), total])
    return found
