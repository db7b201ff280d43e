"""Forward mode: tensors that carry tangents, and what operations do with them.

A tangent belongs to a level, which one `jvp` or `dual_level` opens; at each level a tensor has one
tangent or none. The memory has it, so to say: only a base holds one, and a view's is the same view
of it. An operation on tensors with tangents runs as ever with that level hidden, and then once more
for the tangent, which is made of operations too: so derivatives of any order and kind come about
by nesting.

Any operation has a tangent without a rule of its own: its derivative rule is linear in the
gradient, so the derivative of that by the gradient is the product with the Jacobian. There are
short ways for what is linear, pointwise, or a product (`Op.tangent`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

import numpy as np

from lamina.core import blame
from lamina.core.batches import active_batches
from lamina.core.engine import run_backward
from lamina.core.modes import door, state
from lamina.core.node import Node, OutputEdge
from lamina.core.op import LINEAR, POINTWISE, PRODUCT, ZERO, Op, traced
from lamina.core.saved import KeptResult
from lamina.core.stand_ins import stand_in
from lamina.core.tensor import Tensor, wrap
from lamina.core.views import replay
from lamina.devices.batched import Batch, batches_of

Execute = Callable[..., Any]


@final
class Level:
    """One forward pass: what its tangents are kept by."""

    __slots__ = ("_carriers",)

    def __init__(self) -> None:
        self._carriers: list[weakref.ref[Tensor]] = []

    def note(self, tensor: Tensor) -> None:
        """Remember a tensor that got a tangent of this level."""
        self._carriers.append(weakref.ref(tensor))

    def forget(self) -> None:
        """Drop all tangents of this level."""
        for reference in self._carriers:
            tensor = reference()
            if tensor is not None:
                tensor.__dict__.get("tangents", {}).pop(self, None)
        self._carriers.clear()


def open_level() -> Level:
    """Begin a level inside those that are open."""
    level = Level()
    state.duals = (*state.duals, level)
    door.watch(1)
    return level


def close_level(level: Level) -> None:
    """End a level; its tangents are dropped."""
    door.watch(-1)
    state.duals = tuple([each for each in state.duals if each is not level])
    level.forget()


@contextmanager
def hidden(level: Level) -> Iterator[None]:
    """Inside, a level and those inside it are not seen by operations."""
    before = state.duals
    state.duals = before[: before.index(level)]
    try:
        yield
    finally:
        state.duals = before


# --- the tangent of a tensor ---------------------------------------------------------------------


def tangent_of(tensor: Tensor, level: Level) -> Tensor | None:
    """A tensor's tangent at a level, if it has one."""
    view = tensor._view
    held: Tensor | None = (
        (tensor if view is None else view.base).__dict__.get("tangents", {}).get(level)
    )
    if held is None or view is None:
        return held
    with hidden(level):
        seen: Tensor = replay(traced, held, view.steps)
    return seen


def set_tangent(tensor: Tensor, level: Level, tangent: Tensor) -> None:
    """Give a tensor a tangent; a view gives its part to the base."""
    view = tensor._view
    if view is not None:
        base = view.base
        with hidden(level):
            whole = tangent_of(base, level)
            whole = traced.zeros_like(base).detach() if whole is None else whole
            tangent = traced.overwrite_view(whole, tangent, view.steps)
        tensor = base
    tensor.__dict__.setdefault("tangents", {})[level] = tangent
    level.note(tensor)


def without_tangent(tensor: Tensor, level: Level) -> Tensor:
    """The tensor as another object of the same memory, without its tangent at a level."""
    made: Tensor = traced.view(tensor, tensor._array.shape)
    made._view = None  # else tangents would be the original's too
    for other in state.duals:
        if other is not level and (tangent := tangent_of(tensor, other)) is not None:
            set_tangent(made, other, tangent)
    return made


def innermost_level(tensors: Sequence[Any]) -> Level | None:
    """The innermost open level at which one of the tensors has a tangent."""
    for level in reversed(state.duals):
        for tensor in tensors:
            base = tensor if tensor._view is None else tensor._view.base
            tangents = base.__dict__.get("tangents")
            if tangents is not None and level in tangents:
                return level  # type: ignore[no-any-return]
    return None


# --- operations ----------------------------------------------------------------------------------


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


def attach(output: Tensor, level: Level, tangent: Tensor) -> None:
    """Give a new tensor its tangent; what its node keeps of it gets it too."""
    set_tangent(output, level, tangent)
    node = output._node.node if output._node.__class__ is OutputEdge else output._node
    if node is None or node.saved.__class__ is not tuple:
        return
    for entry in node.saved:
        if entry.__class__ is KeptResult and entry.array is output._array:
            entry.tangents = output.__dict__.get("tangents")


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
        return [_zeros(o) if s else None for o, s in zip(outputs, is_smooth, strict=True)]
    if op.tangent == LINEAR and set(op.rules) == set(op.tensor_positions):
        found = _linear(execute, op, values, wanted)
    elif op.tangent == POINTWISE and _is_plain(values, tangents, outputs[0]):
        found = [_pointwise(op, values, wanted, outputs[0])]
    elif op.tangent == PRODUCT:
        found = [_multilinear(execute, op, values, wanted)]
    else:
        found = _general(execute, op, values, wanted, is_smooth)
    return [t if s else None for t, s in zip(found, is_smooth, strict=True)]


def _zeros(tensor: Tensor) -> Tensor:
    return wrap(np.zeros_like(tensor._array), None)


def _linear(execute: Execute, op: Op, values: Sequence[Any], tangents: dict[int, Any]) -> list[Any]:
    """The operation itself, on tangents."""
    given = list(values)
    for position in op.tensor_positions:
        value, tangent = values[position], tangents.get(position)
        if isinstance(value, list):
            parts = tangent or [None] * len(value)
            given[position] = [
                _zeros(v) if t is None else t for v, t in zip(value, parts, strict=True)
            ]
        elif isinstance(value, Tensor):
            given[position] = _zeros(value) if tangent is None else tangent
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
        return [_zeros(o) if s else None for o, s in zip(outputs, is_smooth, strict=True)]
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
        results.append(None if not smooth else _zeros(output) if tangent is None else tangent)
    return results


# --- changes in place ----------------------------------------------------------------------------


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
            tangent = _zeros(target)
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


def carry_over(tensor: Tensor, other: Tensor) -> None:
    """Give another tensor of the same elements the tangents that one has, at whatever level."""
    view = tensor._view
    held = (tensor if view is None else view.base).__dict__.get("tangents")
    if held:
        other.__dict__["tangents"] = {
            level: tangent if view is None else replay(traced, tangent, view.steps)
            for level, tangent in held.items()
        }
        for level in held:
            level.note(other)


def move_tangents(target: Tensor, function: Callable[..., Any], *args: Any) -> None:
    """A tensor became the view of itself that an operation makes: its tangents do so too."""
    if target._view is not None:
        return  # they are the base's
    for level in state.duals:
        tangent = tangent_of(target, level)
        if tangent is not None:
            with hidden(level):
                set_tangent(target, level, function(tangent, *args))


def forget_tangents(target: Tensor) -> None:
    """A tensor was overwritten with values that depend on nothing: its tangents are zero."""
    for level in state.duals:
        if tangent_of(target, level) is not None:
            set_tangent(target, level, _zeros(target))
