"""The public face of the backward engine: `backward`, `grad`, modes, custom functions, checks."""

from lamina.autograd import (
    anomaly_mode,
    forward_ad,
    function,
    functional,
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
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
