"""Making modules whose parameters are not filled."""

from __future__ import annotations

import inspect
from typing import Any

from lamina.errors import InvalidArgument
from lamina.nn.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a module without drawing its first values: they are left unset.

    Args:
        module_cls: the class, whose arguments include `device`.
        args: its arguments.
        kwargs: its arguments by keyword; `device` is where the parameters end up.

    Example:
        >>> import lamina.nn as nn
        >>> skip_init(nn.Linear, 5, 1)
        Linear(in_features=5, out_features=1, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise InvalidArgument(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise InvalidArgument("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
