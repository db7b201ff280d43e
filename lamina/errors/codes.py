"""Every error and warning by its code."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from .base import Diagnostic
from .index import INDEX

__all__ = ["CODES"]

_CODES: dict[str, type[Diagnostic]] = {
    code: getattr(import_module(f"lamina.errors.{file}"), name)
    for file, names in INDEX.items()
    for code, name in names.items()
}
CODES: Final = dict(sorted(_CODES.items(), key=lambda item: int(item[0].removeprefix("L"))))
"""The class of each code, from `"L101"` on."""
