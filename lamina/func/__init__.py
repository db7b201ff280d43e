"""Functions of functions: derivatives, and mapping over samples.

A transform takes a function and gives one: `grad(f)` computes the gradient of `f`, `vmap(f)` what
`f` gives for each sample. They nest: `vmap(grad(f))` is the gradient of each sample.
"""

from lamina.func.forward import jvp, linearize
from lamina.func.gradients import grad, grad_and_value, vjp
from lamina.func.jacobians import hessian, jacfwd, jacrev
from lamina.func.mapping import vmap
from lamina.func.modules import functional_call, stack_module_state

__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip
