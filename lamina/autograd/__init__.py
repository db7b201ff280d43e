"""The public face of the backward engine: `backward`, `grad`, modes, custom functions, checks.

All but what every backward pass needs is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lamina.autograd.backward import backward, backward_of, grad
from lamina.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from lamina.core.saved import SavedTensor

if TYPE_CHECKING:
    from lamina.autograd import (
        anomaly_mode,
        forward_ad,
        function,
        functional,
        grad_mode,
        graph,
        profiler,
        variable,
    )
    from lamina.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
    from lamina.autograd.function import Function
    from lamina.autograd.gradient_checks import gradcheck, gradgradcheck
    from lamina.autograd.variable import Variable

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "anomaly_mode",
    "backward",
    "backward_of",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]

_FILES = {"anomaly_mode", "forward_ad", "function", "functional", "graph", "profiler", "variable"}
_HOMES = {
    "Function": "function",
    "Variable": "variable",
    "detect_anomaly": "anomaly_mode",
    "gradcheck": "gradient_checks",
    "gradgradcheck": "gradient_checks",
    "set_detect_anomaly": "anomaly_mode",
}


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return import_module(f"lamina.autograd.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'lamina.autograd' has no attribute {name!r}")
    found = getattr(import_module(f"lamina.autograd.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
