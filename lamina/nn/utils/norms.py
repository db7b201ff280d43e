"""Norms and singular values of weights, for weight norm and spectral norm."""

from __future__ import annotations

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from lamina.nn.functional import normalize
from lamina.nn.module import Module
from lamina.ops.matmul import matmul

__all__ = ["as_matrix", "default_dim", "norm_except", "power_steps"]


def norm_except(weight: Tensor, dim: int) -> Tensor:
    """Return the norm of each slice along `dim`, kept as dimensions of length 1; of all for -1."""
    if dim == -1:
        return weight.norm()
    others = [i for i in range(weight.ndim) if i != dim]
    return weight.norm(2, others, keepdim=True) if others else weight.abs()


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Return the weight with `dim` as rows and all other dimensions as columns."""
    return weight.movedim(dim, 0).flatten(1)


def default_dim(module: Module) -> int:
    """Return which dimension of a layer's weight counts its outputs."""
    transposed = ConvTranspose1d | ConvTranspose2d | ConvTranspose3d
    return 1 if isinstance(module, transposed) else 0


def power_steps(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float) -> None:
    """Turn `u` and `v`, in place, towards the singular vectors of the largest singular value.

    From Miyato et al., "Spectral normalization for generative adversarial networks" (2018).
    """
    with no_grad():
        for _ in range(count):
            u.copy_(normalize(matmul(matrix, v), dim=0, eps=eps))
            v.copy_(normalize(matmul(matrix.mH, u), dim=0, eps=eps))
