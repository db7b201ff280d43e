"""Parametrizations that are used often: weight norm, spectral norm, orthogonal matrices."""

from __future__ import annotations

from typing import Any, final

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.errors import DimensionOutOfRange, InvalidValue
from lamina.nn.functional import normalize
from lamina.nn.module import Module
from lamina.nn.utils.norms import as_matrix, default_dim, norm_except, power_steps
from lamina.nn.utils.orthogonal import Orthogonal
from lamina.nn.utils.parametrize import register_parametrization
from lamina.ops.matmul import matmul
from lamina.ops.vectors import vdot

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


@final
class _WeightNorm(Module):
    """`g * v / norm(v)`."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Return the weight of that length and direction."""
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return length and direction of a weight."""
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Keep a weight as its length and its direction: `weight = g * v / norm(v)`.

    From Salimans and Kingma, "Weight normalization" (2016).

    Args:
        module: the layer.
        name: its weight's name.
        dim: along which there is a length for each slice; None for a single one.

    Example:
        >>> import lamina.nn as nn
        >>> list(weight_norm(nn.Linear(4, 3)).state_dict())[1:]
        ['parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *_: Any) -> None:
        """Take what the older `weight_norm` saved."""
        for i, old in enumerate(("g", "v")):
            key = f"{prefix}{name}_{old}"
            if f"{prefix}{name}_g" in state_dict or key in state_dict:
                new = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


@final
class _SpectralNorm(Module):
    """The weight divided by its largest singular value, which power iteration follows."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise DimensionOutOfRange(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but "
                f"got {dim})"
            )
        if n_power_iterations <= 0:
            raise InvalidValue(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim == 1:
            return
        self.n_power_iterations = n_power_iterations
        with no_grad():
            matrix = as_matrix(weight, self.dim)
            rows, columns = matrix.shape
            for key, count in (("_u", rows), ("_v", columns)):
                start = normalize(matrix.new_empty(count).normal_(0, 1), dim=0, eps=eps)
                self.register_buffer(key, start)
            # Enough steps that the first division is nearly right.
            power_steps(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        """Return the weight, divided."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            power_steps(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        # The buffers change at the next call; what is kept for backward must not.
        u, v = self._u.clone(), self._v.clone()
        return weight / vdot(u, matmul(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the weight: it will be divided when it is used."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value.

    From Miyato et al., "Spectral normalization for generative adversarial networks" (2018).

    Args:
        module: the layer.
        name: its weight's name.
        n_power_iterations: steps of power iteration at each use in training.
        eps: the least length that is divided by.
        dim: the dimension that counts outputs; 1 for transposed convolutions, else 0.

    Example:
        >>> import lamina
        >>> layer = spectral_norm(lamina.nn.Linear(20, 40))
        >>> bool(lamina.linalg.matrix_norm(layer.weight, 2) < 1.1)
        True
    """
    weight = _weight_of(module, name)
    if dim is None:
        dim = default_dim(module)
    return register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )


def _weight_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise InvalidValue(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix orthogonal: with orthonormal columns, or rows if it is wide.

    From Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds" (2019).

    Args:
        module: the layer.
        name: its weight's name; of two dimensions or more, the last two being the matrix.
        orthogonal_map: "matrix_exp" (of a skew-symmetric matrix), "cayley" or "householder" (a
            product of reflections). When left out, the first for square and complex matrices, else
            the last.
        use_trivialization: whether what training changes is measured from the present weight.

    Example:
        >>> import lamina
        >>> layer = orthogonal(lamina.nn.Linear(20, 40))
        >>> q = layer.weight
        >>> lamina.allclose(q.T @ q, lamina.eye(20), atol=1e-5)
        True
    """
    weight = _weight_of(module, name)
    if weight.ndim < 2:
        raise InvalidValue(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        is_square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    made = Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
