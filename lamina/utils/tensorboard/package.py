"""The package tensorboardX, which is optional."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lamina import errors

__all__ = ["part_of_package"]


def part_of_package(name: str) -> Any:
    """A module of tensorboardX.

    Raises:
        ImportError: It is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("tensorboardX"):
            raise
        raise errors.MissingExtra(
            "No module named 'tensorboardX', which writes event files for TensorBoard",
            help=["pip install lamina[tensorboard]"],
        ) from None
