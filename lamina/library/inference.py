"""Finds the declaration of an operator from the annotations of the function that computes it."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Iterable, Sequence
from types import GenericAlias
from typing import Any, Final, NoReturn, final

from lamina import errors
from lamina.core.definitions import definition
from lamina.core.tensor import Tensor
from lamina.devices import device
from lamina.dtypes import dtype
from lamina.library.tags import Tag, tags_of

__all__ = ["infer_schema"]

_Number = int | float | bool


def _parameter_types() -> dict[Any, str]:
    """The annotations that are understood, with what they are in a declaration."""
    found: dict[Any, str] = {}
    for kind, word, suffixes in (
        (Tensor, "Tensor", ("[]", "?[]")),
        (int, "SymInt", ("[]", "[]?")),
        (float, "float", ("[]", "[]?")),
        (bool, "bool", ("[]", "[]?")),
        (str, "str", ()),
        (_Number, "Scalar", ("[]",)),
        (typing.Union[int, float, bool], "Scalar", ("[]",)),  # noqa: UP007 (hashed otherwise)
        (dtype, "ScalarType", ()),
        (device, "Device", ()),
    ):
        made: Any = kind
        found |= {made: word, typing.Optional[made]: f"{word}?"}  # noqa: UP045
        if "[]" in suffixes:
            found |= dict.fromkeys(_lists_of(made), f"{word}[]")
        if "?[]" in suffixes:
            found |= dict.fromkeys(_lists_of(typing.Optional[made]), f"{word}?[]")  # noqa: UP045
        if "[]?" in suffixes:
            found |= {typing.Optional[each]: f"{word}[]?" for each in _lists_of(made)}  # noqa: UP045
    return found


def _lists_of(kind: Any) -> list[Any]:
    return [
        typing.List[kind],  # noqa: UP006
        typing.Sequence[kind],
        GenericAlias(list, (kind,)),
        GenericAlias(collections.abc.Sequence, (kind,)),
    ]


_PARAMETERS: Final = _parameter_types()
_RESULTS: Final[dict[Any, str]] = {
    Tensor: "Tensor",
    typing.List[Tensor]: "Tensor[]",  # noqa: UP006
    list[Tensor]: "Tensor[]",
    int: "SymInt",
    float: "float",
    bool: "bool",
    _Number: "Scalar",
}


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Tag | Sequence[Tag] | None = (),
) -> str:
    """The declaration that a function's annotations say.

    Parameters may be `Tensor`, `int`, `float`, `bool`, `str`, `torch.types.Number`,
    `torch.dtype`, `torch.device`, lists of tensors and of numbers, and any of them or None.
    Results may be tensors, lists of tensors, numbers, several of them in a `tuple`, or None.

    Args:
        prototype_function: The function.
        mutates_args: The names of the arguments that it writes into; "unknown" means all tensors.
        op_name: The operator's name, if the declaration is to have it.
        tags: `Tag.inplace` and `Tag.out` say that what is written is returned.

    Raises:
        SchemaNotInferred: An annotation is missing, or is none of these.

    >>> from lamina import Tensor
    >>> def scaled(x: Tensor, factor: float = 2.0) -> Tensor:
    ...     return x * factor
    >>> infer_schema(scaled, mutates_args=(), op_name="scaled")
    'scaled(Tensor x, float factor=2.0) -> Tensor'
    """
    return _Inference(prototype_function, mutates_args, tags_of(tags)).schema(op_name or "")


@final
class _Inference:
    """Reads the signature of one function."""

    def __init__(
        self, function: Callable[..., Any], written: str | Iterable[str], tags: tuple[Tag, ...]
    ) -> None:
        self._function = function
        self._signature = inspect.signature(function)
        self._parameters = list(self._signature.parameters.values())
        self._tags = tags
        self._aliases: dict[str, str] = {}  # of the arguments that are written into
        if isinstance(written, str) and written != "unknown":
            raise errors.SchemaNotInferred(
                "mutates_args must either be a sequence of the names of the arguments that are "
                "mutated or the string 'unknown'",
                help=[f"write a tuple: `mutates_args=({written!r},)`"],
            )
        self._writes_all = written == "unknown"
        self._written = set() if self._writes_all else set(written)

    def _fail(self, problem: str, *help: str) -> NoReturn:
        place = definition(self._function)
        raise errors.SchemaNotInferred(
            f"infer_schema(func): {problem} Got func with signature {self._signature}",
            [] if place is None else [(place, "its annotations are read")],
            help,
        )

    def schema(self, name: str) -> str:
        parts: list[str] = []
        for index, parameter in enumerate(self._parameters):
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
                parts.append("*")
            parts.append(self._parameter(index, parameter))
        unknown = self._written - {parameter.name for parameter in self._parameters}
        if unknown:
            self._fail(
                f"{unknown} in mutates_args were not found in the custom op's signature.",
                "name parameters that the function changes, or none: `mutates_args=()`",
            )
        return f"{name}({', '.join(parts)}) -> {self._returns()}"

    # --- parameters ------------------------------------------------------------------------------

    def _parameter(self, index: int, parameter: inspect.Parameter) -> str:
        name = parameter.name
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            self._fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.annotation is parameter.empty:
            self._fail(
                f"Parameter {name} must have a type annotation.",
                f"annotate it: `{name}: torch.Tensor`",
            )
        kind = self._declared(name, parameter.annotation)
        if name in self._written or (self._writes_all and kind.startswith("Tensor")):
            if not kind.startswith("Tensor"):
                self._fail(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of "
                    "Tensors can be mutated."
                )
            self._aliases[name] = f"a{index}!"
            kind = f"Tensor({self._aliases[name]}){kind.removeprefix('Tensor')}"
        if parameter.default is parameter.empty:
            return f"{kind} {name}"
        return f"{kind} {name}={self._default(name, parameter.default)}"

    def _declared(self, name: str, annotation: Any) -> str:
        kind = self._evaluated(annotation)
        try:
            return _PARAMETERS[kind]
        except (KeyError, TypeError):
            pass
        if typing.get_origin(kind) is tuple:
            self._fail(
                f"Parameter {name} has unsupported type {annotation}. We do not support Tuple "
                "inputs in schema. As a workaround, please try to use List instead.",
                f"write a list: `{name}: list[int]`",
            )
        words = "Tensor, int, float, bool, str, torch.types.Number, torch.dtype, torch.device"
        self._fail(
            f"Parameter {name} has unsupported type {annotation}.",
            f"the valid types are {words}, lists of tensors and of numbers, and `X | None`",
        )

    def _default(self, name: str, value: Any) -> str:
        if value is None or isinstance(value, int | float):
            return str(value)
        if isinstance(value, str | device):
            return f'"{value}"'
        if isinstance(value, dtype):
            return value.name
        self._fail(f"Parameter {name} has an unsupported default value type {type(value)}.")

    def _evaluated(self, annotation: Any) -> Any:
        """An annotation with the types for which texts in it stand."""
        if isinstance(annotation, str):
            try:
                return eval(annotation, self._function.__globals__)
            except Exception as error:
                self._fail(
                    f"Unsupported type annotation {annotation}. It is not a type. ({error}).",
                    "names in annotations must be known at the top of the module",
                )
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is None or not any(isinstance(each, str) for each in arguments):
            return annotation
        return GenericAlias(origin, tuple(map(self._evaluated, arguments)))

    # --- results ---------------------------------------------------------------------------------

    def _returns(self) -> str:
        annotation = self._signature.return_annotation
        if annotation is inspect.Signature.empty:
            self._fail(
                "No return type annotation was provided. Please add one.",
                "write `-> torch.Tensor`, or `-> None` if it returns nothing",
            )
        if Tag.inplace in self._tags or Tag.out in self._tags:
            return self._written_returns(self._evaluated(annotation))
        kind = self._evaluated(annotation)
        if kind is None or kind is type(None):
            return "()"
        if typing.get_origin(kind) is not tuple:
            return self._result(kind, annotation)
        found = [self._result(part, annotation) for part in typing.get_args(kind)]
        return f"(({found[0]}))" if len(found) == 1 else f"({', '.join(found)})"

    def _result(self, kind: Any, annotation: Any) -> str:
        try:
            return _RESULTS[kind]
        except (KeyError, TypeError):
            self._fail(
                f"Return has unsupported type {annotation}.",
                "the valid types are Tensor, list[Tensor], int, float, bool, a tuple of them, None",
            )

    def _written_returns(self, kind: Any) -> str:
        """The results of an operator that returns what it writes into."""
        names = list(self._aliases)
        if Tag.inplace in self._tags and names != [p.name for p in self._parameters[:1]]:
            self._fail(
                "torch.Tag.inplace requires mutates_args to contain exactly the first positional "
                "argument."
            )
        keywords = [p.name for p in self._parameters if p.kind is p.KEYWORD_ONLY]
        if Tag.out in self._tags and not (names and set(names) <= set(keywords)):
            self._fail("torch.Tag.out requires mutable arguments to be keyword-only.")
        count = len(typing.get_args(kind)) if typing.get_origin(kind) is tuple else 1
        if count != len(names):
            self._fail("The return annotation must match the Tensor arguments that are mutated.")
        found = [f"Tensor({alias})" for alias in self._aliases.values()]
        return found[0] if count == 1 else f"({', '.join(found)})"
