"""Fused kernels: functions of NumPy arrays that become machine code where the arrays are large.

A kernel such as softmax is written with NumPy calls, each of which goes through memory once. For
large arrays the same function, recorded once for their shapes, dtypes and strides, becomes one
program: a few loops, shared by several threads. Where that cannot be (no llvmlite, small arrays, a
step that is no loop), the function itself runs.

    @fused
    def softmax(x, axis):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import numpy as np

from lamina.codegen.later import Later, is_available

if TYPE_CHECKING:
    from lamina.codegen import flat, fused_program
else:
    flat = Later("lamina.codegen.flat")
    fused_program = Later("lamina.codegen.fused_program")

LEAST_SIZE: Final = 1 << 15
"""Elements of the largest argument; with fewer NumPy takes 20 microseconds a call or less."""

CALLS_BEFORE: Final = 2
WORK_BEFORE: Final = 4_000_000
"""What NumPy does before machine code is made: calls of the same kind, and elements they went
through (and a few thousand for each call). Compiling takes 10 to 60 ms, loading what was kept 5."""

_CALL: Final = 4_000
_SMALL_CALL: Final = 1_000

MOST_KERNELS: Final = 64
"""Programs of one function; those used longest ago go first."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def fused(function: _Function) -> _Function:
    """The same function, compiled for large arrays.

    Its arguments are arrays, plain values that can be compared, and lists or tuples of them. It
    must do the same for all arrays of the same shapes, dtypes and strides, and may write only into
    arrays that it made.
    """
    return fused_from(LEAST_SIZE)(function)


