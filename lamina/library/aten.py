"""`torch.ops.aten`: Lamina's own operations, where names and arguments agree with PyTorch's.

The declarations are recorded from PyTorch in `aten_declarations.txt`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module, resources
from typing import Any

from lamina.core.tensor import Tensor
from lamina.library import registry
from lamina.library.registry import COMPOSITE

__all__ = ["function_of", "load", "names"]


@functools.cache
def _recorded() -> dict[str, list[str]]:
    text = resources.files(__package__).joinpath("aten_declarations.txt").read_text("utf-8")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name = line[: line.index("(")].partition(".")[0]
        found.setdefault(name, []).append(line)
    return found


def names() -> list[str]:
    """The names of all operators in `aten`."""
    return list(_recorded())


@functools.cache
def load(name: str) -> None:
    """Define the overloads of an operator, if it is one that Lamina has."""
    for declaration in _recorded().get(name, ()):
        function = function_of(name)
        if function is not None:
            registry.define("aten", declaration).kernels[COMPOSITE] = function


def function_of(name: str) -> Callable[..., Any] | None:
    """Lamina's public function, or method of tensors, of that name."""
    # The front door, which knows all public names, is there: it is imported before any of its parts.
    for home in (sys.modules["lamina"], Tensor, import_module("lamina.nn.functional")):
        found = getattr(home, name, None)
        if callable(found) and not isinstance(found, type):
            return found
    return None
