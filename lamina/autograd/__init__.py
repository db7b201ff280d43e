"""The public face of the backward engine: `backward`, `grad`, modes, custom functions, checks."""

from lamina.autograd.backward import backward, backward_of, grad
from lamina.core.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "backward",
    "backward_of",
    "enable_grad",
    "grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]
