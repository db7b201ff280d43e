"""NumPy's floating-point flags during a backward pass: silent, but noted for the explainer.

A pass divides by zero or multiplies 0 by infinity where a derivative is not finite, and PyTorch
does not complain. NumPy calls `note_trouble` then, once per operation on an array; as long as all
is finite this costs nothing.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from lamina.core import records
from lamina.core.blame.words import op_word
from lamina.core.node import Node
from lamina.core.versions import next_stamp

FRAMES_LOOKED_AT = 30


def noted_flags() -> Any:
    """A context in which floating-point flags are noted instead of reported."""
    return np.errstate(all="ignore", divide="call", invalid="call", call=note_trouble)


def note_trouble(kind: str, flag: int) -> None:
    """Note which node's derivative was being computed, and whether its gradient had zeros."""
    frame = sys._getframe(1)
    for _ in range(FRAMES_LOOKED_AT):
        node = frame.f_locals.get("self")
        if isinstance(node, Node):
            gradient = frame.f_locals.get("g")
            records.troubles.append(
                records.Trouble(
                    node.code, node.lasti, op_word(node), kind, next_stamp(), _has_zero(gradient)
                )
            )
            return
        if frame.f_back is None:
            return
        frame = frame.f_back


def _has_zero(gradient: Any) -> bool:
    try:
        array = getattr(gradient, "_array", gradient)
        return bool((array == 0).any())
    except Exception:
        return False
