"""The older weight norm, by a hook before each forward."""

from __future__ import annotations

from typing import Any, final

from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.errors import InvalidArgument, InvalidValue
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.nn.utils.norms import norm_except

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


@final
class WeightNorm:
    """The hook: computes the weight from its length and direction.

    Args:
        name: the weight's name.
        dim: along which there is a length for each slice; None or -1 for a single one.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """Return `g * v / norm(v)`."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / norm_except(v, self.dim))

    def __call__(self, module: Module, inputs: Any) -> None:
        # Past Module.__setattr__, which notes tensors that look as if they should be parameters.
        module.__dict__[self.name] = self.compute_weight(module)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Keep a weight as `weight_g`, its length, and `weight_v`, its direction; it warns.

    `nn.utils.parametrizations.weight_norm` has replaced it.

    Args:
        module: the layer.
        name: its weight's name.
        dim: along which there is a length for each slice; None for a single one.
    """
    warn(
        "torch.nn.utils.weight_norm is deprecated: use torch.nn.utils.parametrizations.weight_norm",
        FutureWarning,
    )
    if _hook_of(module, name) is not None:
        raise InvalidArgument(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(norm_except(weight, hook.dim)))
    module.register_parameter(f"{name}_v", Parameter(weight))
    hook(module, None)
    module.register_forward_pre_hook(hook)
    return module


def _hook_of(module: Module, name: str) -> int | None:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook.function, WeightNorm) and hook.function.name == name:
            return int(key)
    return None


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter of its own again.

    Args:
        module: the layer.
        name: its weight's name.
    """
    key = _hook_of(module, name)
    if key is None:
        raise InvalidValue(f"weight_norm of '{name}' not found in {module}")
    weight = module._forward_pre_hooks.pop(key).function.compute_weight(module)
    for part in (name, f"{name}_g", f"{name}_v"):
        delattr(module, part)
    module.register_parameter(name, Parameter(weight))
    return module
