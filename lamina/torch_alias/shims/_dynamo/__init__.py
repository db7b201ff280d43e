"""`torch._dynamo`: the switches that programs set are kept, and change nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lamina.compiler.controls import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
)
from lamina.compiler.module import CompiledModule as OptimizedModule

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "reset",
]

config = SimpleNamespace(
    cache_size_limit=8, capture_dynamic_output_shape_ops=False, capture_scalar_outputs=False,
    suppress_errors=False, verbose=False,
)  # fmt: skip


def graph_break(msg: str = "") -> None:
    """Nothing: what cannot be recorded shows by itself."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Nothing: a new shape is recorded anew."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Nothing: a new shape is recorded anew."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: a program is made for one shape anyway."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Nothing: a program is given its tensors' memory at each call."""
