"""One layer of a transformer's encoder, and one of its decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamina.core.tensor import Tensor
from lamina.errors import InvalidArgument
from lamina.nn import functional as F
from lamina.nn.activation import GELU, ReLU
from lamina.nn.dropout import Dropout
from lamina.nn.linear import Linear
from lamina.nn.module import Module
from lamina.nn.multi_head_attention import MultiheadAttention
from lamina.nn.normalization import LayerNorm
from lamina.ops.multi_head_attention import added_mask

__all__ = ["TransformerDecoderLayer", "TransformerEncoderLayer"]

Activation = str | Callable[[Tensor], Tensor]


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """Return the function of that name."""
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise InvalidArgument(f"activation should be relu/gelu, not {activation}")


class _TransformerLayer(Module):
    """What the two layers share: attention, and two linear maps, each with norm and dropout."""

    self_attn: MultiheadAttention
    activation: Callable[[Tensor], Tensor]

    def _make_rest(
        self,
        d_model: int,
        dim_feedforward: int,
        dropout: float,
        activation: Activation,
        norms: int,
        norm: tuple[float, bool, bool],
        kind: dict[str, Any],
    ) -> None:
        eps, bias, norm_first = norm
        self.linear1 = Linear(d_model, dim_feedforward, bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **kind)
        self.norm_first = norm_first
        for i in range(norms):
            setattr(self, f"norm{i + 1}", LayerNorm(d_model, eps, bias=bias, **kind))
        for i in range(norms):
            setattr(self, f"dropout{i + 1}", Dropout(dropout))
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        self.activation = activation

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # Layers of an older version have relu, and do not say so.
        if "activation" not in self._modules:
            self.__dict__.setdefault("activation", F.relu)

    def _self_attention(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        attended, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=mask,
            key_padding_mask=padding,
            is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout1(attended)

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention, then two linear maps; both are added to their input and normalized.

        x = norm1(x + attention(x))
        x = norm2(x + linear2(activation(linear1(x))))

    From Vaswani et al., "Attention is all you need" (2017).

    Args:
        d_model: E, the size of the input.
        nhead: how many heads the attention has.
        dim_feedforward: the size between the two linear maps.
        dropout: the probability of dropout, at all places.
        activation: "relu", "gelu", or a function.
        layer_norm_eps: added to variances.
        batch_first: whether the batch is the first dimension.
        norm_first: whether the input of each part is normalized instead: `x + attention(norm1(x))`.
        bias: whether linear maps and norms add learned vectors.
        device: where the parameters live.
        dtype: their dtype.

    Shape:
        `(S, N, E)`, or `(N, S, E)` with `batch_first`, or `(S, E)`; the same for the output.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> layer(lamina.ones(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "bias": bias, "batch_first": batch_first, **kind}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        norm = (layer_norm_eps, bias, norm_first)
        self._make_rest(d_model, dim_feedforward, dropout, activation, 2, norm, kind)

    @property
    def activation_relu_or_gelu(self) -> int:
        """1 if the activation is relu, 2 if it is gelu, else 0."""
        if self.activation is F.relu or isinstance(self.activation, ReLU):
            return 1
        return 2 if self.activation is F.gelu or isinstance(self.activation, GELU) else 0

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's output.

        Args:
            src: the input.
            src_mask: `(S, S)`; True where a query must not see a key, or what is added to scores.
            src_key_padding_mask: `(N, S)`; the same for all queries.
            is_causal: says that `src_mask` is the causal mask.
        """
        padding = added_mask(
            src_key_padding_mask, src, "src_key_padding_mask", src_mask, "src_mask"
        )
        mask = added_mask(src_mask, src, "src_mask")
        if self.norm_first:
            x = src + self._self_attention(self.norm1(src), mask, padding, is_causal)
            return x + self.dropout2(self._feed_forward(self.norm2(x)))
        x = self.norm1(src + self._self_attention(src, mask, padding, is_causal))
        return self.norm2(x + self.dropout2(self._feed_forward(x)))


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to the encoder's output, then two linear maps.

        x = norm1(x + attention(x))
        x = norm2(x + attention(x, memory))
        x = norm3(x + linear2(activation(linear1(x))))

    The arguments are those of `TransformerEncoderLayer`.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        >>> layer(lamina.ones(3, 4, 8), lamina.ones(3, 5, 8)).shape
        torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "bias": bias, "batch_first": batch_first, **kind}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        norm = (layer_norm_eps, bias, norm_first)
        self._make_rest(d_model, dim_feedforward, dropout, activation, 3, norm, kind)

    def _cross_attention(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, padding: Tensor | None, causal: bool
    ) -> Tensor:
        attended, _ = self.multihead_attn(
            x,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            is_causal=causal,
            need_weights=False,
        )
        return self.dropout2(attended)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's output.

        Args:
            tgt: the input.
            memory: the encoder's output.
            tgt_mask: `(T, T)`; True where a query must not see a key, or what is added to scores.
            memory_mask: `(T, S)`; the same for keys of `memory`.
            tgt_key_padding_mask: `(N, T)`; the same for all queries.
            memory_key_padding_mask: `(N, S)`; the same for keys of `memory`.
            tgt_is_causal: says that `tgt_mask` is the causal mask.
            memory_is_causal: says that `memory_mask` is the causal mask.
        """
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = tgt + self._self_attention(self.norm1(tgt), *own)
            x = x + self._cross_attention(self.norm2(x), *other)
            return x + self.dropout3(self._feed_forward(self.norm3(x)))
        x = self.norm1(tgt + self._self_attention(tgt, *own))
        x = self.norm2(x + self._cross_attention(x, *other))
        return self.norm3(x + self.dropout3(self._feed_forward(x)))
