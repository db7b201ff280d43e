"""What the tests of this folder share: graphs from recorded NumPy calls, and distances in ulp."""

from contextlib import contextmanager

import numpy as np

from lamina.codegen import splitting
from lamina.codegen.executable import Executable
from lamina.codegen.llvm import machine
from lamina.codegen.lowering import lower
from lamina.devices.traced import Recorder

WAYS = [False, True] if machine.is_available() else [False]
"""With NumPy alone, and with machine code where llvmlite is installed."""


@contextmanager
def cutting_small_loops():
    """Loops of any size are cut into pieces, which threads may share."""
    before = splitting.LEAST_CYCLES, splitting.SHARE
    splitting.LEAST_CYCLES = splitting.SHARE = 0
    try:
        yield
    finally:
        splitting.LEAST_CYCLES, splitting.SHARE = before


def recorded(function, *arrays):
    """A recorder, and the traced arrays that a function gives for some arrays."""
    recorder = Recorder()
    with recorder:
        results = function(*(recorder.input(array) for array in arrays))
    return recorder, list(results) if isinstance(results, tuple) else [results]


def graph_of(function, *arrays):
    """The graph of a function of arrays."""
    recorder, results = recorded(function, *arrays)
    return lower(recorder.program, [result.ref for result in results])


def compiled(function, *arrays, native):
    """The same function, compiled for such arrays."""
    executable = Executable(graph_of(function, *arrays), native=native)
    return lambda *given: executable.run(list(given))


def ulps(actual, expected):
    """How far numbers are apart, in units of the last place of the expected ones.

    `expected` has a wider dtype, so that the rounding of the reference itself does not count.
    """
    kind = actual.dtype
    rounded = expected.astype(kind)
    same = (actual == rounded) | (np.isnan(actual) & np.isnan(rounded))
    finite = np.isfinite(rounded)
    size = np.maximum(np.abs(rounded), np.finfo(kind).tiny)
    unit = np.spacing(np.where(finite, size, 1)).astype(expected.dtype)
    with np.errstate(all="ignore"):
        distance = np.abs(actual.astype(expected.dtype) - expected) / unit
    distance = np.where(np.isnan(distance), np.inf, distance)
    return np.where(same, np.where(finite, np.minimum(distance, 0.5), 0), distance)
