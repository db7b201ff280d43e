"""What programs ask of the compiler beside `compile` itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def is_compiling() -> bool:
    """False: a program's own code runs once while it is recorded, and as written."""
    return False


def is_dynamo_compiling() -> bool:
    """False, as `is_compiling`."""
    return False


def is_exporting() -> bool:
    """False: there is no export."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function as it is; also `@disable()`. A recording goes through it like through any."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: _Function) -> _Function:
    """The function as it is: every function may be recorded."""
    return fn


def assume_constant_result(fn: _Function) -> _Function:
    """The function as it is: what it gives when it is recorded is kept anyway."""
    return fn


def reset() -> None:
    """Nothing: each compiled function keeps its own programs."""


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no CUDA graphs."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The one compiler there is, under the name that PyTorch's default has."""
    return ["inductor"]
