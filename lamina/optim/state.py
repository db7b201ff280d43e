"""The layout of a saved optimizer, as PyTorch has it, and the way back.

Saved, a parameter is a number: its position, counted through all groups. The state is a dict from
these numbers to the state of one parameter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from lamina.core.positions import here
from lamina.core.tensor import Tensor
from lamina.errors import OptimizerArgumentError

__all__ = ["drop", "loaded_state", "numbered_state", "zero"]


def drop(params: Iterable[Tensor]) -> None:
    """Set gradients to None, as `param.grad = None` does for each (0.2 us instead of 0.6)."""
    place = here()
    for param in params:
        if param.grad is not None:
            param._grad = None
            param.grad_cleared_at = place


def zero(param: Tensor) -> None:
    """Fill one parameter's gradient with zeros, outside any graph."""
    grad = param.grad
    if grad is None:
        return
    if grad.grad_fn is not None:
        param.grad = grad.detach().zero_()
    else:
        grad.requires_grad_(False)
        grad.zero_()


def numbered_state(groups: list[dict[str, Any]], state: Any) -> dict[str, Any]:
    """Return groups and state with numbers in the place of the parameters."""
    number_of: dict[int, int] = {}
    packed = []
    for group in groups:
        for param in group["params"]:
            number_of.setdefault(id(param), len(number_of))
        entry = {key: value for key, value in group.items() if key != "params"}
        entry["params"] = [number_of[id(param)] for param in group["params"]]
        packed.append(entry)
    return {
        "state": {
            (number_of[id(key)] if isinstance(key, Tensor) else key): value
            for key, value in state.items()
        },
        "param_groups": packed,
    }


def loaded_state(
    own_groups: list[dict[str, Any]], saved_groups: list[dict[str, Any]], saved_state: Any
) -> tuple[list[dict[str, Any]], Any]:
    """Return groups and state with the parameters in the place of their numbers."""
    if len(own_groups) != len(saved_groups):
        raise OptimizerArgumentError(
            "loaded state dict has a different number of parameter groups: "
            f"{len(saved_groups)}, where the optimizer has {len(own_groups)}"
        )
    param_of: dict[Any, Tensor] = {}
    for own, saved in zip(own_groups, saved_groups, strict=True):
        if len(own["params"]) != len(saved["params"]):
            raise OptimizerArgumentError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                f"optimizer's group: {len(saved['params'])} parameters, where the optimizer has "
                f"{len(own['params'])}"
            )
        param_of.update(zip(saved["params"], own["params"], strict=True))
    groups = []
    for own, saved in zip(own_groups, saved_groups, strict=True):
        saved["params"] = own["params"]
        if "param_names" in own and "param_names" not in saved:
            saved["param_names"] = own["param_names"]
        groups.append(saved)
    fused = {
        id(param): bool(group.get("fused") or group.get("capturable"))
        for group in groups
        for param in group["params"]
    }
    state: Any = defaultdict(dict)
    for key, value in saved_state.items():
        if key in param_of:
            param = param_of[key]
            state[param] = _like_param(param, value, None, fused[id(param)])
        else:
            state[key] = value
    return groups, state


def _like_param(param: Tensor, value: Any, key: Any, moves_step: bool) -> Any:
    """Return saved state with its tensors on the parameter's device and in its dtype.

    "step" stays on the CPU in float32 as it was saved, unless the group is capturable.
    """
    if isinstance(value, Tensor):
        if key == "step":
            return value.to(device=param.device) if moves_step else value
        if param.is_floating_point():
            return value.to(device=param.device, dtype=param.dtype)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _like_param(param, v, k, moves_step) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        kind: Any = type(value)
        return kind(_like_param(param, item, None, moves_step) for item in value)
    return value
