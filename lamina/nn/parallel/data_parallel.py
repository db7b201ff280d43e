"""`DataParallel`: PyTorch splits a batch over several GPUs; here the module gets all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina.nn.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Runs a module on the device that it is on.

    The module stands in the attribute `module`, so that names in a state dict begin with
    `module.`, as in PyTorch.

    Args:
        module: the module.
        device_ids: accepted for compatibility.
        output_device: accepted for compatibility.
        dim: accepted for compatibility.

    Example:
        >>> import lamina.nn as nn
        >>> list(nn.DataParallel(nn.Linear(2, 1)).state_dict())
        ['module.weight', 'module.bias']
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return what the module returns."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a module, as `DataParallel` does.

    Args:
        module: the module.
        inputs: its argument, or a tuple of them.
        device_ids: accepted for compatibility.
        output_device: accepted for compatibility.
        dim: accepted for compatibility.
        module_kwargs: its arguments by keyword.
    """
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*given, **(module_kwargs or {}))
