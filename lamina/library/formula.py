"""Records calls of operators: the node of each, which calls the derivative that was registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from lamina.autograd.function import Function, FunctionMeta, record_call
from lamina.core.origins import CUT_NOT_DIFFERENTIABLE
from lamina.core.positions import here
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.library import blame
from lamina.library.registry import Operator

__all__ = ["recorded", "recorded_without_formula", "requires_grad"]

Compute = Callable[[], Any]


def requires_grad(values: Any) -> bool:
    """Whether a tensor among values, or in lists among them, requires grad."""
    for value in values:
        if isinstance(value, Tensor):
            if value.requires_grad:
                return True
        elif isinstance(value, list) and requires_grad(value):
            return True
    return False


def recorded(
    operator: Operator, positional: list[Any], by_name: dict[str, Any], given: int, compute: Compute
) -> Any:
    """The results of a call whose arguments require grad, with a node.

    Args:
        positional, by_name: The arguments, with defaults.
        given: How many by position there are up to the last that is no default: so many gradients
            are enough.
        compute: Gives the results, below derivatives.
    """
    if operator.function_class is None:
        operator.function_class = _function_class(operator)
    flat, nest = _flattened(positional)
    results = _Nest()
    place = here()

    def forward(ctx: Any) -> tuple[Any, ...]:
        found = compute()
        ctx.needs_input_grad = tuple(_unflattened(list(ctx.needs_input_grad), nest))
        _set_up(operator, ctx, positional, by_name, found)
        parts, results.lengths = _flattened(_as_tuple(found))
        for part in parts:
            if isinstance(part, Tensor) and not part.dtype.is_differentiable:
                part._origin = (*place, operator.qualname, CUT_NOT_DIFFERENTIABLE, None)
        results.is_tuple = isinstance(found, tuple)
        ctx._operator_nests = nest, results.lengths, given
        return tuple(parts)

    made, _ = record_call(operator.function_class, tuple(flat), forward)
    parts = _unflattened(list(made), results.lengths)
    return tuple(parts) if results.is_tuple else parts[0]


@final
class _Nest:
    """How the results of a call are put together."""

    lengths: list[int | None]
    is_tuple: bool


def _set_up(
    operator: Operator, ctx: Any, positional: list[Any], by_name: dict[str, Any], found: Any
) -> None:
    formula = operator.formula
    if formula is None or formula.setup_context is None:
        return
    if operator.declared.keyword_only:
        formula.setup_context(
            ctx=ctx, inputs=tuple(positional), keyword_only_inputs=by_name, output=found
        )
    else:
        formula.setup_context(ctx=ctx, inputs=tuple(positional), output=found)


# --- lists of tensors ----------------------------------------------------------------------------
# Nodes know tensors, not lists. A nest is the length of each list of tensors among values, and None
# for a value that is none.


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, Tensor) for each in value)


def _flattened(values: Any) -> tuple[list[Any], list[int | None]]:
    flat: list[Any] = []
    nest: list[int | None] = []
    for value in values:
        if _is_list(value):
            flat += value
            nest.append(len(value))
        else:
            flat.append(value)
            nest.append(None)
    return flat, nest


def _unflattened(flat: list[Any], nest: list[int | None]) -> list[Any]:
    found: list[Any] = []
    start = 0
    for length in nest:
        count = 1 if length is None else length
        found.append(flat[start] if length is None else flat[start : start + count])
        start += count
    return found


# --- the Function of an operator -----------------------------------------------------------------


def _function_class(operator: Operator) -> type[Function]:
    """The Function whose nodes call an operator's derivative."""
    formula = operator.formula
    name = "GeneratedBackwardFor_" + operator.shown.replace(".", "_")

    def forward(*args: Any) -> Any:
        raise NotImplementedError("an operator computes its results itself")

    def backward(ctx: Any, *gradients: Any) -> Any:
        if formula is None:
            node = ctx._node() if ctx._node is not None else None
            raise blame.no_formula(operator.shown, node, operator.kernel)
        nest, results, given = ctx._operator_nests
        found = _as_tuple(formula.backward(ctx, *_unflattened(list(gradients), results)))
        if given <= len(found) < len(nest):
            found += (None,) * (len(nest) - len(found))
        return _flat_gradients(operator, found, nest)

    # Errors show where the user's own functions are written: they look through wrappers.
    if operator.kernel is not None:
        forward.__wrapped__ = operator.kernel  # type: ignore[attr-defined]
    if formula is not None:
        backward.__wrapped__ = formula.backward  # type: ignore[attr-defined]
    methods = {"forward": forward, "backward": backward, "setup_context": _set_up}
    attributes = {key: staticmethod(method) for key, method in methods.items()}
    made: Any = FunctionMeta(name, (Function,), attributes)
    made._backward_cls._word = operator.qualname
    return made


def _flat_gradients(
    operator: Operator, gradients: tuple[Any, ...], nest: list[int | None]
) -> tuple[Any, ...]:
    """What a formula returned, one gradient for each tensor of the arguments."""
    if all(length is None for length in nest):
        return gradients
    flat: list[Any] = []
    for index, length in enumerate(nest):
        part = gradients[index] if index < len(gradients) else None
        if length is None:
            flat.append(part)
        elif part is None:
            flat += [None] * length
        elif isinstance(part, list | tuple) and len(part) == length:
            flat += part
        else:
            raise blame.wrong_structure(operator.shown, _shape_of(gradients), _nest_text(nest))
    if len(gradients) != len(nest):
        raise blame.wrong_structure(operator.shown, _shape_of(gradients), _nest_text(nest))
    return tuple(flat)


def _shape_of(gradients: tuple[Any, ...]) -> str:
    return _nest_text([len(g) if isinstance(g, list | tuple) else None for g in gradients])


def _nest_text(nest: list[int | None]) -> str:
    parts = ["*" if length is None else f"[{', '.join('*' * length)}]" for length in nest]
    return f"({', '.join(parts)})"


# --- operators without a derivative --------------------------------------------------------------


@final
class _WarnNotImplemented(Function):
    """Records a call of an operator whose kernel gave tensors without a graph."""

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        warn(
            f"{ctx.operator_name}: an autograd kernel was not registered to the Autograd key(s) "
            "but we are trying to backprop through it. This may lead to silently incorrect "
            "behavior: no gradient goes on from here. Register one with "
            "torch.library.register_autograd",
            UserWarning,
        )
        return (None,) * ctx.argument_count


_WarnNotImplemented._backward_cls.__name__ = "WarnNotImplemented"


def recorded_without_formula(operator: Operator, positional: list[Any], found: Any) -> Any:
    """Results of a kernel as results of a node that warns in a backward pass."""
    flat, _ = _flattened(positional)
    parts, nest = _flattened(_as_tuple(found))

    def forward(ctx: Any) -> tuple[Any, ...]:
        ctx.operator_name, ctx.argument_count = operator.qualname, len(flat)
        return tuple(parts)

    made, _ = record_call(_WarnNotImplemented, tuple(flat), forward)
    again = _unflattened(list(made), nest)
    return tuple(again) if isinstance(found, tuple) else again[0]
