"""Declarations of operators: their arguments and results, with types, defaults and what they write.

mylib::scaled(Tensor x, float factor=2., *, Tensor(a!)? out=None) -> Tensor
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any, Final, final

from lamina import dtypes
from lamina.dtypes import dtype

__all__ = ["SCALAR_TYPES", "Alias", "Argument", "FunctionSchema", "SchemaType"]

SCALAR_TYPES: Final = {
    0: dtypes.uint8, 1: dtypes.int8, 2: dtypes.int16, 3: dtypes.int32, 4: dtypes.int64,
    5: dtypes.float16, 6: dtypes.float32, 7: dtypes.float64, 9: dtypes.complex64,
    10: dtypes.complex128, 11: dtypes.bool_, 15: dtypes.bfloat16, 23: dtypes.float8_e5m2,
    24: dtypes.float8_e4m3fn, 25: dtypes.float8_e5m2fnuz, 26: dtypes.float8_e4m3fnuz,
    27: dtypes.uint16, 28: dtypes.uint32, 29: dtypes.uint64,
}  # fmt: skip
"""The dtypes by the numbers that stand for them in declarations."""

_SCALAR_NUMBERS: Final = {kind: number for number, kind in SCALAR_TYPES.items()}
_SHOWN: Final = {
    "SymInt": "int", "SymBool": "bool", "Scalar": "number", "ScalarType": "int", "Layout": "int",
    "MemoryFormat": "int", "DeviceIndex": "int",
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True, repr=False)
class SchemaType:
    """A type of a declaration, such as `Tensor`, `SymInt[2]?` or `(Tensor, int)`.

    Attributes:
        kind: The word at its beginning; "Tuple" for several types in parentheses.
        suffixes: What follows it, from the inside out: "[]", "[2]" or "?".
        parts: The types in parentheses.

    >>> str(SchemaType("SymInt", ("[]", "?"))), SchemaType("SymInt", ("[]", "?")).declared()
    ('Optional[List[int]]', 'SymInt[]?')
    """

    kind: str
    suffixes: tuple[str, ...] = ()
    parts: tuple[SchemaType, ...] = ()

    @property
    def is_optional(self) -> bool:
        """Whether it takes None."""
        return self.suffixes[-1:] == ("?",)

    @property
    def is_list(self) -> bool:
        """Whether it is a list, or None instead of one."""
        return any(suffix != "?" for suffix in self.suffixes)

    @property
    def length(self) -> int | None:
        """The length that a list is declared with."""
        last = self.suffixes[-1] if self.suffixes else "?"
        return None if last in ("?", "[]") else int(last[1:-1])

    @property
    def element(self) -> SchemaType:
        """The type inside of the outermost suffix."""
        return SchemaType(self.kind, self.suffixes[:-1], self.parts)

    def declared(self, alias: Alias | None = None) -> str:
        """How a declaration writes it."""
        kind = self.kind
        if self.parts:
            kind = f"({', '.join(part.declared() for part in self.parts)})"
        return f"{kind}{'' if alias is None else f'({alias})'}{''.join(self.suffixes)}"

    def __str__(self) -> str:
        text = _SHOWN.get(self.kind, self.kind)
        if self.parts:
            text = f"Tuple[{', '.join(map(str, self.parts))}]"
        for suffix in self.suffixes:
            text = f"Optional[{text}]" if suffix == "?" else f"List[{text}]"
        return text

    __repr__ = __str__


@final
@dataclass(frozen=True, slots=True)
class Alias:
    """Which memory an argument or a result belongs to, and whether it is written.

    Attributes:
        before_set: The names of the memory before the call.
        is_write: Whether the call writes there.
        after_set: The names after the call, the same unless declared otherwise.
    """

    before_set: frozenset[str]
    is_write: bool = False
    after_set: frozenset[str] = frozenset()

    def __str__(self) -> str:
        text = "|".join(sorted(self.before_set)) + "!" * self.is_write
        is_same = self.after_set in (frozenset(), self.before_set)
        return text if is_same else f"{text} -> {'|'.join(sorted(self.after_set))}"


NO_DEFAULT: Final[Any] = object()
"""Stands for a default that there is not; None is one."""


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Argument:
    """An argument or a result of an operator.

    Attributes:
        name: Its name; empty for most results.
        type: Its type; `str` of it is what errors call it.
        default: What it is if nothing is given, or `NO_DEFAULT`.
        kwarg_only: Whether it is given by name alone.
        alias_info: Which memory it is; None if nobody else's.
        is_spread: Whether its default was written as one number for all of a list, as `int[2] n=1`.
    """

    name: str
    type: SchemaType
    default: Any = NO_DEFAULT
    kwarg_only: bool = False
    alias_info: Alias | None = None
    is_spread: bool = False

    @property
    def default_value(self) -> Any:
        """Its default; None if it has none."""
        return None if self.default is NO_DEFAULT else self.default

    def has_default_value(self) -> bool:
        """Whether it need not be given."""
        return self.default is not NO_DEFAULT

    @property
    def N(self) -> int | None:
        """The length that a list is declared with."""
        return self.type.length

    @property
    def is_written(self) -> bool:
        """Whether the operator writes into it."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self) -> bool:
        """Whether it is given by name to be written into."""
        return self.kwarg_only and self.is_written

    @property
    def has_tensors(self) -> bool:
        """Whether it is a tensor, or several."""
        return self.type.kind == "Tensor"

    def __str__(self) -> str:
        text = self.type.declared(self.alias_info)
        if self.name:
            text += f" {self.name}"
        if self.default is NO_DEFAULT:
            return text
        return f"{text}={_value_text(self.default[0] if self.is_spread else self.default)}"

    def __repr__(self) -> str:
        return f"<Argument({self})>"


