"""Tables of vectors, looked up by number."""

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

__all__ = ["Embedding"]


class Embedding(Module):
    """A table of learned vectors: an integer input picks rows of it.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: the length of each.
        padding_idx: a row that starts at zero and gets no gradient.
        max_norm: rows that are looked up are first shortened to this norm, in place.
        norm_type: the p of that norm.
        scale_grad_by_freq: whether a row's gradient is divided by how often the batch has it.
        sparse: accepted for compatibility; gradients are dense.
        device: where the table lives.
        dtype: its dtype.

    Shape:
        Integers `(*)` to `(*, embedding_dim)`.

    Attributes:
        weight: `(num_embeddings, embedding_dim)`, from the standard normal distribution.

    Example:
        >>> import lamina
        >>> table = lamina.nn.Embedding(10, 3)
        >>> table(lamina.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
        torch.Size([2, 4, 3])
    """

    __constants__ = ("num_embeddings", "embedding_dim", "padding_idx", "max_norm", "sparse")

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise InvalidValue(
                    f"padding_idx {padding_idx} must be within num_embeddings {num_embeddings}"
                )
            if padding_idx < 0:
                padding_idx += num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        size = (num_embeddings, embedding_dim)
        if _weight is None:
            table = empty(size, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=not _freeze)
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != size:
                raise InvalidValue(
                    f"the weight has shape {tuple(_weight.shape)}; num_embeddings and "
                    f"embedding_dim ask for {size}"
                )
            self.weight = Parameter(_weight, requires_grad=not _freeze)

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
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """Make an embedding from a table of vectors, by default not to be trained.

        Args:
            embeddings: the table, one vector a row.
            freeze: whether its `requires_grad` is False.
            padding_idx: as for the class.
            max_norm: as for the class.
            norm_type: as for the class.
            scale_grad_by_freq: as for the class.
            sparse: as for the class.
        """
        if embeddings.ndim != 2:
            raise InvalidValue("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )

    def forward(self, input: Tensor) -> Tensor:
        """Return the rows that `input` names."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that differ from the default."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        if self.sparse is not False:
            text += ", sparse=True"
        return text
