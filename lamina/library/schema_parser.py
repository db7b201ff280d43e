"""Reads declarations of operators: `name(Tensor x, int n=1, *, float? scale=None) -> Tensor`.

The language is that of PyTorch's operator declarations (`aten/src/ATen/native/README.md`).
"""

from __future__ import annotations

import ast
import re
from typing import Any, Final, NamedTuple, NoReturn, final

from lamina import dtypes, errors
from lamina.core.layouts import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
    strided,
)
from lamina.devices import device
from lamina.library.schema import (
    NO_DEFAULT,
    SCALAR_TYPES,
    Alias,
    Argument,
    FunctionSchema,
    SchemaType,
)

__all__ = ["parse_schema"]

_KINDS: Final = {
    "Tensor", "int", "SymInt", "float", "bool", "SymBool", "str", "Scalar", "number", "ScalarType",
    "Device", "DeviceIndex", "Layout", "MemoryFormat", "Generator", "complex", "Any", "Storage",
    "Stream", "QScheme",
}  # fmt: skip
_WORDS: Final[dict[str, dict[str, Any]]] = {
    "ScalarType": {kind.name: kind for kind in SCALAR_TYPES.values()}
    | {"half": dtypes.float16, "float": dtypes.float32, "double": dtypes.float64}
    | {"long": dtypes.int64, "short": dtypes.int16, "int": dtypes.int32},
    "MemoryFormat": {
        "contiguous_format": contiguous_format,
        "channels_last": channels_last,
        "channels_last_3d": channels_last_3d,
        "preserve_format": preserve_format,
    },
    "Layout": {"strided": strided},
}
_TOKENS: Final = re.compile(
    r"\s*(?:(?P<string>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign>->|::|\.\.\.|[()\[\]{},*?!|=.+-])"
    r"|(?P<end>$)|(?P<unknown>.))"
)


@final
class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def parse_schema(text: str) -> FunctionSchema:
    """The declaration that a text says, with the name of its operator.

    Raises:
        InvalidSchema: It is none; the error marks the place.

    >>> parse_schema("mylib::f(Tensor x, int[2] n=1, *, float scale=0.5) -> (Tensor, Tensor)")
    mylib::f(Tensor x, int[2] n=1, *, float scale=0.5) -> (Tensor, Tensor)
    """
    if "(" not in text:
        raise errors.InvalidSchema(
            "Tried to parse a function schema but only the operator name was given: "
            f"{text.strip()!r}",
            help=["write its arguments and results too: `name(Tensor x) -> Tensor`"],
        )
    return _Parser(text).schema()


