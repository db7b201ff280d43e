"""Attention with several heads, as a layer."""

from __future__ import annotations

from typing import Any, final

from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue, LayerMismatch
from lamina.nn import functional as F
from lamina.nn import init
from lamina.nn.linear import Linear
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter
from lamina.ops.creation import empty

__all__ = ["MultiheadAttention"]


@final
class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` under the name that PyTorch shows for the last one of `MultiheadAttention`."""


class MultiheadAttention(Module):
    """Values averaged for each query, weighted by how well keys match it; several heads at once.

    `concat(head_1, ...) @ W_o` with `head_i = softmax(Q_i K_i^T / sqrt(d)) V_i`, where
    `Q_i = query @ W_q_i` and so on. From Vaswani et al., "Attention is all you need" (2017).

    Args:
        embed_dim: E, the size of queries and of the output; a multiple of `num_heads`.
        num_heads: how many heads share it.
        dropout: the probability with which weights are set to zero in training.
        bias: whether the projections add learned vectors.
        add_bias_kv: whether a learned key and value are added.
        add_zero_attn: whether a key and value of zeros are added.
        kdim: the size of keys; E when left out.
        vdim: the size of values; E when left out.
        batch_first: whether the batch is the first dimension.
        device: where the parameters live.
        dtype: their dtype.

    Shape:
        Queries `(L, N, E)`, keys `(S, N, kdim)`, values `(S, N, vdim)`; or N first with
        `batch_first`; or without N. The output has the shape of the queries.

    Attributes:
        in_proj_weight: `(3 * E, E)`, the projections of queries, keys and values; or, with other
            sizes, `q_proj_weight`, `k_proj_weight` and `v_proj_weight`. Xavier-uniform.
        in_proj_bias: `(3 * E,)`, first zero.
        out_proj: the last projection, a `Linear`.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = lamina.ones(3, 5, 8)
        >>> output, weights = layer(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise InvalidValue(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise LayerMismatch(
                f"embed_dim must be divisible by num_heads: {embed_dim} is not by {num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        self._make_projections(bias, add_bias_kv, {"device": device, "dtype": dtype})
        self._reset_parameters()

    def _make_projections(self, bias: bool, add_bias_kv: bool, kind: dict[str, Any]) -> None:
        size, same = self.embed_dim, self._qkv_same_embed_dim
        shapes = {
            "q_proj_weight": None if same else (size, size),
            "k_proj_weight": None if same else (size, self.kdim),
            "v_proj_weight": None if same else (size, self.vdim),
            "in_proj_weight": (3 * size, size) if same else None,
            "in_proj_bias": (3 * size,) if bias else None,
        }
        for name, shape in shapes.items():
            made = None if shape is None else Parameter(empty(shape, **kind))
            self.register_parameter(name, made)
        self.out_proj = NonDynamicallyQuantizableLinear(size, size, bias, **kind)
        for name in ("bias_k", "bias_v"):
            made = Parameter(empty((1, 1, size), **kind)) if add_bias_kv else None
            self.register_parameter(name, made)

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the averages, and the weights or None.

        Args:
            query: what is asked for.
            key: what it is compared with.
            value: what is averaged.
            key_padding_mask: `(N, S)` or `(S,)`; True for keys that take no part, or numbers that
                are added to scores.
            need_weights: whether the weights are returned; without them less memory is used.
            attn_mask: `(L, S)` or `(N * num_heads, L, S)`, with the same meaning.
            average_attn_weights: whether the weights are averaged over heads.
            is_causal: says that `attn_mask` is the causal mask.
        """
        turned = self.batch_first and query.dim() == 3
        if turned:
            query, key, value = _turned(query, key, value)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(0, 1) if turned else output), weights


def _turned(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Swap batch and length; what was one tensor stays one, which saves two projections."""
    queries = query.transpose(0, 1)
    keys = queries if key is query else key.transpose(0, 1)
    return queries, keys, keys if value is key else value.transpose(0, 1)
