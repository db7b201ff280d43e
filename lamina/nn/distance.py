"""How near two batches of vectors are, as layers."""

from __future__ import annotations

from lamina.core.tensor import Tensor
from lamina.nn import functional as F
from lamina.nn.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of the differences of rows: `norm(x1 - x2 + eps, p)`.

    Args:
        p: the p of the norm.
        eps: added to the differences, so that the norm has a derivative.
        keepdim: whether the last dimension is kept, with length 1.

    Shape:
        Two inputs `(N, D)` or `(D,)`, to `(N,)` or `()`.

    Example:
        >>> import lamina
        >>> lamina.nn.PairwiseDistance(p=1)(lamina.ones(1, 3), lamina.zeros(1, 3))
        tensor([3.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors: `x1 @ x2 / (max(|x1|, eps) * max(|x2|, eps))`.

    Args:
        dim: the dimension along which the vectors lie.
        eps: the least length.

    Shape:
        Two inputs of one shape, to that shape without `dim`.

    Example:
        >>> import lamina
        >>> lamina.nn.CosineSimilarity(dim=0)(lamina.tensor([3.0, 4.0]), lamina.tensor([4.0, 3.0]))
        tensor(0.9600)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
