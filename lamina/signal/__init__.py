"""Signals: window functions."""

from lamina.signal import windows

__all__ = ["windows"]
