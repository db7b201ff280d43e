"""Functions of each element that machine code computes, for arrays of any length.

    @vectorized("erf")
    def erf_of(x):
        ...                   # with NumPy calls

    @vectorized()
    def sigmoid(input):
        return np.reciprocal(1 + np.exp(-input))

    tan_of = vectorized()(np.tan)

Large arrays go through one compiled loop, shared by several threads, once there was enough work to
be worth compiling; the rest is left to the function itself. A name is that of a pointwise operation
(`llvm/vector_functions`), which is what the loop computes, and loops of programs too: in a
recording such a function is one step. Without a name the loop is made of the function's NumPy
calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina.codegen.fused import FlatFunction
from lamina.codegen.later import Later, is_available
from lamina.devices.array_functions import array_function

if TYPE_CHECKING:
    from lamina.devices import layouts
else:
    layouts = Later("lamina.devices.layouts")

LEAST_SIZE: Final = {True: 1 << 15, False: 1 << 11}
"""Elements from which on machine code is faster than a ufunc, and than several NumPy steps."""

WORK_BEFORE: Final = 1 << 20
"""Elements (and a few thousand for each call) that NumPy goes through before."""

_Function = Callable[[Any], Any]

OWN: Final[dict[_Function, str]] = {}
"""The pointwise operation that each function of our own is, in recordings."""

BY_STEPS: Final[dict[str, _Function]] = {}
"""What computes such an operation with NumPy."""


def vectorized(name: str | None = None) -> Callable[[_Function], _Function]:
    """Let machine code compute a function of one array where that is large.

    Args:
        name: The pointwise operation that the function is, if it is one.
    """

    def declare(function: _Function) -> _Function:
        is_ufunc = isinstance(function, np.ufunc)
        step = function if is_ufunc or name is None else _own_step(name, function)
        loop = FlatFunction(lambda x, out: np.copyto(out, step(x)), WORK_BEFORE)
        least = LEAST_SIZE[is_ufunc]

        def call(input: Any) -> Any:
            if input.__class__ is np.ndarray and input.size >= least and _is_fit(input):
                return _by_machine_code(loop, step, input)
            return step(input)

        functools.update_wrapper(call, function, ("__name__", "__qualname__", "__doc__"))
        call.ufunc = function if is_ufunc else None  # type: ignore[attr-defined]
        del call.__wrapped__  # type: ignore[attr-defined]
        return call

    return declare


def _own_step(name: str, function: _Function) -> _Function:
    """The function as an operation that recordings and graphs know."""
    step = array_function(_same_layout, is_elementwise=True)(function)
    OWN[step] = name
    BY_STEPS[name] = function
    return step


def _same_layout(x: Any) -> Any:
    return layouts.in_order_of(x.shape, x.dtype, [x])


def _is_fit(x: Any) -> bool:
    return x.dtype.char in "fd" and x.dtype.isnative and x.flags.aligned and is_available()


def _by_machine_code(loop: FlatFunction, step: _Function, x: Any) -> Any:
    """The function of a large array; by NumPy while there is no machine code yet."""
    flags = x.flags
    if not (flags.c_contiguous or flags.f_contiguous):
        if 0 in x.strides:
            return step(x)
        x = np.copy(x)  # without gaps, with the axes in the same order
    out = np.empty_like(x)
    return out if loop.run_one((x, out)) else step(x)


# --- two arrays ----------------------------------------------------------------------------------

LEAST_SHARED: Final = 1 << 18
"""Elements from which on threads are faster than a ufunc alone, which takes them 15 to 30 us."""


_ARITHMETIC: Final = (np.add, np.subtract, np.multiply, np.true_divide)


@functools.cache
def shared(ufunc: np.ufunc) -> Callable[..., Any]:
    """Sums, differences, products and quotients of large arrays, with a loop that threads share.

    Takes two arrays, or one and a number, and perhaps an array for the result, which may be the
    first one; that has `LEAST_SHARED` elements or more, in float32 or float64. Unless all are of
    one shape, dtype and layout without gaps, and for any other ufunc, the ufunc itself runs.
    """
    if ufunc not in _ARITHMETIC:
        return ufunc
    pairs = FlatFunction(lambda x, y, out: ufunc(x, y, out=out), WORK_BEFORE)
    numbers = FlatFunction(lambda x, out, y: ufunc(x, y, out=out), WORK_BEFORE)

    def call(x: Any, y: Any, out: Any = None) -> Any:
        is_number = y.__class__ is float or y.__class__ is int
        if not (_is_like(x, x) and (is_number or _is_like(y, x)) and _may_take(out, x)):
            return ufunc(x, y, out)
        made = np.empty_like(x) if out is None else out
        is_done = numbers.run_one((x, made), (y,)) if is_number else pairs.run_one((x, y, made))
        return made if is_done else ufunc(x, y, out)

    call.__name__ = ufunc.__name__
    return call


def _is_like(y: Any, x: Any) -> bool:
    """Whether one loop can go through both arrays."""
    return bool(
        y.__class__ is np.ndarray
        and _is_fit(y)
        and y.dtype is x.dtype
        and y.shape == x.shape
        and y.strides == x.strides
        and (y.flags.c_contiguous or y.flags.f_contiguous)
    )


def _may_take(out: Any, x: Any) -> bool:
    """Whether an array, if there is one, can take what is made of another."""
    return out is None or (_is_like(out, x) and out.flags.writeable)
