"""When machine code does what NumPy could do too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lamina.codegen.later import Later

if TYPE_CHECKING:
    from lamina.codegen.llvm import machine
else:
    machine = Later("lamina.codegen.llvm.machine")


def serves(work: int, least: int, *arrays: Any) -> bool:
    """Whether machine code does a kernel: on plain float arrays, for enough work.

    Args:
        work: How much there is to do.
        least: From how much on it is worth it.
        arrays: The operands, all of one dtype.
    """
    return work >= least and machine.is_available() and all(map(_is_plain, arrays))


def _is_plain(array: Any) -> bool:
    return type(array) is np.ndarray and array.dtype.char in "fd" and array.dtype.isnative
