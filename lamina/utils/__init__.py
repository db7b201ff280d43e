"""Tools around training: data, checkpointing, trees of tensors, timing, event files.

Each is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamina.utils import _pytree, checkpoint, data, hooks, tensorboard

_MEMBERS = frozenset({"_pytree", "checkpoint", "data", "hooks", "tensorboard"})


def __getattr__(name: str) -> Any:
    if name in _MEMBERS:
        return import_module(f"lamina.utils.{name}")
    raise AttributeError(f"module 'lamina.utils' has no attribute {name!r}")


__all__ = ["_pytree", "checkpoint", "data", "hooks", "tensorboard"]
