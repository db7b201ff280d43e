"""`opcheck`: does an operator keep what its declaration, its shapes and its derivative promise?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from lamina import errors
from lamina.autograd import grad
from lamina.core.capture import capture
from lamina.core.tensor import Tensor, wrap
from lamina.devices.dispatched import owner_of, replace
from lamina.devices.layouts import fresh
from lamina.devices.traced import TracedArray
from lamina.library import blame
from lamina.library.binding import bound
from lamina.library.calling import call, tensors_among
from lamina.library.custom import CustomOpDef
from lamina.library.operators import OpOverload, OpOverloadPacket
from lamina.library.registry import COMPOSITE, Operator

__all__ = ["opcheck"]

AnyOperator = OpOverload | OpOverloadPacket | CustomOpDef


def opcheck(
    op: AnyOperator, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *,
    test_utils: str | Sequence[str] = (
        "test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True, atol: float | None = None, rtol: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Check an operator with one set of arguments. It does not check that a derivative is right:
    `torch.autograd.gradcheck` does.

    Args:
        op: The operator.
        args, kwargs: Arguments for it; they are not changed.
        test_utils: What is checked. "test_schema": only what the declaration says is written into,
            and results share memory with nothing. "test_autograd_registration": results that
            require grad have a derivative that was registered. "test_faketensor": the fake function
            tells the shapes, dtypes and strides that the kernel gives.
            "test_aot_dispatch_dynamic": a captured program gives the same results and gradients.
        raise_exception: Whether the first failure is raised.
        atol, rtol: How far results of a program may be from those without one.

    Returns:
        "SUCCESS", or the exception, for each check.

    Raises:
        OperatorCheckFailed: (RuntimeError) A check failed.
        InvalidValue: (ValueError) `op` is no operator, or there is no such check.

    >>> import lamina
    >>> @lamina.library.custom_op("examples::negative", mutates_args=())
    ... def negative(x: lamina.Tensor) -> lamina.Tensor:
    ...     return -x
    >>> _ = negative.register_fake(lamina.empty_like)
    >>> opcheck(negative, (lamina.ones(2),), test_utils="test_faketensor")
    {'test_faketensor': 'SUCCESS'}
    """
    operator = _operator(op)
    wanted = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(wanted) <= set(_CHECKS):
        raise errors.InvalidValue(
            f"opcheck(op, ..., test_utils={wanted}), expected test_utils to be subset of "
            f"{tuple(_CHECKS)} but it was not"
        )
    found: dict[str, Any] = {}
    for name in wanted:
        values, by_name = bound(operator.declared, args, kwargs or {})
        copies = _copied(values), dict(zip(by_name, _copied(list(by_name.values())), strict=True))
        try:
            _CHECKS[name](operator, *copies, rtol or 1e-5, atol or 1e-6)
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise _failed(f"opcheck(op, ...): {name} failed with {error}") from error
            found[name] = error
    return found


def _operator(op: Any) -> Operator:
    if isinstance(op, CustomOpDef | OpOverload):
        return op._operator
    if isinstance(op, OpOverloadPacket):
        return op.default._operator
    raise errors.InvalidValue(
        "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. "
        f"torch.ops.aten.sin.default, got {type(op)}"
    )


def _copied(values: list[Any]) -> list[Any]:
    """Values with copies of their tensors, which require grad as those do."""

    def copy(tensor: Tensor) -> Tensor:
        made = tensor.detach().clone()
        return made.requires_grad_() if tensor.requires_grad else made

    return replace(values, (Tensor,), copy)


def _failed(what: str) -> errors.OperatorCheckFailed:
    return errors.OperatorCheckFailed(what)


def _results(found: Any) -> list[Tensor]:
    return list(tensors_among(found if isinstance(found, tuple) else (found,)))


# --- the checks ----------------------------------------------------------------------------------


