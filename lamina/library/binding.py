"""Fits the arguments of a call to an operator's declaration, and converts them to its types."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from lamina.core.tensor import Tensor
from lamina.devices import device
from lamina.dtypes import dtype
from lamina.library import blame
from lamina.library.schema import SCALAR_TYPES, Argument, FunctionSchema, SchemaType

__all__ = ["bound", "given"]


class _Unfit(Exception):
    """A value is not of the declared type."""


def bound(
    schema: FunctionSchema, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """All arguments of a call, converted, with defaults: those by position, and those by name.

    Raises:
        OperatorCallError: They do not fit the declaration.
    """
    positional = schema.positional
    if len(args) > len(positional):
        raise blame.too_many(schema, len(args))
    values = [
        _converted(schema, argument, value)
        for argument, value in zip(positional, args, strict=False)
    ]
    named = 0
    for argument in positional[len(args) :]:
        named += argument.name in kwargs
        values.append(_named(schema, argument, kwargs))
    by_name = {}
    for argument in schema.keyword_only:
        named += argument.name in kwargs
        by_name[argument.name] = _named(schema, argument, kwargs)
    if named != len(kwargs):
        raise blame.wrong_keyword(schema, kwargs, positional[: len(args)])
    return values, by_name


def given(
    schema: FunctionSchema, positional: list[Any], by_name: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that a kernel is called with: those at the end that are defaults are left out.

    A kernel may then have defaults of its own, or not know arguments that were added later.
    """
    count = len(positional)
    while count and _is_default(schema.positional[count - 1], positional[count - 1]):
        count -= 1
    known = schema.keyword_only
    names = {
        each.name: by_name[each.name] for each in known if not _is_default(each, by_name[each.name])
    }
    return positional[:count], names


def _is_default(argument: Argument, value: Any) -> bool:
    default = argument.default
    if default is None or value is None:
        return default is value
    return type(default) is type(value) and default == value


def _named(schema: FunctionSchema, argument: Argument, kwargs: dict[str, Any]) -> Any:
    if argument.name in kwargs:
        return _converted(schema, argument, kwargs[argument.name])
    if not argument.has_default_value():
        raise blame.missing(schema, argument)
    return argument.default


def _converted(schema: FunctionSchema, argument: Argument, value: Any) -> Any:
    kind = argument.type
    if kind.kind == "Tensor" and not kind.suffixes:
        if isinstance(value, Tensor) or value is None:
            return value
        raise blame.wrong_type(schema, argument, value)
    try:
        return _as(kind, value)
    except _Unfit:
        raise blame.wrong_type(schema, argument, value) from None


# --- types ---------------------------------------------------------------------------------------


def _as(kind: SchemaType, value: Any) -> Any:
    """A value as one of a declared type."""
    if kind.suffixes:
        if kind.is_optional:
            return None if value is None else _as(kind.element, value)
        return _as_list(kind, value)
    return _CONVERTERS[kind.kind](value)


def _as_list(kind: SchemaType, value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [_as(kind.element, each) for each in value]
    if kind.length is not None and isinstance(value, int | float | np.number):
        return [_as(kind.element, value)] * kind.length
    raise _Unfit


def _tensor(value: Any) -> Any:
    if isinstance(value, Tensor) or value is None:
        return value
    raise _Unfit


def _number(value: Any) -> Any:
    """A number in Python, from Python, NumPy, or a tensor with one element."""
    if isinstance(value, Tensor) and value.ndim == 0:
        return value.item()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, int | float | complex):
        return value
    raise _Unfit


def _scalar(value: Any) -> Any:
    if isinstance(value, Tensor):
        raise _Unfit
    return _number(value)


def _int(value: Any) -> int:
    if isinstance(value, Tensor):
        return int(_number(value))
    try:
        return operator.index(value)
    except TypeError:
        raise _Unfit from None


def _float(value: Any) -> float:
    value = _number(value)
    if isinstance(value, complex):
        raise _Unfit
    return float(value)


def _bool(value: Any) -> bool:
    return value is not None and bool(_number(value))


def _complex(value: Any) -> complex:
    return complex(_number(value))


def _str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise _Unfit


def _dtype(value: Any) -> dtype:
    if isinstance(value, dtype):
        return value
    if isinstance(value, int) and value in SCALAR_TYPES:
        return SCALAR_TYPES[value]
    raise _Unfit


def _device(value: Any) -> device:
    if isinstance(value, device):
        return value
    if isinstance(value, str | int):
        return device(value)
    raise _Unfit


def _anything(value: Any) -> Any:
    return value


_CONVERTERS: Final[dict[str, Callable[[Any], Any]]] = {
    "Tensor": _tensor, "int": _int, "SymInt": _int, "float": _float, "bool": _bool,
    "SymBool": _bool, "str": _str, "Scalar": _scalar, "number": _scalar, "complex": _complex,
    "ScalarType": _dtype, "Device": _device, "DeviceIndex": _int, "Layout": _anything,
    "MemoryFormat": _anything, "Generator": _anything, "Any": _anything, "Storage": _anything,
    "Stream": _anything, "QScheme": _anything, "Tuple": _anything,
}  # fmt: skip
