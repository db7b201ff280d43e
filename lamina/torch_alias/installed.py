"""What `importlib.metadata` says of the package `torch`: libraries ask for its version so."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from typing import final

import lamina
from lamina.torch_alias.shims.torch_version import __version__

__all__ = ["InstalledTorch", "is_meant"]


@final
class InstalledTorch(importlib.metadata.Distribution):
    """The package `torch` as installed, with Lamina's version of it and no files."""

    def read_text(self, filename: str | os.PathLike[str]) -> str | None:
        """The text of one of its records, of which there is the most needed one alone."""
        if str(filename) != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n"

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        """Where a file of the package would be."""
        return Path(lamina.__file__).parent / path


def is_meant(context: importlib.metadata.DistributionFinder.Context) -> bool:
    """Whether `torch` is among the packages that are asked for."""
    return context.name is None or context.name.lower() == "torch"
