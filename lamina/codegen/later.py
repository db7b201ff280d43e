"""Modules that are imported when something of them is first used.

Operations know the kernels of machine code, and `import lamina` must not load what makes them: 30
files, and 30 ms. An editor follows the import that is there for type checkers:

    if TYPE_CHECKING:
        from lamina.codegen.kernels import totals
    else:
        totals = Later("lamina.codegen.kernels.totals")
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any, final


@functools.cache
def is_available() -> bool:
    """Whether machine code can be made: whether llvmlite (the extra `full`) is installed."""
    return importlib.util.find_spec("llvmlite") is not None


@final
class Later:
    """Stands for a module until something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)  # so that the next time costs nothing
        return found
