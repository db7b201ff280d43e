"""Tools around training: checkpointing, and handles of hooks."""

from lamina.utils import checkpoint, hooks

__all__ = ["checkpoint", "hooks"]
