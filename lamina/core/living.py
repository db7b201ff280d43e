"""What exists in the process, found by the garbage collector, which knows every container.

Nothing has to be recorded for such questions. A search takes some tens of milliseconds, and more
in a process of millions of objects: it is for when somebody asks.
"""

from __future__ import annotations

import gc
from typing import Any


def living(kind: type) -> list[Any]:
    """The objects of a class, or of one derived from it; none of their own code runs."""
    return [found for found in gc.get_objects() if issubclass(type(found), kind)]


def living_modules(kind: type) -> list[Any]:
    """The modules of such a class whose `Module.__init__` has run.

    A constructor that failed before it may have left the others, and nothing can be asked of them.
    """
    return [found for found in living(kind) if "_modules" in vars(found)]
