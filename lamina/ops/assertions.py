"""Claims that a program makes about its values, and is stopped by if they are false."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.blame.words import this_place

__all__: list[str] = []


def _assert(condition: Any, message: Any) -> None:
    """Raise AssertionError with the message unless the condition holds.

    Python's `assert` as a function, which `python -O` does not remove.
    """
    if not condition:
        raise AssertionError(message)


@takes_tensors
def _assert_async(input: Any, assert_msg: str | None = None) -> None:
    """Raise RuntimeError unless the one element of a tensor is not zero. It is read at once."""
    if not input:
        message = assert_msg or "Expected Tensor with single nonzero value, but got zero"
        raise errors.InvalidArgument(message, [(this_place(), "asked for here")])
