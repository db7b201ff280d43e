"""How forward mode finds the tangent of an operation's result.

Any operation has one without a rule of its own: its derivative rule is linear in the gradient, so
the derivative of that by the gradient is the product with the Jacobian. There are short ways for
what is linear, pointwise, or a product: `Op.tangent` says which. All is made of operations, so that
derivatives of any order and kind come about by nesting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lamina.core.batches import active_batches
from lamina.core.engine import run_backward
from lamina.core.modes import door, state
from lamina.core.op import LINEAR, POINTWISE, PRODUCT, ZERO, Op, traced
from lamina.core.stand_ins import stand_in
from lamina.core.tangents import zeros_like
from lamina.core.tensor import Tensor, wrap
from lamina.devices.batched import Batch, batches_of

Execute = Callable[..., Any]


def product_with_jacobian(
    execute: Execute, op: Op, values: Sequence[Any], tangents: dict[int, Any], outputs: list[Any]
) -> list[Any]:
    """The tangents of the outputs; None for one that has none, such as an index."""
    wanted = {position: t for position, t in tangents.items() if position in op.rules}
    is_smooth = [
        output is not None and output.dtype.is_differentiable and k not in op.constants
        for k, output in enumerate(outputs)
    ]
    if not any(is_smooth) or not op.is_differentiable:
        return [None] * len(outputs)
    if not wanted or all(op.rules[position] is ZERO for position in wanted):
        return [zeros_like(o) if s else None for o, s in zip(outputs, is_smooth, strict=True)]
    if op.tangent == LINEAR:
        found = _linear(execute, op, values, wanted)
    elif op.tangent == POINTWISE and _is_plain(values, tangents, outputs[0]):
        found = [_pointwise(op, values, wanted, outputs[0])]
    elif op.tangent == PRODUCT:
        found = [_multilinear(execute, op, values, wanted)]
    else:
        found = _general(execute, op, values, wanted, is_smooth)
    return [t if s else None for t, s in zip(found, is_smooth, strict=True)]


def _linear(execute: Execute, op: Op, values: Sequence[Any], tangents: dict[int, Any]) -> list[Any]:
    """The operation itself, on tangents."""
    given = list(values)
    for position in op.rules:
        value, tangent = values[position], tangents.get(position)
        if isinstance(value, list):
            parts = tangent or [None] * len(value)
            given[position] = [
                zeros_like(v) if t is None else t for v, t in zip(value, parts, strict=True)
            ]
        elif isinstance(value, Tensor):
            given[position] = zeros_like(value) if tangent is None else tangent
        elif value is not None:
            given[position] = 0 * value  # a number does not change
    result = execute(op, given)
    return list(result) if isinstance(result, tuple | list) else [result]


def _is_plain(values: Sequence[Any], tangents: dict[int, Any], output: Tensor) -> bool:
    """Whether all is real and of one dtype, so that there is nothing to undo."""
    kind = output._array.dtype
    tensors = [value for value in (*values, *tangents.values()) if isinstance(value, Tensor)]
    return kind.kind == "f" and all(tensor._array.dtype == kind for tensor in tensors)


def _pointwise(op: Op, values: Sequence[Any], tangents: dict[int, Any], output: Tensor) -> Any:
    """The derivative rule, which multiplies by the derivative, applied to the tangents."""
    total = None
    for position, tangent in tangents.items():
        if tangent._array.shape != output._array.shape:
            tangent = traced.broadcast_to(tangent, output._array.shape)
        rule = op.rules[position]
        needed = [_needed(source, values, output) for source in op.getters[position]]
        part = rule(traced, tangent, *needed)
        total = part if total is None else total + part
    return total


def _needed(source: tuple[str, Any], values: Sequence[Any], output: Tensor) -> Any:
    """What a parameter of a pointwise rule stands for."""
    kind, position = source
    if kind == "out":
        return output
    value = values[position]
    if kind == "shape":
        return value._array.shape
    return value._array.dtype if kind == "dtype" else value


def _multilinear(execute: Execute, op: Op, values: Sequence[Any], tangents: dict[int, Any]) -> Any:
    """The operation with each factor replaced by its tangent in turn; a bias is added once."""
    total = None
    for position, tangent in tangents.items():
        if op.names[position] == "bias":
            (part,) = _general(execute, op, values, {position: tangent}, [True])
        else:
            given = list(values)
            given[position] = tangent
            if "bias" in op.names:
                given[op.names.index("bias")] = None
            part = execute(op, given)
        total = part if total is None else total + part
    return total


def _general(
    execute: Execute, op: Op, values: Sequence[Any], tangents: dict[int, Any], is_smooth: list[bool]
) -> list[Any]:
    """The derivative, by the gradient, of the operation's derivative rule."""
    flat_tangents: list[Tensor] = []
    stand_ins: list[Tensor] = []
    records = state.grad_enabled
    given = list(values)
    batches = _batches_among(values, tangents)

    def replaced(value: Any, tangent: Any) -> Any:
        if tangent is None:
            return value
        made = stand_in(value, records, batches)
        stand_ins.append(made)
        flat_tangents.append(tangent)
        return made

    for position, tangent in tangents.items():
        value = values[position]
        is_list = isinstance(value, list)
        pairs = zip(value, tangent, strict=True) if is_list else [(value, tangent)]
        made = [replaced(v, t) for v, t in pairs]
        given[position] = made if is_list else made[0]
    leads_on = records and any(
        tensor._requires_grad for tensor in (*_tensors_of(values), *flat_tangents)
    )
    door.set_grad_enabled(True)
    try:
        result = execute(op, given)
        outputs = list(result) if isinstance(result, tuple | list) else [result]
        return _twice(outputs, is_smooth, stand_ins, flat_tangents, leads_on)
    finally:
        door.set_grad_enabled(records)


