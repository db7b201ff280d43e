"""Handles of hooks, under the name where programs import them from."""

from lamina.core.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
