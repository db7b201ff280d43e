"""The public face of the backward engine: `backward`, `grad`, modes, custom functions, checks.

`functional`, `forward_ad` and `profiler` are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lamina.autograd import (
    anomaly_mode,
    function,
    grad_mode,
    graph,
    variable,
)
from lamina.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from lamina.autograd.backward import backward, backward_of, grad
from lamina.autograd.function import Function
from lamina.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from lamina.autograd.gradcheck import gradcheck, gradgradcheck
from lamina.autograd.variable import Variable
from lamina.core.saved import SavedTensor

if TYPE_CHECKING:
    from lamina.autograd import forward_ad, functional, profiler

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


def __getattr__(name: str) -> Any:
    if name in ("forward_ad", "functional", "profiler"):
        return import_module(f"lamina.autograd.{name}")
    raise AttributeError(f"module 'lamina.autograd' has no attribute {name!r}")
