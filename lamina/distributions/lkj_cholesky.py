"""The LKJ distribution over Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.layouts import Size
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.beta import Beta
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import broadcast_all
from lamina.ops.creation import arange
from lamina.ops.dtype_info import finfo
from lamina.ops.gamma_function import mvlgamma
from lamina.ops.joining import cat
from lamina.ops.random import randn

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    r"""The LKJ distribution, of Cholesky factors L of correlation matrices with density
    proportional to $\det(L L^T)^{\eta - 1}$ (Lewandowski, Kurowicka and Joe 2009, "Generating
    random correlation matrices based on vines and extended onion method").

    Args:
        dim: The size n of the matrices, at least 2.
        concentration: $\eta$ > 0; 1 is uniform.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> LKJCholesky(2, 1.0).log_prob(lamina.eye(2))
    tensor(-0.6931)
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise errors.InvalidValue(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.",
                [(this_place(), "made here")],
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # Row k of the factor has a beta distributed part of its length before the diagonal.
        eta = self.concentration
        places = arange(dim - 1, dtype=eta.dtype, device=eta.device)
        places = cat([places.new_zeros((1,)), places])
        marginal = eta + 0.5 * (dim - 2)
        self._beta = Beta(places + 0.5, marginal.unsqueeze(-1) - 0.5 * places)
        super().__init__(eta.size(), Size((dim, dim)), validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new.dim, new._beta = self.dim, self._beta.expand((*batch, self.dim))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random factors, by the onion method: rows in random directions."""
        with no_grad():
            eta = self.concentration
            parts = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = randn(shape, dtype=eta.dtype, device=eta.device).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0.0
            rows = parts.sqrt() * direction
            left = (1 - (rows**2).sum(-1)).clamp(min=finfo(rows.dtype).tiny).sqrt()
            return rows + left.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        r"""The logarithm of the density: $\sum_k (n - k + 2 \eta - 2) \log L_{kk}$, less that
        of the normalizer (page 1999 of the paper)."""
        if self._validate_args:
            self._validate_sample(value)
        n, eta = self.dim, self.concentration
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        places = arange(2, n + 1, device=eta.device)
        powers = 2 * (eta - 1).unsqueeze(-1) + n - places
        alpha = eta + 0.5 * (n - 1)
        normalizer = (
            0.5 * (n - 1) * math.log(math.pi)
            + mvlgamma(alpha - 0.5, n - 1)
            - alpha.lgamma() * (n - 1)
        )
        return (powers * diagonal.log()).sum(-1) - normalizer
