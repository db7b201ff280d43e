"""How single steps become pointwise operations, reductions and products.

`lowered` gives what a step computes, or None where it has to stay a call of NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina.codegen.graph import (
    JOIN,
    POINTWISE,
    PRODUCT,
    REDUCTION,
    Node,
    Number,
    Operand,
    Value,
    View,
    settled,
)
from lamina.codegen.pointwise_table import FLOATS, LOGICAL, REDUCTIONS, UFUNCS, is_looped
from lamina.codegen.vectorized import OWN
from lamina.devices.array_functions import is_array_function
from lamina.devices.layouts import dense_strides
from lamina.devices.recording import Ref, Step

if TYPE_CHECKING:
    from lamina.codegen.lowering import Lowering

_PLAIN: Final = (bool, int, float, np.generic)


def is_method(function: Any, name: str) -> bool:
    """Whether a function is that method of a ufunc."""
    owner = getattr(function, "__self__", None)
    return isinstance(owner, np.ufunc) and function.__name__ == name


def is_numpy(function: Any) -> bool:
    """Whether a function is NumPy's, or like one: it gives the same for the same arguments."""
    owner = getattr(function, "__self__", None)
    if isinstance(function, np.ufunc) or isinstance(owner, np.ufunc):
        return True
    module = getattr(function, "__module__", "") or ""
    return module.split(".")[0] == "numpy" or is_array_function(function)


def lowered(work: Lowering, step: Step, args: Any, kwargs: dict[str, Any]) -> Operand | None:
    """What stands for the result of a step; `args` and `kwargs` are without `out`."""
    if len(step.outputs) != 1:
        return None
    function = step.function
    if isinstance(function, np.ufunc) and function in UFUNCS:
        return _ufunc(work, step, args, kwargs)
    if function in OWN:
        return _own(work, step, args)
    if function in REDUCTIONS:
        return _reduction(work, step, *args, **kwargs)
    rule = _FUNCTIONS.get(function)
    try:
        return None if rule is None else rule(work, step, *args, **kwargs)
    except TypeError:  # an argument that the rule does not know
        return None


# --- operands ------------------------------------------------------------------------------------


def operand_of(work: Lowering, argument: Any) -> Any:
    """An argument as an operand: a view, or the number itself. None for anything else."""
    if isinstance(argument, Ref):
        found = work.read(argument)
        kind = found.value.dtype if isinstance(found, Number) else found.dtype
        return found if is_looped(kind) else None
    return argument if isinstance(argument, _PLAIN) else None


