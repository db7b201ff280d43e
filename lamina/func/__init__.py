"""Functions of functions: derivatives, and mapping over samples.

A transform takes a function and gives one: `grad(f)` computes the gradient of `f`, `vmap(f)` what
`f` gives for each sample. They nest: `vmap(grad(f))` is the gradient of each sample.
"""

from lamina.func.forward import jvp, linearize
from lamina.func.functions import debug_unwrap, functionalize
from lamina.func.gradients import grad, grad_and_value, vjp
from lamina.func.jacobians import hessian, jacfwd, jacrev
from lamina.func.loops import warn_of_loops
from lamina.func.mapping import vmap
from lamina.func.modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian",
    "jacfwd", "jacrev", "jvp", "linearize", "replace_all_batch_norm_modules_",
    "stack_module_state", "vjp", "vmap", "warn_of_loops",
]  # fmt: skip
