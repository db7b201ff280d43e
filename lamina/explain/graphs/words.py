"""Words about a model that all renderings share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lamina.devices.byte_counts import bytes_in_words
from lamina.explain.graphs.model import GraphModel, Node


def totals_of(model: GraphModel) -> str:
    """How much there is, in one line."""
    parts = [
        counted(model.count("operation"), "operation", "operations"),
        counted(model.count("leaf"), "leaf", "leaves"),
    ]
    if model.count("data"):
        parts.append(f"{model.count('data')} data")
    return ", ".join(parts) + f"; {bytes_in_words(model.kept_bytes)} kept for backward"


FREED: Final = "what it kept was freed by an earlier backward pass"


def freed_note(count: int) -> str:
    """What is to be said of a graph if so many of its operations were freed."""
    return (
        f"An earlier backward pass freed what {count} of these operations kept: another one needs "
        "retain_graph=True in the first."
    )


def counted(count: int, one: str, many: str) -> str:
    """A number with its word."""
    return f"{count:,} {one if count == 1 else many}"


def extra_bytes(nodes: Sequence[Node]) -> int:
    """The memory of what some nodes keep and was computed on the way, each piece once."""
    pieces = {
        kept.memory: kept.memory_bytes for node in nodes for kept in node.kept if kept.is_extra
    }
    return sum(pieces.values())


def content_of(nodes: Sequence[Node]) -> str:
    """What is in a folded group."""
    operations = sum(node.kind == "operation" for node in nodes)
    leaves = sum(node.kind == "leaf" for node in nodes)
    parts = [counted(operations, "operation", "operations")] if operations else []
    parts += [counted(leaves, "leaf", "leaves")] if leaves else []
    return ", ".join(parts) or counted(len(nodes), "tensor", "tensors")


def printable(text: str) -> str:
    """A text without control characters: a terminal would obey them, and XML has none.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(
        repr(sign)[1:-1] if ord(sign) < 32 or 127 <= ord(sign) < 160 or sign in _NO_TEXT else sign
        for sign in text
    )


_NO_TEXT: Final = "\u2028\u2029\ufffe\uffff"


def clipped(text: str, width: int, ellipsis: str = "…") -> str:
    """A text cut to a width in characters."""
    if len(text) <= width:
        return text
    return text[: max(width - len(ellipsis), 0)] + ellipsis[:width]
