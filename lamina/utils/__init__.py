"""Tools around training: data, checkpointing, trees of tensors, timing, event files.

Each is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from lamina.late_loading import late_names

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

__getattr__, __dir__ = late_names(__name__, {}, " ".join(__all__))