def fused_from(least: int) -> Callable[[_Function], _Function]:
    """As `fused`, for arrays of `least` elements or more: for functions of very many steps."""

    def decorate(function: _Function) -> _Function:
        kernels = _Kernels(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for value in args:  # `is_large`, without the call: 0.15 us
                if value.__class__ is np.ndarray:
                    if value.size >= least:
                        return kernels.call(args, kwargs)
                elif value.__class__ is list and is_large(*value):
                    return kernels.call(args, kwargs)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def is_large(*args: Any) -> bool:
    """Whether any argument is a large array in host memory, or a list with one."""
    for value in args:
        if value.__class__ is np.ndarray:
            if value.size >= LEAST_SIZE:
                return True
        elif value.__class__ is list and is_large(*value):
            return True
    return False


@final
class _Kernel:
    """The compiled form of a function for arguments of one kind.

    Attributes:
        calls, work: How often such arguments were seen, and how many elements they had.
        is_settled: Whether that was enough.
        run: What runs it; None while there is none, or where there cannot be one.
    """

    __slots__ = ("calls", "is_settled", "lock", "run", "work")

    def __init__(self) -> None:
        self.calls = self.work = 0
        self.is_settled = False
        self.lock = threading.Lock()
        self.run: Callable[[list[Any]], Any] | None = None

    def is_due(self, arrays: list[Any]) -> bool:
        """Note one more call; whether it is the first one that is worth compiling for."""
        if self.is_settled:
            return False
        self.calls += 1
        self.work += max(array.size for array in arrays) + _CALL
        self.is_settled = self.calls >= CALLS_BEFORE and self.work >= WORK_BEFORE
        return self.is_settled


@final
class _Kernels:
    """The compiled forms of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._known: OrderedDict[Any, _Kernel] = OrderedDict()
        self._lock = threading.Lock()

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function, compiled if such arguments came often enough."""
        arrays: list[Any] = []
        key = _signature((*args, *kwargs, *kwargs.values()), arrays)
        if key is None or not is_available():
            return self._function(*args, **kwargs)
        kernel = self._kernel(key)
        # A program uses memory of its own: whoever finds it at work calls the function itself.
        if not kernel.lock.acquire(blocking=False):
            return self._function(*args, **kwargs)
        try:
            if kernel.is_due(arrays):
                kernel.run = fused_program.program_of(self._function, args, kwargs, arrays)
            if kernel.run is None:
                return self._function(*args, **kwargs)
            return kernel.run(arrays)
        finally:
            kernel.lock.release()

    def _kernel(self, key: Any) -> _Kernel:
        """The form for arguments of one kind, which is now the last used."""
        with self._lock:
            kernel = self._known.get(key)
            if kernel is None:
                kernel = self._known[key] = _Kernel()
                if len(self._known) > MOST_KERNELS:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
        return kernel


def _signature(value: Any, arrays: list[Any]) -> Any:
    """What a program depends on; None if it cannot be one. The arrays are collected, each once."""
    kind = value.__class__
    if kind is np.ndarray:
        for position, other in enumerate(arrays):
            if other is value:
                return position
        if not value.dtype.isnative or not value.flags.aligned:
            return None
        arrays.append(value)
        return value.shape, value.strides, value.dtype.char
    if kind is tuple or kind is list:
        parts = [_signature(part, arrays) for part in value]
        return None if None in parts else (kind, *parts)
    if kind is float:
        return value.hex()  # 0.0 and -0.0 are two
    # A namespace of operations, an enumeration, a dtype. (NumPy's numbers are left to NumPy.)
    return (
        (kind, value) if kind.__hash__ is not None and not isinstance(value, np.generic) else None
    )


# --- any length ----------------------------------------------------------------------------------

LEAST_FLAT: Final = 1024
"""Elements of arrays that machine code goes through: with fewer NumPy's own steps are as fast."""


@final
class FlatFunction:
    """A pointwise function of arrays of one shape, and of numbers: one loop for all lengths.

    It writes into arrays that it is given, which must be contiguous and of one dtype. Without
    machine code, and before it was worth compiling, NumPy does it step by step.
    """

    def __init__(self, function: Callable[..., None], work_before: int = WORK_BEFORE) -> None:
        self._function = function
        self._work_before = work_before
        self._work = 0
        self._loops: dict[tuple[str, int, int], Any] = {}
        self._lock = threading.Lock()

    def __call__(self, rows: Sequence[Sequence[Any]], numbers: Sequence[float]) -> None:
        """Do it for each row: arrays of one shape."""
        large = [row for row in rows if row[0].size >= LEAST_FLAT]
        loop = self._loop(large, len(numbers)) if large else None
        if loop:
            loop.run(large, numbers)
        small = [row for row in rows if row[0].size < LEAST_FLAT] if loop else rows
        if small:
            self.step_by_step(small, numbers)

    def step_by_step(self, rows: Sequence[Sequence[Any]], numbers: Sequence[float]) -> None:
        """Do it for each row with NumPy."""
        with np.errstate(all="ignore"):
            for row in rows:
                self._function(*row, *numbers)

    def run_one(self, arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> bool:
        """Do it for one row by machine code; False, and nothing is done, while there is none."""
        loop = self._loop((arrays,), len(numbers))
        if loop:
            loop.run_one(arrays, numbers)
        return bool(loop)

    def prepared(self, rows: Sequence[Sequence[Any]], numbers: Sequence[float]) -> Any:
        """The compiled loop, ready for rows of which only the first array is not always the same.

        None while there is none. It pays for small arrays too (a `flat.Prepared`).
        """
        loop = self._loop(rows, len(numbers))
        return loop.prepared(rows) if loop else None

    def _loop(self, rows: Sequence[Sequence[Any]], numbers: int) -> Any:
        """The compiled loop, if there is one, or if it is time for one."""
        key = rows[0][0].dtype.char, len(rows[0]), numbers
        loop = self._loops.get(key)
        if loop is not None:
            return loop
        if self._work < self._work_before:
            calls = (_CALL if row[0].size >= LEAST_FLAT else _SMALL_CALL for row in rows)
            self._work += sum(row[0].size for row in rows) + sum(calls)
            return None
        return self._compiled(key, rows[0], numbers) if is_available() else None

    def _compiled(self, key: Any, arrays: Sequence[Any], numbers: int) -> Any:
        """The loop; False if there cannot be one."""
        with self._lock:
            if key not in self._loops:
                kinds = [array.dtype for array in arrays]
                try:
                    self._loops[key] = flat.FlatKernel(self._function, kinds, numbers)
                except flat.NotFlat:
                    self._loops[key] = False
        return self._loops[key]
