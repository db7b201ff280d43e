"""`torch.ops.aten`: Lamina's own operations, where names and arguments agree with PyTorch's.

The declarations are recorded from PyTorch in `aten_declarations.txt`, which has only those for
which that was found to be so.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from importlib import import_module, resources
from typing import Any

from lamina.core.tensor import Tensor
from lamina.library import registry
from lamina.library.registry import COMPOSITE
from lamina.library.schema import FunctionSchema

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
            operator = registry.define("aten", declaration)
            operator.kernels[COMPOSITE] = _by_name(function, operator.declared)


def _by_name(function: Callable[..., Any], schema: FunctionSchema) -> Callable[..., Any]:
    """A function that is given by name what it takes by name alone, as `alpha` of `add`."""
    known = inspect.signature(function).parameters.values()
    by_name = {each.name for each in known if each.kind is each.KEYWORD_ONLY}
    names = [argument.name for argument in schema.positional]
    count = sum(name not in by_name for name in names)
    if count == len(names):
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names[count:], args[count:], strict=False))
        return function(*args[:count], **given, **kwargs)

    return call


def function_of(name: str) -> Callable[..., Any] | None:
    """Lamina's public function, or method of tensors, of that name."""
    # The front door knows all public names, and is imported before any of its parts.
    for home in (sys.modules["lamina"], Tensor, import_module("lamina.nn.functional")):
        found: Any = getattr(home, name, None)
        if callable(found) and not isinstance(found, type):
            return found
    return None
