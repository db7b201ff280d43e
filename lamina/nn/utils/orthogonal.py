"""Orthogonal matrices as functions of any matrix."""

from __future__ import annotations

from typing import final

from lamina import dtypes
from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue, NotSupported
from lamina.nn.module import Module
from lamina.ops.creation import eye, zeros_like
from lamina.ops.decompositions import geqrf
from lamina.ops.dtype_info import finfo
from lamina.ops.joining import cat
from lamina.ops.linalg import linalg_householder_product, matrix_exp
from lamina.ops.random import randn
from lamina.ops.solvers import linalg_solve

__all__ = ["Orthogonal"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _made_orthogonal(matrix: Tensor) -> Tensor:
    """Return the orthogonal factor of a QR decomposition whose other factor has signs +1."""
    vectors, scales = geqrf(matrix)
    signs = vectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return linalg_householder_product(vectors, scales) * signs


def _is_orthogonal(matrix: Tensor) -> bool:
    rows, columns = matrix.shape[-2:]
    identity = eye(columns, dtype=matrix.dtype, device=matrix.device)
    tolerance = 10.0 * rows * finfo(matrix.dtype).eps
    return bool((matrix.mH @ matrix).sub(identity).abs().max() <= tolerance + 1e-5)


@final
class Orthogonal(Module):
    """What `parametrizations.orthogonal` registers."""

    base: Tensor | None

    def __init__(
        self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if orthogonal_map not in _MAPS:
            raise InvalidValue(
                'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
                f"{orthogonal_map}"
            )
        if weight.is_complex() and orthogonal_map == "householder":
            raise InvalidValue("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def _get_name(self) -> str:
        return "_Orthogonal"

    def forward(self, X: Tensor) -> Tensor:
        """Return an orthogonal matrix, of which `X` says how far it is from the base."""
        is_wide = X.shape[-2] < X.shape[-1]
        tall = X.mT if is_wide else X
        made = _reflected(tall) if self.orthogonal_map == "householder" else self._rotated(tall)
        if self.use_trivialization and self.base is not None:
            made = self.base @ made
        return made.mT if is_wide else made

    def _rotated(self, tall: Tensor) -> Tensor:
        """Return the first columns of a rotation: a function of a skew-symmetric matrix."""
        rows, columns = tall.shape[-2:]
        lower = tall.tril()
        if rows != columns:
            more = lower.new_zeros((*lower.shape[:-1], rows - columns))
            lower = cat([lower, more], -1)
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            return matrix_exp(skew)[..., :columns]
        identity = eye(rows, dtype=skew.dtype, device=skew.device)
        made: Tensor = linalg_solve(identity - skew * 0.5, identity + skew * 0.5)
        return made[..., :columns]

    def right_inverse(self, Q: Tensor) -> Tensor:
        """Return what `forward` makes `Q` of, or the orthogonal matrix next to it."""
        if Q.shape != self.shape:
            raise InvalidValue(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        is_wide = Q.shape[-2] < Q.shape[-1]
        tall = Q.mT if is_wide else Q
        rows, columns = tall.shape[-2:]
        if not self.use_trivialization:
            return self._from_scratch(tall, is_wide)
        if rows == columns:
            base = tall.clone() if _is_orthogonal(tall) else _made_orthogonal(tall)
        else:
            # The other columns of the base are drawn; training may turn into them.
            size = (*tall.shape[:-1], rows - columns)
            noise = randn(size, dtype=tall.dtype, device=tall.device)
            base = _made_orthogonal(cat([tall, noise], -1))
        self.base = base
        # forward gives the base itself for this.
        origin = zeros_like(Q)
        origin.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return origin

    def _from_scratch(self, tall: Tensor, is_wide: bool) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotSupported(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        vectors, scales = geqrf(tall)
        diagonal = vectors.diagonal(dim1=-2, dim2=-1)
        # A zero scale is no reflection at all, and has the other sign.
        diagonal.copy_(diagonal.sign() * (1 - 2 * (scales == 0).to(vectors.dtype)))
        return vectors.mT if is_wide else vectors


def _reflected(tall: Tensor) -> Tensor:
    """Return the product of the reflections below the diagonal, with signs from the diagonal."""
    vectors = tall.tril(-1)
    scales = 2.0 / (1.0 + (vectors * vectors).sum(-2))
    made = linalg_householder_product(vectors, scales)
    signs = tall.diagonal(dim1=-2, dim2=-1).to(dtypes.int32).unsqueeze(-2)
    return made * signs
