"""PyTorch's settings of a whole process that are kept here, and change no result."""

from __future__ import annotations

from typing import Any, Final

from lamina.core.warning import warn
from lamina.errors import ArgumentTypeError, InvalidArgument

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_PRECISIONS = ("highest", "high", "medium")
kept_settings: Final[dict[str, Any]] = {
    "precision": "highest", "mode": 0, "interop_threads": 1, "warn_always": 0,
}  # fmt: skip
"""What was set; programs that are compiled watch what they ask for."""


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told; "highest" at first."""
    precision: str = kept_settings["precision"]
    return precision


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 to be less precise, which Lamina makes no use of.

    Args:
        precision: "highest", "high" or "medium".

    Warns:
        UserWarning: If it is another word, which then has no effect.

    >>> set_float32_matmul_precision("high")
    >>> get_float32_matmul_precision()
    'high'
    """
    if precision in _PRECISIONS:
        kept_settings["precision"] = precision
        return
    warn(
        f"{precision} is not one of 'highest', 'high', or 'medium'; "
        "this call of set_float32_matmul_precision has no effect"
    )


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that do not change from run to run, which Lamina's never do."""
    kept_settings["mode"] = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms(True)` was called."""
    return bool(kept_settings["mode"] != 0)


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms(True, warn_only=True)` was called."""
    return bool(kept_settings["mode"] == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: nothing asked, a warning asked, an error asked."""
    mode: int = kept_settings["mode"]
    return mode


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` in one number, or its name: "default", "warn", "error".

    Raises:
        RuntimeError: If it is another number or word.
        TypeError: If it is neither.
    """
    if not isinstance(debug_mode, int | str):
        raise ArgumentTypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    names: dict[int | str, int] = {"default": 0, "warn": 1, "error": 2, 0: 0, 1: 1, 2: 2}
    if debug_mode not in names:
        words = "one of `default`, `warn`, `error`"
        allowed = words if isinstance(debug_mode, str) else "0, 1, or 2"
        raise InvalidArgument(
            f"invalid value of debug_mode, expected {allowed}, but got {debug_mode}"
        )
    kept_settings["mode"] = names[debug_mode]


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` was told; operations run one after another."""
    number: int = kept_settings["interop_threads"]
    return number


def set_num_interop_threads(number: int) -> None:
    """Keep a number; `set_num_threads` says how many threads share one operation.

    Raises:
        RuntimeError: If it is not positive.
    """
    if number < 1:
        raise InvalidArgument("set_num_interop_threads expects a positive integer")
    kept_settings["interop_threads"] = number


def set_flush_denormal(mode: bool) -> bool:
    """Returns whether very small numbers can be flushed to zero: only not to do so is possible."""
    return not mode


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always(True)` was called."""
    return bool(kept_settings["warn_always"])


def set_warn_always(b: bool, /) -> None:
    """Keep a wish; which warnings are shown again, Python's `warnings` filters decide."""
    kept_settings["warn_always"] = int(b)
