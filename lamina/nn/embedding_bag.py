"""Sums and means of rows of a table."""

from __future__ import annotations

from typing import Any

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue
from lamina.nn import functional as F
from lamina.nn import init
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.ops.creation import empty

__all__ = ["EmbeddingBag"]


class EmbeddingBag(Module):
    """A table of vectors, of which bags of rows are added up: `Embedding`, then a sum.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: the length of a row.
        max_norm: rows with a larger norm are scaled down to it, in the table, when looked up.
        norm_type: the p of that norm.
        scale_grad_by_freq: whether gradients are divided by how often a row was looked up.
        mode: "sum", "mean" or "max".
        sparse: accepted for compatibility: gradients are dense.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: a row that counts for nothing and is not trained.
        device: where the table lives.
        dtype: its dtype.

    Shape:
        Indices `(B, N)`; or all in one row `(N,)` with the place where each bag begins, `(B,)`.
        Output `(B, embedding_dim)`.

    Attributes:
        weight: `(num_embeddings, embedding_dim)`, from the standard normal distribution.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.EmbeddingBag(10, 3, mode="sum")
        >>> layer(lamina.tensor([1, 2, 4, 5, 4]), lamina.tensor([0, 3])).shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise InvalidValue("padding_idx must be within num_embeddings")
            if padding_idx < 0:
                padding_idx += num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = padding_idx
        size = (num_embeddings, embedding_dim)
        if _weight is None:
            self.weight = Parameter(empty(size, device=device, dtype=dtype))
            self.reset_parameters()
        elif tuple(_weight.shape) != size:
            raise InvalidValue(
                f"the weight has shape {tuple(_weight.shape)}; num_embeddings and embedding_dim "
                f"ask for {size}"
            )
        else:
            self.weight = Parameter(_weight)

    def reset_parameters(self) -> None:
        """Draw the first values again."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Make one from a table of vectors, by default not to be trained.

        Args:
            embeddings: the table, one vector a row.
            freeze: whether its `requires_grad` is False.
            max_norm: as for the class.
            norm_type: as for the class.
            scale_grad_by_freq: as for the class.
            mode: as for the class.
            sparse: as for the class.
            include_last_offset: as for the class.
            padding_idx: as for the class.
        """
        if embeddings.dim() != 2:
            raise InvalidValue("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(
            rows,
            columns,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        made.weight.requires_grad_(not freeze)
        return made

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """Return the sum, mean or maximum of each bag.

        Args:
            input: indices of rows.
            offsets: where bags begin, if the indices stand in one row.
            per_sample_weights: a weight for each index, with mode "sum".
        """
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that differ from the default."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text
