"""Arguments of functions that are no declared operations: what is no tensor, or no whole number."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.numpy_names import renamed_for
from lamina.core.tensor import Tensor

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def takes_tensors(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function say which argument is no tensor, where it would fail on an attribute of one.

    Declared operations check their own inputs. Functions around them look at a tensor's shape or
    dtype first; this guard costs them 0.1 us, and a check of each argument would cost more.
    """
    return _guarded(function, is_native=False)


def native(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """`takes_tensors` for a native function of PyTorch: it takes NumPy's names of arguments too."""
    return _guarded(function, is_native=True)


def _guarded(function: Callable[..., Any], *, is_native: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except AttributeError as error:
            mistake = _no_tensor(function, args, kwargs, error)
            if mistake is None:
                raise
            raise mistake from None
        except TypeError:
            known = renamed_for(function, args, kwargs) if kwargs and is_native else None
            if known is None:
                raise
        # What did not fit the parameters has done nothing yet.
        return guarded(*args, **known)

    return guarded


def whole_numbers(caller: str | None, name: str, value: Any) -> tuple[int, ...]:
    """The whole numbers of an argument, from several or from one; TypeError names what is none.

    >>> whole_numbers("max_pool2d", "kernel_size", 3)
    (3,)
    """
    # A tensor of no dimensions is one number, though it has what iterables have.
    several = hasattr(value, "__iter__") and not isinstance(value, str | bytes)
    several = several and getattr(value, "ndim", 1) != 0
    try:
        return tuple(map(operator.index, value)) if several else (operator.index(value),)
    except TypeError:
        pass
    found = f"not {type(value).__name__}"
    for place, item in enumerate(value if several else ()):
        if not hasattr(item, "__index__"):
            found = f"but found element of type {type(item).__name__} at pos {place}"
            break
    raise errors.ArgumentTypeError(
        f"{f'{caller}(): ' if caller else ''}argument '{name}' must be tuple of ints, {found}",
        [(this_place(), "called here")],
    )


def _no_tensor(
    function: Callable[..., Any], args: Any, kwargs: Any, error: AttributeError
) -> errors.ArgumentTypeError | None:
    """The error for the argument whose attribute was missing; None if it was something else's."""
    culprit = error.obj
    if isinstance(culprit, Tensor) or not hasattr(Tensor, error.name or ""):
        return None
    bound = inspect.signature(function).bind_partial(*args, **kwargs)
    for position, (name, value) in enumerate(bound.arguments.items(), 1):
        if value is culprit or _holds(value, culprit):
            which = f"argument '{name}' (position {position})"
            if value is not culprit:
                which = f"an element of {which}"
            return errors.ArgumentTypeError(
                f"{function.__name__}(): {which} must be Tensor, not {type(culprit).__name__}",
                [(this_place(), "called here")],
                ["make a tensor of it first: `torch.as_tensor(...)`"],
            )
    return None


def _holds(value: Any, culprit: Any) -> bool:
    """Whether a list of arguments has an object in it, perhaps in a list of its own."""
    if isinstance(value, str):
        return isinstance(culprit, str) and culprit in value
    if not isinstance(value, tuple | list):
        return False
    return any(item is culprit or _holds(item, culprit) for item in value)
