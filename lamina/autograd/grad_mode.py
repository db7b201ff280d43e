"""The modes that turn recording on and off, under the name where programs import them from."""

from __future__ import annotations

from types import TracebackType

from lamina.core.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class _Threading:
    is_enabled = True


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was last called with."""
    return _Threading.is_enabled


class set_multithreading_enabled:
    """Accepted and remembered; a backward pass runs in the thread that asked for it."""

    def __init__(self, mode: bool) -> None:
        self._before = _Threading.is_enabled
        _Threading.is_enabled = self.mode = bool(mode)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _Threading.is_enabled = self._before