def _tensors_of(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, Tensor))


def _batches_among(values: Sequence[Any], tangents: dict[int, Any]) -> list[Batch]:
    """The batches under way that an input or its tangent is in, the outermost first."""
    if not state.mappings:
        return []
    flat = [*values, *tangents.values()]
    among = {batch for tensor in _tensors_of(flat) for batch in batches_of(tensor._array)}
    return [batch for batch in active_batches() if batch in among]


def _twice(
    outputs: list[Any], is_smooth: list[bool], stand_ins: list[Tensor], tangents: list[Tensor],
    leads_on: bool,
) -> list[Any]:  # fmt: skip
    """Two backward passes: for gradients as a function of cotangents, and by the cotangents."""
    roots = [o for o, s in zip(outputs, is_smooth, strict=True) if s and o.requires_grad]
    # Not zeros: a rule that goes by way of logarithms has no derivative there.
    weights = [wrap(np.ones_like(root._array), None).requires_grad_() for root in roots]
    if not roots:
        return [zeros_like(o) if s else None for o, s in zip(outputs, is_smooth, strict=True)]
    pulled = run_backward(
        roots, weights, retain_graph=True, create_graph=True, inputs=stand_ins, accumulate=False
    )
    pairs = [
        (gradient, traced.cast_like_input(t, gradient._array.dtype))
        for gradient, t in zip(pulled, tangents, strict=True)
        if gradient is not None and gradient.requires_grad
    ]
    found: list[Any] = [None] * len(roots)
    if pairs:
        found = run_backward(
            [gradient for gradient, _ in pairs],
            [tangent for _, tangent in pairs],
            retain_graph=leads_on,
            create_graph=leads_on,
            inputs=weights,
            accumulate=False,
        )
    by_root = dict(zip(map(id, roots), found, strict=True))
    results = []
    for output, smooth in zip(outputs, is_smooth, strict=True):
        tangent = by_root.get(id(output))
        results.append(None if not smooth else zeros_like(output) if tangent is None else tangent)
    return results
