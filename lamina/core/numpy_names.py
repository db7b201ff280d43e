"""NumPy's names of arguments, which PyTorch's native functions take beside their own.

    torch.stack(rows, axis=-1)    x.sum(axis=0, keepdims=True)    torch.maximum(x1=a, x2=b)

No other file knows these names. A call that uses none must not pay for them, so they are looked at
when a call does not fit: declared operations do that themselves (`Op.bind`, `call_by_names`), and
functions around operations do it in one of two ways.

- `native` (in `arguments.py`) wraps a function, for 0.08 us: for those that take long anyway.
- `takes_numpy_names` is for functions of a microsecond or two. They have `**numpy_names`, for
  0.02 us, and pass what they were given to `again` if there are any.

Functions that PyTorch writes in Python, such as `torch.split`, do not take these names.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar, cast, final

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.parameters import parameters_of, positional_count

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_OWN_NAMES: Final = {
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "a": "input",
    "x1": "input",
    "x2": "other",
}
"""PyTorch's names by NumPy's."""


@final
class _Missing:
    """Stands for an argument that was not given under its own name."""

    def __repr__(self) -> str:
        return "<required>"


MISSING: Final[Any] = _Missing()


def renamed(given: Mapping[str, Any], free: Collection[str]) -> dict[str, Any] | None:
    """Keywords under PyTorch's names, where these are parameters without a value; None if none is.

    >>> renamed({"axis": 1, "out": None}, ["dim", "keepdim"])
    {'dim': 1, 'out': None}
    """
    result: dict[str, Any] = {}
    for name, value in given.items():
        own = name if name in free else _OWN_NAMES.get(name, name)
        if own not in free or own in given or own in result:
            own = name
        result[own] = value
    return None if result.keys() == given.keys() else result


def renamed_for(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The keywords of a call that did not fit, under PyTorch's names; None if none is NumPy's."""
    taken = min(len(args), positional_count(function))
    return renamed(kwargs, parameters_of(function)[taken:])


def takes_numpy_names(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function with `**numpy_names` run without what it needs, which may be among these.

    It begins with `if numpy_names or last is MISSING: return again(...)`, where `last` is the last
    parameter that has no default.
    """
    plain = cast(FunctionType, function)
    defaults = plain.__defaults__ or ()
    needed = plain.__code__.co_argcount - len(defaults)
    made: Any = FunctionType(
        plain.__code__,
        plain.__globals__,
        plain.__name__,
        (MISSING,) * needed + defaults,
        plain.__closure__,
    )
    made.__kwdefaults__ = plain.__kwdefaults__
    functools.update_wrapper(made, function)
    result: Callable[Parameters, Result] = made
    return result


def again(function: Callable[..., Any], numpy_names: Mapping[str, Any], *values: Any) -> Any:
    """Call a function that `takes_numpy_names` again, by its own names for all arguments.

    `values` are those of its parameters, in order.

    Raises:
        ArgumentTypeError: If an argument is missing, or has a name that does not fit.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    own = function.__defaults__ or ()
    defaults = dict(zip(names[code.co_argcount - len(own) :], own, strict=False))
    defaults |= function.__kwdefaults__ or {}
    found = zip(names, values, strict=True)
    given = {name: value for name, value in found if value is not defaults.get(name, MISSING)}
    given |= numpy_names
    given = renamed(given, names) or given
    for name in given:
        if name not in names:
            raise misfit(function, f"got an unexpected keyword argument '{name}'")
    for name in names:
        if name not in given and defaults.get(name, MISSING) is MISSING:
            raise misfit(function, f"missing 1 required argument: '{name}'")
    return function(**given)


def misfit(function: Callable[..., Any], trouble: str) -> errors.ArgumentTypeError:
    """The error for arguments that are not those of a function's parameters."""
    name = function.__name__
    shown = str(inspect.signature(function)).replace(", **numpy_names: Any", "")
    return errors.ArgumentTypeError(
        f"{name}() {trouble}",
        [(this_place(), "called here")],
        [f"its signature is {name}{shown}"],
    )
