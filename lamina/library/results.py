"""What kernels return is fitted to what their operators declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamina.core.tensor import Tensor
from lamina.devices.dispatched import owner_of
from lamina.library import blame
from lamina.library.registry import Operator
from lamina.library.schema import Argument, FunctionSchema, SchemaType
from lamina.library.tags import Tag

__all__ = ["checked", "written"]

Kernel = Callable[..., Any]


def checked(
    operator: Operator, kernel: Kernel, positional: list[Any], by_name: dict[str, Any], found: Any
) -> Any:
    """What a kernel returned: one value, or a tuple of them, with lists for lists.

    Raises:
        OperatorResultError: It is not what is declared, or shares memory with an argument.
    """
    schema = operator.declared
    fitted = _fitted(schema, kernel, found)
    if not operator.is_custom:
        return fitted
    if Tag.inplace in operator.tags:
        if found is not positional[0]:
            raise blame.not_what_is_written(schema, kernel, "inplace", "first argument")
    elif Tag.out in operator.tags:
        if not _is_same(found, written(schema, positional, by_name)):
            raise blame.not_what_is_written(schema, kernel, "out", "mutable keyword-only arguments")
    elif all(each.alias_info is None or each.is_written for each in schema.returns):
        _check_memory(schema, kernel, positional, by_name, fitted)
    return fitted


def written(schema: FunctionSchema, positional: list[Any], by_name: dict[str, Any]) -> Any:
    """The arguments that an operator writes into and returns; None if it returns nothing."""
    if not schema.returns:
        return None
    names = [argument.name for argument in schema.positional]
    values = dict(zip(names, positional, strict=True)) | by_name
    found = tuple(values[argument.name] for argument in schema.written)
    return found[0] if len(found) == 1 else found


def _is_same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return (
            isinstance(found, tuple)
            and len(found) == len(wanted)
            and all(x is y for x, y in zip(found, wanted, strict=True))
        )
    return found is wanted


# --- types ---------------------------------------------------------------------------------------


def _fitted(schema: FunctionSchema, kernel: Kernel, found: Any) -> Any:
    returns = schema.returns
    if not returns:
        if found is not None:
            raise blame.wrong_result(schema, kernel, found, "nothing")
        return None
    if len(returns) == 1:
        return _one(schema, kernel, returns[0], found)
    if not isinstance(found, tuple | list) or len(found) != len(returns):
        raise blame.wrong_result(schema, kernel, found, f"{len(returns)} results")
    return tuple(
        _one(schema, kernel, each, value) for each, value in zip(returns, found, strict=True)
    )


def _one(schema: FunctionSchema, kernel: Kernel, declared: Argument, value: Any) -> Any:
    if not _is_of(declared.type, value):
        raise blame.wrong_result(schema, kernel, value, str(declared.type))
    return list(value) if declared.type.is_list and value is not None else value


def _is_of(kind: SchemaType, value: Any) -> bool:
    """Whether a value is of a declared type, as far as that is checked."""
    if value is None:  # a result that there is not
        return kind.kind == "Tensor" or kind.is_optional
    if kind.is_optional:
        return _is_of(kind.element, value)
    if kind.is_list:
        return isinstance(value, list | tuple) and all(_is_of(kind.element, v) for v in value)
    if kind.kind == "Tensor":
        return isinstance(value, Tensor)
    if kind.kind in ("int", "SymInt", "float", "bool", "Scalar"):
        return isinstance(value, int | float | complex)
    return True


# --- memory --------------------------------------------------------------------------------------


def _check_memory(
    schema: FunctionSchema, kernel: Kernel, positional: list[Any], by_name: dict[str, Any],
    fitted: Any,
) -> None:  # fmt: skip
    """Results must be memory of their own: a caller may write into them."""
    owners: dict[int, str] = {}
    names = [argument.name for argument in schema.positional]
    # Arguments that were left out are defaults, and so no tensors.
    for name, value in (*zip(names, positional, strict=False), *by_name.items()):
        for tensor in value if isinstance(value, list) else (value,):
            if isinstance(tensor, Tensor):
                owners[id(owner_of(tensor._array))] = f"the argument `{name}`"
    for value in fitted if isinstance(fitted, tuple | list) else (fitted,):
        for tensor in value if isinstance(value, list) else (value,):
            if not isinstance(tensor, Tensor):
                continue
            owner = id(owner_of(tensor._array))
            if owner in owners:
                raise blame.aliased_result(schema, kernel, owners[owner])
            owners[owner] = "another result"
