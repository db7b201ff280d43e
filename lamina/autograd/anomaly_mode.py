"""Anomaly mode: every derivative is checked for NaN.

Where an operation was recorded is always known, so the mode is not needed to find that out.
"""

from __future__ import annotations

from lamina.core.modes import door, state
from lamina.core.warning import warn

__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_anomaly_enabled",
    "set_detect_anomaly",
]


def is_anomaly_enabled() -> bool:
    """Whether this thread is in anomaly mode."""
    return state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, where it is on, checks for NaN."""
    return state.check_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off in this thread."""
    _set(mode, check_nan)


def _set(is_on: bool, check_nan: bool) -> None:
    if is_on != state.anomaly:
        door.watch(1 if is_on else -1)
    state.anomaly = is_on
    state.check_nan = check_nan


class set_detect_anomaly:
    """Turns anomaly mode on or off at once, and back when used as a context."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (state.anomaly, state.check_nan)
        _set(bool(mode), check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _set(*self._before)


class detect_anomaly:
    """Within it, a backward pass that computes NaN raises an error that shows the operation.

    It makes each step a little slower: use it to look for a mistake.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging."
        )

    def __enter__(self) -> None:
        self._before = (state.anomaly, state.check_nan)
        _set(True, self._check_nan)

    def __exit__(self, *_: object) -> None:
        _set(*self._before)
