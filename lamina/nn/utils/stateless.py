"""The older place of `func.functional_call`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.func.modules import functional_call as call_with
from lamina.nn.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its own; `func.functional_call` replaced this.

    Args:
        module: the module.
        parameters_and_buffers: from dotted names to tensors.
        args: the arguments: a tuple, or a single one.
        kwargs: arguments by keyword.
        tie_weights: whether a tensor also takes the place of tied parameters.
        strict: whether a missing or unknown name is an error.
    """
    warn(
        "torch.nn.utils.stateless.functional_call is deprecated: use torch.func.functional_call",
        FutureWarning,
    )
    return call_with(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
