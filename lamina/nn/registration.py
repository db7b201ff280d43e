"""Hooks on registration: functions that are called when any module gets a parameter or such."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from lamina.core.hooks import Registry, RemovableHandle

if TYPE_CHECKING:
    from lamina.nn.module import Module

__all__ = [
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "registered",
]

# id -> (what is registered, hook). One dict of all kinds: mostly it is empty, and nothing is asked.
ON_REGISTRATION: Final[Any] = Registry()


def _add(kind: str, hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(ON_REGISTRATION)
    ON_REGISTRATION[handle.id] = (kind, hook)
    return handle


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, param)` when a module gets a parameter; its result replaces that.

    >>> from lamina import nn
    >>> def tell(module, name, param):
    ...     print(type(module).__name__, name)
    >>> with register_module_parameter_registration_hook(tell):
    ...     _ = nn.Linear(2, 1)
    Linear weight
    Linear bias
    """
    return _add("parameter", hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when a module gets a buffer; its result replaces that."""
    return _add("buffer", hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, child)` when a module gets a child; its result replaces that."""
    return _add("module", hook)


def registered(kind: str, module: Module, name: str, value: Any) -> Any:
    """What a module takes for `value`, after all hooks on that kind have seen it."""
    for its_kind, hook in list(ON_REGISTRATION.values()):
        if its_kind == kind:
            replacement = hook(module, name, value)
            value = value if replacement is None else replacement
    return value
