"""Where autocast takes hold: the inputs of some operations are cast before anything else happens.

Which ones, and to what, is said by `lamina.amp`; it puts an object into `state.autocast` and stands
at the door meanwhile. So nothing here costs anything while no thread is inside autocast.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from lamina.core.modes import door, state

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def autocast_inputs(name: str, values: Sequence[Any]) -> Sequence[Any]:
    """The inputs of an operation as autocast wants them: mostly as they are."""
    caster = state.autocast if door.is_watched else None
    return values if caster is None else caster.cast(name, values)


def in_float32(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Have a function that is made of several operations run in float32 as a whole.

    Operations are declared by name in `lamina.amp`; this is for functions around them, which would
    do a part of their work in low precision.
    """
    return _in_autocast(function, "run_in_float32")


def unaffected(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Have a function that is made of products run as if there were no autocast."""
    return _in_autocast(function, "run_without")


def _in_autocast(function: Callable[Parameters, Result], way: str) -> Callable[Parameters, Result]:
    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        caster = state.autocast if door.is_watched else None
        if caster is None:
            return function(*args, **kwargs)
        result: Result = getattr(caster, way)(function, args, kwargs)
        return result

    return call
