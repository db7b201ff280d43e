"""The position that the user's program has reached: what every operation writes down.

A position is a code object and the offset of an instruction. To take one costs a fraction of a
microsecond; `provenance`, which is loaded when somebody asks, turns it into an expression.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, TypeAlias

from lamina.codegen.later import Later
from lamina.core.own_files import internal_files
from lamina.errors import Place
from lamina.errors.base import locate_with

if TYPE_CHECKING:
    from lamina.core import provenance
else:
    provenance = Later("lamina.core.provenance")

__all__ = ["Origin", "here", "internal_files", "user_frame"]

Origin: TypeAlias = tuple[types.CodeType, int]
"""A position in a running program: its code object and the byte offset of an instruction."""


def user_frame(frame: types.FrameType) -> types.FrameType:
    """The nearest frame, from `frame` outwards, that runs the user's code.

    Without one, the outermost frame.
    """
    internal = internal_files
    while frame.f_code.co_filename in internal:
        outer = frame.f_back
        if outer is None:
            return frame
        frame = outer
    return frame


def here(depth: int = 1) -> Origin:
    """The position that the user's program has reached.

    Args:
        depth: How many frames up to start looking; 1 is the caller.
    """
    frame = sys._getframe(depth)
    internal = internal_files
    while (code := frame.f_code).co_filename in internal:
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    return code, frame.f_lasti


def _current_place() -> Place | None:
    return provenance.current_place()


locate_with(_current_place)
