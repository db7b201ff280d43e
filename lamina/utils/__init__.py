"""Tools around training: data, checkpointing, trees of tensors, timing, event files.

Each is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamina.utils import (
        _pytree,
        benchmark,
        checkpoint,
        collect_env,
        cpp_extension,
        data,
        dlpack,
        hooks,
        model_zoo,
        tensorboard,
    )

__all__ = [
    "_pytree",
    "benchmark",
    "checkpoint",
    "collect_env",
    "cpp_extension",
    "data",
    "dlpack",
    "hooks",
    "model_zoo",
    "tensorboard",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"lamina.utils.{name}")
    raise AttributeError(f"module 'lamina.utils' has no attribute {name!r}")