@final
class _Parser:
    """Reads one declaration from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [
            _Token(kind, found[kind], found.start(kind))
            for found in _TOKENS.finditer(text)
            if (kind := found.lastgroup) is not None
        ]
        self._next = 0

    # --- tokens ----------------------------------------------------------------------------------

    @property
    def _token(self) -> _Token:
        return self._tokens[min(self._next, len(self._tokens) - 1)]

    def _fail(self, problem: str, token: _Token | None = None) -> NoReturn:
        token = token or self._token
        marks = "~" * max(len(token.text), 1)
        raise errors.InvalidSchema(
            f"{problem}:\n{self._text}\n{' ' * token.start}{marks} <--- HERE",
            help=[
                "a declaration is like `name(Tensor x, int n=1, *, float? scale=None) -> Tensor`"
            ],
        )

    def _expected(self, what: str) -> NoReturn:
        found = "eof" if self._token.kind == "end" else self._token.text
        self._fail(f"expected {what} but found {found!r} here")

    def _takes(self, text: str) -> bool:
        """Whether the next token is that sign, which is then read."""
        if self._token.text != text or self._token.kind == "string":
            return False
        self._next += 1
        return True

    def _sign(self, text: str) -> None:
        if not self._takes(text):
            self._expected(text)

    def _word(self) -> str:
        if self._token.kind != "word":
            self._expected("a name")
        self._next += 1
        return self._tokens[self._next - 1].text

    # --- the whole -------------------------------------------------------------------------------

    def schema(self) -> FunctionSchema:
        name = self._word()
        if self._takes("::"):
            name += f"::{self._word()}"
        overload = self._word() if self._takes(".") else ""
        arguments = self._arguments()
        self._sign("->")
        returns = self._returns()
        if self._token.kind != "end":
            self._expected("the end")
        self._check_order(arguments)
        return FunctionSchema(name, "" if overload == "default" else overload, arguments, returns)

    def _arguments(self) -> list[Argument]:
        found: list[Argument] = []
        is_keyword = False
        self._sign("(")
        while not self._takes(")"):
            if found or is_keyword:
                self._sign(",")
            if not is_keyword and self._takes("*"):
                is_keyword = True
            else:
                found.append(self._argument(is_keyword))
        return found

    def _argument(self, is_keyword: bool) -> Argument:
        kind, alias = self._type()
        name = self._word()
        if not self._takes("="):
            return Argument(name, kind, NO_DEFAULT, is_keyword, alias)
        is_number = self._token.text not in ("[", "None")
        default = self._default(kind)
        is_spread = is_number and isinstance(default, list)
        return Argument(name, kind, default, is_keyword, alias, is_spread)

    def _check_order(self, arguments: list[Argument]) -> None:
        """Arguments without a default stand before those with one."""
        seen: str | None = None
        names = [argument.name for argument in arguments]
        for argument in arguments:
            if names.count(argument.name) > 1:
                self._fail(f"two arguments are called {argument.name}", self._tokens[0])
            if argument.has_default_value():
                seen = argument.name
            elif seen is not None and not argument.kwarg_only:
                self._fail(
                    f"Non-default positional argument follows default argument: {argument.name} "
                    f"stands after {seen}, which has a default",
                    self._tokens[0],
                )

    def _returns(self) -> list[Argument]:
        if not self._takes("("):
            return [self._result()]
        found: list[Argument] = []
        while not self._takes(")"):
            if found:
                self._sign(",")
            found.append(self._result())
        return found

    def _result(self) -> Argument:
        kind, alias = self._type()
        return Argument(self._word() if self._token.kind == "word" else "", kind, alias_info=alias)

    # --- types -----------------------------------------------------------------------------------

    def _type(self) -> tuple[SchemaType, Alias | None]:
        if self._takes("("):
            return self._tuple(), None
        token = self._token
        kind = self._word()
        if kind not in _KINDS:
            common = "Tensor, int, float, bool, str, Scalar, ScalarType and Device"
            self._fail(f"unknown type specifier; the common ones are {common}", token)
        alias = self._alias() if self._takes("(") else None
        return SchemaType(kind, self._suffixes()), alias

    def _tuple(self) -> SchemaType:
        parts = [self._type()[0]]
        while not self._takes(")"):
            self._sign(",")
            parts.append(self._type()[0])
        return SchemaType("Tuple", self._suffixes(), tuple(parts))

    def _suffixes(self) -> tuple[str, ...]:
        found: list[str] = []
        while True:
            if self._takes("?"):
                found.append("?")
            elif self._takes("["):
                length = ""
                if self._token.kind == "number":
                    length = self._token.text
                    self._next += 1
                self._sign("]")
                found.append(f"[{length}]")
            else:
                return tuple(found)

    def _alias(self) -> Alias:
        before = self._names()
        is_write = self._takes("!")
        after = self._names() if self._takes("->") else before
        self._takes("!")
        self._sign(")")
        return Alias(before, is_write, after)

    def _names(self) -> frozenset[str]:
        found = ["*" if self._takes("*") else self._word()]
        while self._takes("|"):
            found.append(self._word())
        return frozenset(found)

    # --- defaults --------------------------------------------------------------------------------

    def _default(self, kind: SchemaType) -> Any:
        if self._takes("None"):
            return None
        if kind.kind == "Tensor":
            self._expected("None")
        if kind.is_optional:
            return self._default(kind.element)
        if not kind.is_list:
            return self._value(kind.kind)
        if kind.length is not None and self._token.text != "[":
            return [self._value(kind.kind)] * kind.length
        self._sign("[")
        found: list[Any] = []
        while not self._takes("]"):
            if found:
                self._sign(",")
            found.append(self._value(kind.kind))
        return found

    def _value(self, kind: str) -> Any:
        token = self._token
        self._next += 1
        if token.kind == "string" and kind in ("str", "Device"):
            text = _unquoted(token.text)
            return device(text) if kind == "Device" else text
        if token.text in _WORDS.get(kind, ()):
            return _WORDS[kind][token.text]
        if token.text in ("True", "False"):
            return token.text == "True"
        sign = -1 if token.text == "-" else 1
        if sign == -1:
            token = self._token
            self._next += 1
        if token.kind == "number" or token.text in ("inf", "nan"):
            number = _number(token.text)
            if kind == "ScalarType" and number in SCALAR_TYPES:
                return SCALAR_TYPES[int(number)]
            is_real = kind == "float" and not isinstance(number, complex)
            return sign * (float(number) if is_real else number)
        self._fail(f"invalid default value for the type {kind}", token)


def _unquoted(text: str) -> str:
    """The text between quotation marks, which may hold others, as `infer_schema` writes it."""
    try:
        return str(ast.literal_eval(text))
    except SyntaxError:
        return text[1:-1]


def _number(text: str) -> Any:
    if text.endswith("j"):
        return complex(text)
    return int(text) if text.isdigit() else float(text)