def converted(
    work: Lowering, operand: Any, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Operand | None:
    """An operand in another dtype, spread to a shape; None where loops cannot do that."""
    if not is_looped(dtype):
        return None
    if isinstance(operand, Number):
        operand = operand.value
    if isinstance(operand, _PLAIN):
        with np.errstate(all="ignore"):
            made = np.full((), operand).astype(dtype) if _fits(operand, dtype) else None
        number: Any = None if made is None else made[()]
        return None if made is None else Number(number)
    if operand is None or not is_looped(operand.dtype):
        return None
    if operand.dtype != dtype:
        if operand.dtype.kind == "f" and dtype.kind in "iu":
            return None  # what NumPy makes of numbers out of range is the machine's
        operand = work.add(Node(POINTWISE, "cast", (operand,), ()), operand.shape, dtype)
    return operand if operand.shape == shape else spread(operand, shape)


def _fits(number: Any, dtype: np.dtype[Any]) -> bool:
    if dtype.kind not in "iu":
        return True
    if isinstance(number, float | np.floating):
        return False
    limits = np.iinfo(dtype)
    return bool(limits.min <= int(number) <= limits.max)


def spread(view: View, shape: tuple[int, ...]) -> View | None:
    """A view broadcast to a shape; None if it does not fit."""
    have = view.shape
    while len(have) > len(shape) and have[0] == 1:
        have = have[1:]
    missing = len(shape) - len(have)
    if missing < 0:
        return None
    sizes = (1,) * missing + have
    steps = (0,) * missing + view.strides[len(view.shape) - len(have) :]
    if any(size not in (1, wanted) for size, wanted in zip(sizes, shape, strict=True)):
        return None
    strides = tuple(0 if size == 1 else step for size, step in zip(sizes, steps, strict=True))
    return View(view.value, shape, view.dtype, strides, view.offset)


# --- ufuncs --------------------------------------------------------------------------------------


def _ufunc(work: Lowering, step: Step, args: Any, kwargs: dict[str, Any]) -> Operand | None:
    """A ufunc as a pointwise operation in the dtype of its loop."""
    ufunc: Any = step.function
    name, accepted = UFUNCS[ufunc]
    if kwargs.keys() - {"dtype"}:
        return None
    operands = [operand_of(work, argument) for argument in args]
    if any(operand is None for operand in operands):
        return None
    kind = work.type_of(step.outputs[0])
    if not is_looped(kind.dtype):
        return None
    loop = _loop_dtypes(step.function, operands, kwargs.get("dtype"))
    if name in LOGICAL:
        loop = (np.dtype(bool),) * len(loop)
    if len({dtype.char for dtype in loop[:-1]}) != 1 or loop[0].char not in accepted:
        return None
    return pointwise(work, name, operands, loop[0], loop[-1], step.outputs[0])


def _own(work: Lowering, step: Step, args: Any) -> Operand | None:
    """A function of our own, of floats, as a pointwise operation."""
    operands = [operand_of(work, argument) for argument in args]
    kind = work.type_of(step.outputs[0]).dtype
    if kind.char not in FLOATS or any(operand is None for operand in operands):
        return None
    return pointwise(work, OWN[step.function], operands, kind, kind, step.outputs[0])


def _loop_dtypes(ufunc: Any, operands: list[Any], dtype: Any) -> tuple[np.dtype[Any], ...]:
    """The dtypes that NumPy's loop has for these operands; Python numbers are weak."""
    found: list[Any] = []
    for operand in operands:
        if isinstance(operand, Number):
            found.append(operand.value.dtype)
        elif type(operand) in (int, float):
            found.append(type(operand))
        else:
            found.append(np.dtype(bool) if isinstance(operand, bool) else operand.dtype)
    options: dict[str, Any] = {}
    if dtype is not None:
        options["signature"] = (None,) * ufunc.nin + (np.dtype(dtype),)
    resolved: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes((*found, None), **options)
    return resolved


def pointwise(
    work: Lowering, name: str, operands: list[Any], loop: Any, made: Any, result: Ref
) -> Operand | None:
    """Append a pointwise operation: operands in the loop's dtype, the result as it was recorded."""
    kind = work.type_of(result)
    ready = [converted(work, operand, loop, kind.shape) for operand in operands]
    if any(operand is None for operand in ready):
        return None
    node = Node(POINTWISE, name, tuple(r for r in ready if r is not None), ())
    step = kind.dtype.itemsize
    same = made == kind.dtype
    strides = kind.strides if same else tuple(s // step * made.itemsize for s in kind.strides)
    if not _is_dense(kind.shape, strides, made):
        strides = None  # type: ignore[assignment]
    found: Operand | None = work.add(node, kind.shape, made, strides)
    return found if same else converted(work, found, kind.dtype, kind.shape)


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> bool:
    return Value(shape, dtype, settled(shape, strides)).is_dense


# --- functions -----------------------------------------------------------------------------------


def _where(work: Lowering, step: Step, condition: Any, x: Any, y: Any) -> Operand | None:
    kind = work.type_of(step.outputs[0])
    mask, *choices = (operand_of(work, argument) for argument in (condition, x, y))
    if mask is None:
        return None
    ready = [
        converted(work, mask, np.dtype(bool), kind.shape),
        *(converted(work, choice, kind.dtype, kind.shape) for choice in choices),
    ]
    if any(operand is None for operand in ready):
        return None
    node = Node(POINTWISE, "where", tuple(r for r in ready if r is not None), ())
    dense = _is_dense(kind.shape, kind.strides, kind.dtype)
    return work.add(node, kind.shape, kind.dtype, kind.strides if dense else None)


def _cast(work: Lowering, step: Step, x: Any, dtype: Any, *, copy: bool = True) -> Operand | None:
    source, kind = operand_of(work, x), work.type_of(step.outputs[0])
    if source is None or not is_looped(kind.dtype):
        return None
    there = source.value.dtype if isinstance(source, Number) else source.dtype
    if there.kind == "f" and kind.dtype.kind in "iu":
        return None
    if isinstance(source, Number):
        return converted(work, source, kind.dtype, kind.shape)
    name = "copy" if there == kind.dtype else "cast"
    return _moved(work, name, source, step)


def _moved(work: Lowering, name: str, source: Operand, step: Step) -> Operand:
    kind = work.type_of(step.outputs[0])
    dense = _is_dense(kind.shape, kind.strides, kind.dtype)
    strides = kind.strides if dense else None
    return work.add(Node(POINTWISE, name, (source,), ()), kind.shape, kind.dtype, strides)


def _copy(work: Lowering, step: Step, a: Any, order: str = "K") -> Operand | None:
    source = operand_of(work, a)
    return None if source is None else _moved(work, "copy", source, step)


def _reshape_copy(
    work: Lowering, step: Step, a: Any, shape: Any = None, **rest: Any
) -> Operand | None:
    """A reshape that had to copy: the elements in order, in memory of their own."""
    source = operand_of(work, a)
    kind = work.type_of(step.outputs[0])
    if source is None or rest:
        return None
    if isinstance(source, Number):
        return source
    laid = work.add(Node(POINTWISE, "copy", (source,), ()), source.shape, source.dtype)
    strides = work.graph.values[work.graph.new_value(kind.shape, kind.dtype)].strides
    return View(laid.value, kind.shape, kind.dtype, strides)


def _filled(value: Any) -> Callable[..., Operand | None]:
    def rule(work: Lowering, step: Step, *args: Any, **kwargs: Any) -> Operand | None:
        kind = work.type_of(step.outputs[0])
        return converted(work, value, kind.dtype, kind.shape)

    return rule


def _full(work: Lowering, step: Step, shape: Any, fill_value: Any, *rest: Any, **kw: Any) -> Any:
    kind = work.type_of(step.outputs[0])
    return converted(work, operand_of(work, fill_value), kind.dtype, kind.shape)


def _clip(
    work: Lowering, step: Step, a: Any, a_min: Any = None, a_max: Any = None, **kw: Any
) -> Any:
    a_min, a_max = kw.pop("min", a_min), kw.pop("max", a_max)
    kind, found = work.type_of(step.outputs[0]), operand_of(work, a)
    if kw or found is None or not is_looped(kind.dtype):
        return None
    for name, limit in (("maximum", a_min), ("minimum", a_max)):
        if limit is not None and found is not None:
            bounds = [found, operand_of(work, limit)]
            if bounds[1] is None:
                return None
            found = pointwise(work, name, bounds, kind.dtype, kind.dtype, step.outputs[0])
    return found


def _dot(work: Lowering, step: Step, a: Any, b: Any) -> Operand | None:
    """A product of matrices (or stacks of them) of floats."""
    if not all(isinstance(argument, Ref) and operand_of(work, argument) for argument in (a, b)):
        return None
    left, right = work.view_of(a), work.view_of(b)
    kind = work.type_of(step.outputs[0])
    if 0 in (*left.shape, *right.shape):
        return None
    if left.dtype != right.dtype or left.dtype.char not in FLOATS or len(left.shape) < 2:
        return None
    if len(right.shape) < 2 or (step.function is np.dot and len(left.shape) + len(right.shape) > 4):
        return None
    node = Node(PRODUCT, "matmul", (left, right), ())
    return work.add(node, kind.shape, kind.dtype)


_STARTS: Final = {"sum": 0.0, "max": -math.inf, "min": math.inf}


def _reduction(work: Lowering, step: Step, a: Any, axis: Any = 0, *rest: Any, **kw: Any) -> Any:
    """A reduction; its result is seen through the recorded shape, which may keep the axes."""
    if not is_method(step.function, "reduce") and not rest and axis == 0 and len(step.args) < 2:
        axis = step.kwargs.get("axis", None)
    kw = {k: v for k, v in kw.items() if k not in ("axis", "keepdims") and v is not None}
    source, name = operand_of(work, a), REDUCTIONS[step.function]
    if kw.get("initial") == _STARTS[name]:
        del kw["initial"]  # where sums begin anyway
    kind = work.type_of(step.outputs[0])
    if rest or kw.keys() - {"dtype"} or not isinstance(source, View) or not is_looped(kind.dtype):
        return None
    if (name == "sum" and kind.dtype.kind == "b") or 0 in source.shape or not source.shape:
        return None
    ready = converted(work, source, kind.dtype, source.shape)
    if not isinstance(ready, View):
        return None
    count = len(source.shape)
    axes = range(count) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = tuple(sorted({int(i) % count for i in axes}))
    shape = tuple(size for i, size in enumerate(source.shape) if i not in gone)
    found = work.add(Node(REDUCTION, name, (ready,), (), axes=gone), shape, kind.dtype)
    strides = work.graph.values[work.graph.new_value(kind.shape, kind.dtype)].strides
    return View(found.value, kind.shape, kind.dtype, strides)


def _vecdot(work: Lowering, step: Step, a: Any, b: Any) -> Operand | None:
    """Sums of products along the last axis, which loops can take together with what is around."""
    kind = work.type_of(step.outputs[0])
    operands = [operand_of(work, argument) for argument in (a, b)]
    if kind.dtype.char not in FLOATS or not all(isinstance(o, View) for o in operands):
        return None
    shape = np.broadcast_shapes(*(operand.shape for operand in operands))
    ready = [converted(work, operand, kind.dtype, shape) for operand in operands]
    if 0 in shape or any(operand is None for operand in ready):
        return None
    node = Node(POINTWISE, "multiply", tuple(r for r in ready if r is not None), ())
    products = work.add(node, shape, kind.dtype)
    axes = (len(shape) - 1,)
    return work.add(Node(REDUCTION, "sum", (products,), (), axes=axes), kind.shape, kind.dtype)


def _concatenate(work: Lowering, step: Step, arrays: Any, axis: int = 0) -> Operand | None:
    """Arrays side by side: each is made where it belongs in the result's memory."""
    kind = work.type_of(step.outputs[0])
    parts = [operand_of(work, array) for array in arrays]
    if (
        axis is None
        or not is_looped(kind.dtype)
        or 0 in kind.shape
        or any(p is None for p in parts)
    ):
        return None
    whole = work.graph.new_value(kind.shape, kind.dtype)
    steps = dense_strides(kind.shape, kind.dtype.itemsize)
    offset, made = 0, []
    for array, part in zip(arrays, parts, strict=True):
        shape = work.type_of(array).shape
        if 0 in shape:
            continue
        ready = converted(work, part, kind.dtype, shape)
        if ready is None:
            return None
        view = work.add(Node(POINTWISE, "copy", (ready,), ()), shape, kind.dtype, steps)
        work.graph.inside[view.value] = whole, offset
        offset += shape[axis] * steps[axis]
        made.append(view)
    work.graph.nodes.append(Node(JOIN, "join", tuple(made), (whole,)))
    return work.graph.whole(whole)


_FUNCTIONS: Final[dict[Any, Callable[..., Operand | None]]] = {
    np.where: _where,
    np.astype: _cast,
    np.copy: _copy,
    np.reshape: _reshape_copy,
    np.zeros_like: _filled(0),
    np.ones_like: _filled(1),
    np.empty_like: _filled(0),
    np.zeros: _filled(0),
    np.ones: _filled(1),
    np.empty: _filled(0),
    np.full: _full,
    np.full_like: _full,
    np.clip: _clip,
    np.concatenate: _concatenate,
    np.dot: _dot,
    np.matmul: _dot,
    np.vecdot: _vecdot,
}