def _value_text(value: Any) -> str:
    """A default as declarations write it."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, complex):
        return f"{_float_text(value.real)}+{_float_text(value.imag)}j"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_value_text, value))}]"
    if isinstance(value, dtype):
        return str(_SCALAR_NUMBERS[value])
    return str(value)


def _float_text(value: float) -> str:
    """A number with 17 digits, and with a point where it is whole."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e10:
        return f"{int(value)}."
    return f"{value:.17g}"


@final
@dataclass(frozen=True, eq=False, repr=False)
class FunctionSchema:
    """The declaration of an operator.

    Attributes:
        name: Its name with the namespace, as `mylib::scaled`.
        overload_name: The name of the overload; empty for the only one.
        arguments: The arguments, those that are given by name alone last.
        returns: The results.
    """

    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[Argument] = field(default_factory=list)

    @functools.cached_property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments that may be given by position."""
        return tuple(argument for argument in self.arguments if not argument.kwarg_only)

    @functools.cached_property
    def keyword_only(self) -> tuple[Argument, ...]:
        """The arguments that are given by name alone."""
        return tuple(argument for argument in self.arguments if argument.kwarg_only)

    @functools.cached_property
    def written(self) -> tuple[Argument, ...]:
        """The arguments that the operator writes into."""
        return tuple(argument for argument in self.arguments if argument.is_written)

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes into an argument."""
        return bool(self.written)

    @functools.cached_property
    def is_functional(self) -> bool:
        """Whether it writes into nothing, and its results are memory of their own."""
        known = (*self.arguments, *self.returns)
        return bool(self.returns) and all(argument.alias_info is None for argument in known)

    @functools.cached_property
    def has_lists(self) -> bool:
        """Whether it takes or gives lists of tensors."""
        known = (*self.arguments, *self.returns)
        return any(argument.has_tensors and argument.type.is_list for argument in known)

    @functools.cached_property
    def device_argument(self) -> Argument | None:
        """The first argument that is a device."""
        return next((each for each in self.arguments if each.type.kind == "Device"), None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        parts: list[str] = []
        for argument in self.arguments:
            if argument.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(str(argument))
        name = f"{self.name}.{self.overload_name}" if self.overload_name else self.name
        returns = ", ".join(map(str, self.returns))
        is_one = len(self.returns) == 1 and not self.returns[0].type.parts
        return f"{name}({', '.join(parts)}) -> {returns if is_one else f'({returns})'}"

    __repr__ = __str__
