"""Modules whose names are loaded from other modules when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["late_names"]


def late_names(
    module: str, homes: Mapping[str, str], submodules: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module, which find names in their homes.

    Python asks them for what the module does not hold yet; what was found is kept there, so that
    the next time costs nothing. The module also imports the names under `TYPE_CHECKING`, for
    editors and type checkers.

    Args:
        module: The module's own name.
        homes: The names, in one text, by the module that they stand in. Modules that are inside
            of it are names of it too.
        submodules: More modules inside of it.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    parts = (home.rpartition(".") for home in homes)
    inside = {name for package, _, name in parts if package == module} | set(submodules.split())

    def find(name: str) -> Any:
        if name in inside:
            return import_module(f"{module}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[module], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[module]), *home_of, *inside})

    return find, names
