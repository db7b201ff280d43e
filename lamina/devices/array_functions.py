"""Functions of our own that take part in NumPy's dispatch, as NumPy's functions do.

Such a function is written for arrays that hold elements. On a recording's arrays it is one step of
the program, and on `meta` it gives shapes; so it may do what a recording could not follow, such as
calling machine code, or looking at elements to choose how to compute.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from lamina.devices.dispatched import DispatchedArray

if TYPE_CHECKING:
    from lamina.devices.shape_rules import Rule

RULES: Final[dict[Any, Rule]] = {}
"""The shape rules of functions. `rule_table`, loaded with recording, adds those of NumPy's."""

ELEMENTWISE: Final[set[Callable[..., Any]]] = set()
"""Those that compute element by element, as ufuncs do: `vmap` needs no other rule for them."""


def array_function(
    rule: Rule, is_elementwise: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function take part in the dispatch.

    It must give the same for the same arguments, write into none of them, and give new arrays.

    Args:
        rule: The layouts of its results, from the same arguments with layouts for arrays.
        is_elementwise: Whether each element of its result depends on one place alone.

    >>> import numpy as np
    >>> from lamina.devices.layouts import fresh
    >>> from lamina.devices.traced import Recorder
    >>> @array_function(lambda x: fresh(x.shape, x.dtype))
    ... def doubled(x):
    ...     return x + x
    >>> doubled(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> recorder = Recorder()
    >>> y = doubled(recorder.input(np.array([1.0, 2.0])))
    >>> print(recorder)
    %0: float64[2] = input
    %1: float64[2] = doubled(%0)
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for value in args:
                if isinstance(value, DispatchedArray):
                    return value._apply(call, args, kwargs)
            return function(*args, **kwargs)

        RULES[call] = rule
        if is_elementwise:
            ELEMENTWISE.add(call)
        return call

    return declare


def is_array_function(function: Any) -> bool:
    """Whether a function was made one by `array_function`, or is a helper of the dispatch."""
    return function in RULES
