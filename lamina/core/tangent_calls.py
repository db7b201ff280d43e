"""What operations do in forward mode: they run with a level hidden, and then for the tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lamina.core import blame
from lamina.core.node import Node, OutputEdge
from lamina.core.op import Op, traced
from lamina.core.saved import KeptResult
from lamina.core.tangent_rules import product_with_jacobian
from lamina.core.tangents import (
    Level,
    attach,
    hidden,
    set_tangent,
    tangent_of,
    zeros_like,
)
from lamina.core.tensor import Tensor

Execute = Callable[..., Any]


def call_with_tangents(execute: Execute, op: Op, values: list[Any], out: Any, level: Level) -> Any:
    """Run an operation on values of which some have tangents at a level."""
    if out is not None:
        blame.check_out(op.name, out, True, [v for v in values if isinstance(v, Tensor)])
    tangents = tangents_among(op, values, level)
    with hidden(level):
        result = execute(op, list(values))
        outputs = list(result) if isinstance(result, tuple | list) else [result]
        found = product_with_jacobian(execute, op, values, tangents, outputs)
    for output, tangent in zip(outputs, found, strict=True):
        if tangent is not None and not (output._view is not None and op.is_view):
            attach(output, level, tangent)
    return result


def tangents_among(op: Op, values: Sequence[Any], level: Level) -> dict[int, Any]:
    """By the position of each input: its tangent, or a list of them (None where there is none)."""
    found: dict[int, Any] = {}
    for position in op.tensor_positions:
        value = values[position]
        if isinstance(value, list):
            parts = [tangent_of(item, level) for item in value]
            if any(part is not None for part in parts):
                found[position] = parts
        elif isinstance(value, Tensor) and (tangent := tangent_of(value, level)) is not None:
            found[position] = tangent
    return found


def change_with_tangents(
    execute: Execute, change: Callable[..., Tensor], op: Op, target: Tensor, values: list[Any],
    level: Level,
) -> Tensor:  # fmt: skip
    """Change a tensor in place where it, or what it is changed by, has tangents at a level."""
    tangents = tangents_among(op, values, level)
    with hidden(level):
        old = [traced.clone(target), *values[1:]]
        result = execute(op, list(old))
        outputs = list(result) if isinstance(result, tuple) else [result]
        if op.is_flat:
            tangent = None
        else:
            tangent = product_with_jacobian(execute, op, old, tangents, outputs)[0]
        if tangent is None:
            tangent = zeros_like(target)
        if tangent._array.dtype != target._array.dtype:
            tangent = traced.cast_like_input(tangent, target._array.dtype)
        if tangent._array.shape != target._array.shape:
            tangent = traced.broadcast_to(tangent, target._array.shape)
        change(op, target, values)
    if target.dtype.is_differentiable:
        set_tangent(target, level, tangent)
        _keep_of_written(target, level, tangent)
    return target


def _keep_of_written(target: Tensor, level: Level, tangent: Tensor) -> None:
    """What the node of a change keeps of its result gets the tangent too."""
    node = target._node if target._view is None else target._view.base._node
    node = node.node if node.__class__ is OutputEdge else node
    node = node.saved if isinstance(getattr(node, "saved", None), Node) else node
    if node is None or node.saved.__class__ is not tuple:
        return
    for entry in node.saved:
        if entry.__class__ is KeptResult:
            entry.tangents = {**(entry.tangents or {}), level: tangent}
