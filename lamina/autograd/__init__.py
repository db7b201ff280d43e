"""The public face of the backward engine: `backward`, `grad`, modes, custom functions, checks.

All but what every backward pass needs is loaded when it is first used.
"""

from typing import TYPE_CHECKING

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
from lamina.late_loading import late_names

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

_HOMES = {
    "lamina.autograd.anomaly_mode": "detect_anomaly set_detect_anomaly",
    "lamina.autograd.function": "Function",
    "lamina.autograd.gradient_checks": "gradcheck gradgradcheck",
    "lamina.autograd.variable": "Variable",
}
__getattr__, __dir__ = late_names(__name__, _HOMES, "forward_ad functional graph profiler")
