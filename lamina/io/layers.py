"""PyTorch's names of layers, and of the functions that layers keep, for modules saved whole."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Final

from lamina import nn
from lamina.nn import functional
from lamina.nn.multi_head_attention import NonDynamicallyQuantizableLinear

# Layers that stand inside others, and have no name in `nn` itself.
_INNER: Final[dict[str, type]] = {
    "NonDynamicallyQuantizableLinear": NonDynamicallyQuantizableLinear,
}

_ACTIVATIONS: Final[dict[str, Any]] = {
    "torch.nn.functional.relu": functional.relu,
    "torch.nn.functional.silu": functional.silu,
    "torch.nn.functional.elu": functional.elu,
    "torch.nn.functional.leaky_relu": functional.leaky_relu,
    "torch._C._nn.gelu": functional.gelu,
    "torch.nn.functional.gelu": functional.gelu,
}
"""What a transformer's layer may have as its activation, by the names that PyTorch pickles."""

_ACTIVATION_NAMES: Final = {
    function: name.rpartition(".")[::2] for name, function in reversed(_ACTIVATIONS.items())
}


def is_layer(kind: type) -> bool:
    """Whether a class is one of the library's own layers."""
    return issubclass(kind, nn.Module) and kind.__module__.startswith("lamina.nn.")


def layer_called(module: str, name: str) -> Any:
    """The layer or activation that a name of PyTorch's (or Lamina's) stands for; None if none."""
    if f"{module}.{name}" in _ACTIVATIONS:
        return _ACTIVATIONS[f"{module}.{name}"]
    if module.split(".")[:2] not in (["torch", "nn"], ["lamina", "nn"]):
        return None
    found = _INNER.get(name) or getattr(nn, name, None)
    return found if isinstance(found, type) and is_layer(found) else None


def name_of_layer(obj: Any) -> tuple[str, str] | None:
    """PyTorch's module and name of a layer or activation; None if it has none."""
    if isinstance(obj, FunctionType):
        return _ACTIVATION_NAMES.get(obj)
    if not isinstance(obj, type) or not is_layer(obj):
        return None
    name = obj.__name__
    if _INNER.get(name) is obj:
        return "torch.nn.modules.linear", name
    return ("torch.nn", name) if getattr(nn, name, None) is obj else None