def _check_schema(
    operator: Operator, positional: list[Any], by_name: dict[str, Any], rtol: float, atol: float
) -> None:
    schema = operator.declared
    names = [argument.name for argument in schema.positional]
    values = dict(zip(names, positional, strict=True)) | by_name
    before = {name: [_bits(t) for t in tensors_among([value])] for name, value in values.items()}
    results = _results(call(operator, positional, by_name))
    written = {argument.name for argument in schema.written}
    owners: dict[int, str] = {}
    for name, value in values.items():
        after = [_bits(tensor) for tensor in tensors_among([value])]
        if name not in written and after != before[name]:
            raise _failed(f"Argument {name} is not defined as mutable but was mutated")
        owners |= {id(owner_of(tensor._array)): name for tensor in tensors_among([value])}
    if all(each.alias_info is None for each in schema.returns):
        for tensor in results:
            owner = id(owner_of(tensor._array))
            if owner in owners:
                raise _failed(
                    f"Argument {owners[owner]} is not defined to alias output but was aliasing"
                )


def _bits(tensor: Tensor) -> bytes:
    return bytes(tensor.detach().cpu().numpy().tobytes())


def _check_autograd(
    operator: Operator, positional: list[Any], by_name: dict[str, Any], rtol: float, atol: float
) -> None:
    if operator.is_custom or operator.formula is not None:
        return
    if {"Autograd", COMPOSITE} & operator.kernels.keys():
        return
    if any(tensor.requires_grad for tensor in _results(call(operator, positional, by_name))):
        raise _failed(
            f"{operator.qualname}: at least one output of this operator has requires_grad=True but "
            "the operator does not have an autograd kernel: use register_autograd"
        )


def _check_fake(
    operator: Operator, positional: list[Any], by_name: dict[str, Any], rtol: float, atol: float
) -> None:
    bare = replace((positional, by_name), (Tensor,), _without_elements)
    told = _results(call(operator, *bare))
    given = _results(call(operator, positional, by_name))
    if len(told) != len(given):
        raise _failed(f"the fake impl gives {len(told)} tensors, the kernel {len(given)}")
    for fake, real in zip(told, given, strict=True):
        for what in ("shape", "dtype", "stride"):
            x, y = (_fact(tensor, what) for tensor in (fake, real))
            if x != y:
                raise _failed(
                    f"the fake impl of {operator.qualname} and its kernel give another {what}: "
                    f"{x} and {y}"
                )


def _fact(tensor: Tensor, what: str) -> Any:
    return tensor.stride() if what == "stride" else getattr(tensor, what)


def _without_elements(tensor: Tensor) -> Tensor:
    array = tensor._array
    return wrap(TracedArray(fresh(array.shape, array.dtype, array.strides)), None)


def _check_program(
    operator: Operator, positional: list[Any], by_name: dict[str, Any], rtol: float, atol: float
) -> None:
    if operator.is_custom and operator.fake is None and operator.declared.is_functional:
        raise blame.no_fake(operator.declared, f"<CustomOpDef({operator.qualname})>")
    again, names = _copied(positional), dict(by_name)
    expected = _with_gradients(operator, positional, by_name)
    with capture() as recorder:
        arrays = [tensor._array for tensor in _with_gradients(operator, again, names)]
    found = recorder.replay(None, arrays)
    for mine, theirs in zip(expected, found, strict=True):
        if not np.allclose(mine.numpy(), theirs, rtol, atol, equal_nan=True):
            raise _failed(
                f"a captured program gives other results or gradients of {operator.qualname}"
            )


def _with_gradients(
    operator: Operator, positional: list[Any], by_name: dict[str, Any]
) -> list[Tensor]:
    """The results of a call, then the gradients of the arguments that require grad."""
    results = _results(call(operator, positional, by_name))
    leaves = [tensor for tensor in tensors_among(positional) if tensor.requires_grad]
    roots = [tensor for tensor in results if tensor.requires_grad]
    if not leaves or not roots:
        return results
    ones = [(tensor * 0 + 1).detach() for tensor in roots]
    found = grad(roots, leaves, ones, allow_unused=True)
    return [*(tensor.detach() for tensor in results), *(g for g in found if g is not None)]


_CHECKS: Final[dict[str, Callable[..., None]]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_static": _check_program,
    "test_aot_dispatch_dynamic": _check_program,
}
