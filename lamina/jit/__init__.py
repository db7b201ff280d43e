"""`jit`: TorchScript's names. Functions and modules stay what they are, and run as Python.

`script` and `trace` exist so that programs run unchanged; what makes them fast is
`lamina.compile`. Saved TorchScript programs cannot be loaded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from lamina.core.blame import this_place
from lamina.core.warning import warn
from lamina.errors import InvalidArgument, NotSupported
from lamina.nn.module import Module

__all__ = [
    "Attribute", "Error", "Final", "ScriptFunction", "ScriptModule", "TracerWarning", "annotate",
    "export", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "load",
    "optimize_for_inference", "save", "script", "script_if_tracing", "script_method", "trace",
    "trace_module", "unused",
]  # fmt: skip

_Any = TypeVar("_Any")


class Error(RuntimeError):
    """What a failing TorchScript program raises; nothing here does."""


class TracerWarning(Warning):
    """What tracing says of values that it took for constants; nothing here does.

    Programs silence it with `warnings.filterwarnings`.
    """


class ScriptModule(Module):
    """A `Module`: subclasses that were written for TorchScript run as Python."""


class ScriptFunction:
    """The class of scripted functions. `script` gives plain ones, so there are no instances."""


class Attribute(NamedTuple):
    """A value that a module keeps, with its type; assign the value itself."""

    value: Any
    type: Any


@functools.cache
def _say_once(name: str) -> None:
    warn(
        f"`torch.jit.{name}` is deprecated. Please switch to `torch.compile`: Lamina has no "
        "TorchScript, and what it is given runs as the Python that it is",
        DeprecationWarning,
    )


def script(obj: _Any, *_: Any, **__: Any) -> _Any:
    """Return a function, class or module as it is; warns once.

    >>> import lamina
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     double = script(lambda x: x * 2)
    >>> double(lamina.ones(2))
    tensor([2., 2.])
    """
    _say_once("script")
    return obj


def trace(func: _Any, example_inputs: Any = None, *_: Any, **__: Any) -> _Any:
    """Return a function or module as it is; warns once. It is not run on the example."""
    _say_once("trace")
    return func


def trace_module(mod: _Any, inputs: Any, *_: Any, **__: Any) -> _Any:
    """Return a module as it is; warns once."""
    _say_once("trace_module")
    return mod


def script_method(fn: _Any) -> _Any:
    """Return a method as it is."""
    return fn


def script_if_tracing(fn: _Any) -> _Any:
    """Return a function as it is."""
    return fn


_script_if_tracing = script_if_tracing  # as torchvision calls it


def _overload_method(fn: _Any) -> _Any:
    """Return a declaration as it is: Python runs the definition that follows it."""
    return fn


_overload = _overload_method


def export(fn: _Any) -> _Any:
    """Return a method as it is."""
    return fn


def unused(fn: _Any) -> _Any:
    """Return a method as it is: it can be called here."""
    return fn


def interface(obj: _Any) -> _Any:
    """Return a class as it is."""
    return obj


def ignore(drop: Any = False, **_: Any) -> Any:
    """Return a function as it is; with or without parentheses."""
    if callable(drop):
        return drop

    def same(fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn

    return same


def annotate(the_type: Any, the_value: _Any) -> _Any:
    """Return the value."""
    return the_value


def is_scripting() -> bool:
    """False: nothing is compiled to TorchScript."""
    return False


def is_tracing() -> bool:
    """False: nothing is traced by TorchScript."""
    return False


def freeze(mod: _Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> _Any:
    """Return a module as it is.

    Raises:
        InvalidArgument: If it is in training mode.
    """
    if getattr(mod, "training", False):
        raise InvalidArgument(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing.",
            [(this_place(), "called here")],
        )
    return mod


def optimize_for_inference(mod: _Any, other_methods: Any = None) -> _Any:
    """Return a module as it is."""
    return mod


def _no_programs(name: str) -> NotSupported:
    return NotSupported(
        f"torch.jit.{name}: Lamina has no TorchScript programs to {name}",
        [(this_place(), "called here")],
        ["save and load the `state_dict()`, with the module's own Python code"],
    )


def save(m: Any, f: Any, *_: Any, **__: Any) -> None:
    """Raise NotSupported: a module has no TorchScript program."""
    raise _no_programs("save")


def load(f: Any, *_: Any, **__: Any) -> Any:
    """Raise NotSupported: TorchScript programs cannot be run here."""
    raise _no_programs("load")
