"""The older spectral norm, by a hook before each forward."""

from __future__ import annotations

from typing import Any, final

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.errors import InvalidArgument, InvalidValue
from lamina.nn.functional import normalize
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.nn.utils.norms import as_matrix, default_dim
from lamina.ops.matmul import matmul
from lamina.ops.vectors import dot

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


@final
class SpectralNorm:
    """The hook: divides a weight by its largest singular value.

    Args:
        name: the weight's name.
        n_power_iterations: steps of power iteration before each forward in training.
        dim: the dimension that counts outputs.
        eps: the least length that is divided by.
    """

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise InvalidValue(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Return the divided weight.

        Args:
            module: the layer.
            do_power_iteration: whether the singular vectors are followed first.
        """
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matmul(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(matmul(matrix, v), dim=0, eps=self.eps))
            # The buffers change at the next call; what is kept for backward must not.
            u, v = u.clone(), v.clone()
        return weight / dot(u, matmul(matrix, v))

    def __call__(self, module: Module, inputs: Any) -> None:
        # Past Module.__setattr__, which notes tensors that look as if they should be parameters.
        module.__dict__[self.name] = self.compute_weight(module, module.training)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value before each forward.

    From Miyato et al., "Spectral normalization for generative adversarial networks" (2018). The
    newer `nn.utils.parametrizations.spectral_norm` does it when the weight is read.

    Args:
        module: the layer.
        name: its weight's name.
        n_power_iterations: steps of power iteration before each forward in training.
        eps: the least length that is divided by.
        dim: the dimension that counts outputs; 1 for transposed convolutions, else 0.
    """
    if _hook_of(module, name) is not None:
        raise InvalidArgument(
            f"Cannot register two spectral_norm hooks on the same parameter {name}"
        )
    hook = SpectralNorm(name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise InvalidValue(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    with no_grad():
        rows, columns = as_matrix(weight, hook.dim).shape
        u, v = (
            normalize(weight.new_empty(count).normal_(0, 1), dim=0, eps=eps)
            for count in (rows, columns)
        )
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    # Until the first forward the weight is what it was.
    module.__dict__[name] = weight.data
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    return module


def _hook_of(module: Module, name: str) -> int | None:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook.function, SpectralNorm) and hook.function.name == name:
            return int(key)
    return None


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the divided weight a parameter of its own.

    Args:
        module: the layer.
        name: its weight's name.
    """
    key = _hook_of(module, name)
    if key is None:
        raise InvalidValue(f"spectral_norm of '{name}' not found in {module}")
    hook = module._forward_pre_hooks.pop(key).function
    with no_grad():
        weight = hook.compute_weight(module, do_power_iteration=False)
    for part in (name, f"{name}_u", f"{name}_v", f"{name}_orig"):
        delattr(module, part)
    module.register_parameter(name, Parameter(weight))
    return module
