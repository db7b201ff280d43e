"""Amounts of memory in words."""

from __future__ import annotations

__all__ = ["bytes_in_words"]


def bytes_in_words(count: int) -> str:
    """A number of bytes as people read it, in powers of 1024 as in PyTorch's errors.

    A KiB is 1024 bytes, a MiB 1024 KiB, and a GiB 1024 MiB.

    >>> bytes_in_words(512), bytes_in_words(20 << 20), bytes_in_words(3 << 29)
    ('512 bytes', '20.00 MiB', '1.50 GiB')
    """
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.2f} {name}"
    return f"{count} byte{'s' * (count != 1)}"
