"""Processes that `multiprocessing` starts anew inherit what `import torch` means.

Such a process first reads its preparation data, a dict that its parent sends, and then imports the
program. While the alias holds there is one entry more: an object that, when it is unpickled,
installs the alias. Processes that are forked have it anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from multiprocessing import spawn
from typing import Any, final

__all__ = ["tell_children", "tell_no_more_children"]

_python: Any = spawn.get_preparation_data

# The name under which multiprocessing.forkserver asks for its own preparation data.
_SERVER = "ignore"


@final
class _OnArrival:
    """Pickled, it is a call of `action`, which the process that unpickles it makes."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return self.action, ()


def _with_action(action: Callable[[], None], name: str) -> dict[str, Any]:
    data: dict[str, Any] = _python(name)
    if name == _SERVER:
        # The server reads no entry more, and would import the program without the alias. Without
        # the path it imports nothing: each process that it forks imports the program itself.
        data.pop("init_main_from_path", None)
        return data
    return {"on_arrival": _OnArrival(action), **data}


def tell_children(action: Callable[[], None]) -> None:
    """From now on let each process that is started anew call `action` first.

    Args:
        action: A function of a module that the new process can import.
    """
    spawn.get_preparation_data = functools.partial(_with_action, action)


def tell_no_more_children() -> None:
    """Start processes as Python does again."""
    spawn.get_preparation_data = _python
