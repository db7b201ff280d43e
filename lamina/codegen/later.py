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
import sys
from typing import Any, final


@functools.cache
def is_available() -> bool:
    """Whether machine code can be made here: llvmlite (the extra `full`) is installed, and works.

    Tables hold addresses of 64 bits. And a processor must multiply and add in one step: for those
    of x86 from before 2013, each such step of a polynomial would be a call of the C library.
    """
    if sys.maxsize < 1 << 32:
        return False
    try:
        import llvmlite.binding as binding
    except (ImportError, OSError):  # the latter where its library cannot be loaded
        return False
    return bool(binding.get_host_cpu_features().get("fma", True))  # only those of x86 name it


@final
class Later:
    """Stands for a module until something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)  # so that the next time costs nothing
        return found
