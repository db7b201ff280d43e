"""Whether a program gains anything: around a single small operation, a program costs more."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from lamina.compiler.capturing import Recording
from lamina.devices.array_functions import is_array_function

COST_OF_STEP: Final = 10_000
"""What an eager operation costs beside its work, in elements that NumPy goes through: 1.2 us."""

COST_OF_RUN: Final = 39_000
"""What the run of a program costs beside its work: 4.7 us."""

MOST_ELEMENTS: Final = 1 << 17
"""Of the largest array: beyond, several threads share even a single operation."""

_PRODUCTS: Final = (np.dot, np.matmul)


def is_worth_it(recording: Recording) -> bool:
    """Whether a call is quicker as a program than as it is written.

    It is not where the call gives the result of one operation, or without gradients of a few on
    small arrays, and does nothing besides. (With gradients, the backward pass of a program costs
    less from two operations on.) Large arrays are another matter, but for functions that a program
    calls as eager mode does: products, sorting, gathering and their like.
    """
    if recording.changes or recording.gradients or recording.is_used_up:
        return True
    program = recording.recorder.program
    steps = program.steps[: recording.forward]
    if len(steps) == 1 and (steps[0].function in _PRODUCTS or _is_own(steps[0].function)):
        return False
    size = max((math.prod(kind.shape) for kind in program.types), default=0)
    if size > MOST_ELEMENTS or (recording.derivative is not None and len(steps) > 1):
        return True
    return len(steps) * (COST_OF_STEP + size) >= COST_OF_RUN + size


def _is_own(function: Any) -> bool:
    """Whether a function is one of our own with machine code behind it, such as sorting."""
    return is_array_function(function) and function.__module__.startswith("lamina.")
