"""Encoder and decoder of a transformer, and the two together."""

from __future__ import annotations

import copy
from typing import Any

from lamina.core.modes import is_grad_enabled
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.devices import current_recorder
from lamina.errors import InvalidArgument
from lamina.nn import functional as F
from lamina.nn.containers import ModuleList
from lamina.nn.init import xavier_uniform_
from lamina.nn.module import Module
from lamina.nn.normalization import LayerNorm
from lamina.nn.transformer_layers import (
    Activation,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from lamina.ops.arranging import triu
from lamina.ops.creation import full
from lamina.ops.multi_head_attention import added_mask

__all__ = ["Transformer", "TransformerDecoder", "TransformerEncoder"]


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    return triu(full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _is_causal(mask: Tensor | None, said: bool | None, size: int) -> bool:
    """Whether a mask is the causal one: as the caller says, or else by looking at it."""
    if said is not None or mask is None:
        return bool(said)
    if mask.is_meta or current_recorder() is not None:
        return False  # nothing to look at; the mask itself is applied
    causal = _generate_square_subsequent_mask(size, device=mask.device, dtype=mask.dtype)
    return mask.shape == causal.shape and bool(mask.eq(causal).all())


def _length(x: Tensor, batch_first: bool) -> int:
    return x.shape[1 if batch_first and x.dim() == 3 else 0]


class _Stack(Module):
    """Copies of one layer, and a norm after them."""

    norm: Module | None

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm


def _without_zeros(layer: Module) -> str:
    """Why padded places of the encoder's output keep values in evaluation mode, or nothing."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        "encoder_layer.norm_first was True": layer.norm_first,
        "encoder_layer.self_attn.batch_first was not True"
        "(use batch_first for better inference performance)": not attention.batch_first,
        "encoder_layer.self_attn._qkv_same_embed_dim was not True": (
            not attention._qkv_same_embed_dim
        ),
        "encoder_layer.self_attn was passed bias=False": attention.in_proj_bias is None,
        "encoder_layer.activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps": (
            layer.norm1.eps != layer.norm2.eps
        ),
        "encoder_layer.self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class TransformerEncoder(_Stack):
    """A stack of encoder layers.

    Args:
        encoder_layer: a `TransformerEncoderLayer`, which is copied.
        num_layers: how many copies there are.
        norm: a norm after the last one, or None.
        enable_nested_tensor: whether, in evaluation mode without gradients, places that
            `src_key_padding_mask` masks become zero before `norm`, as PyTorch's nested tensors make
            them.
        mask_check: whether that asks first if only the ends of sequences are masked.

    Example:
        >>> import lamina.nn as nn
        >>> import lamina
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> nn.TransformerEncoder(layer, num_layers=2)(lamina.ones(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _without_zeros(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not reason
        if enable_nested_tensor and reason:
            warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                + reason
            )

    def _clears_padding(self, src: Tensor, mask: Tensor | None, padding: Tensor | None) -> bool:
        """Whether PyTorch would use nested tensors here, which end where padding begins."""
        if not self.use_nested_tensor or self.layers[0].training or src.dim() != 3:
            return False
        if padding is None or mask is not None:
            return False
        tensors = (src, *self.layers[0].parameters())
        if is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            return False
        return not self.mask_check or bool((padding[:, :-1] <= padding[:, 1:]).all())

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Return the output of the last layer.

        Args:
            src: the input.
            mask: `(S, S)`; True where a query must not see a key, or what is added to scores.
            src_key_padding_mask: `(N, S)`; the same for all queries.
            is_causal: says that `mask` is the causal mask; when left out, the mask is looked at.
        """
        padding = added_mask(src_key_padding_mask, src, "src_key_padding_mask", mask, "mask")
        mask = added_mask(mask, src, "mask")
        is_padded = None if padding is None else padding != 0
        clears = self._clears_padding(src, mask, is_padded)
        batch_first = self.layers[0].self_attn.batch_first
        is_causal = _is_causal(mask, is_causal, _length(src, batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if clears and is_padded is not None:
            output = output.masked_fill(is_padded.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(_Stack):
    """A stack of decoder layers.

    Args:
        decoder_layer: a `TransformerDecoderLayer`, which is copied.
        num_layers: how many copies there are.
        norm: a norm after the last one, or None.
    """

    def __init__(
        self,
        decoder_layer: TransformerDecoderLayer,
        num_layers: int,
        norm: Module | None = None,
    ) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the output of the last layer; the masks are those of `TransformerDecoderLayer`."""
        batch_first = self.layers[0].self_attn.batch_first
        is_causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, batch_first))
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=is_causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder and a decoder, without embeddings.

    From Vaswani et al., "Attention is all you need" (2017).

    Args:
        d_model: E, the size of inputs and outputs.
        nhead: how many heads each attention has.
        num_encoder_layers: how many layers the encoder has.
        num_decoder_layers: how many layers the decoder has.
        dim_feedforward: the size between the two linear maps of a layer.
        dropout: the probability of dropout.
        activation: "relu", "gelu", or a function.
        custom_encoder: takes the encoder's place.
        custom_decoder: takes the decoder's place.
        layer_norm_eps: added to variances.
        batch_first: whether the batch is the first dimension.
        norm_first: whether the input of each part of a layer is normalized, instead of its output.
        bias: whether linear maps and norms add learned vectors.
        device: where the parameters live.
        dtype: their dtype.

    Shape:
        Source `(S, N, E)` and target `(T, N, E)`, or N first with `batch_first`, or without N. The
        output has the target's shape.

    Example:
        >>> import lamina
        >>> model = lamina.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
        >>> model(lamina.ones(3, 5, 8), lamina.ones(3, 4, 8)).shape
        torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        settings: tuple[Any, ...] = (d_model, nhead, dim_feedforward, dropout, activation)
        settings += (layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*settings, **kind)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **kind)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm)
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*settings, **kind)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **kind)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm)
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the causal mask: minus infinity above the diagonal, zero elsewhere.

        Example:
            >>> import lamina
            >>> lamina.nn.Transformer.generate_square_subsequent_mask(2)
            tensor([[0., -inf],
                    [0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _check_shapes(self, src: Tensor, tgt: Tensor) -> None:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise InvalidArgument("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise InvalidArgument("the feature number of src and tgt must be equal to d_model")

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the decoder's output.

        Args:
            src: what the encoder reads.
            tgt: what the decoder reads.
            src_mask: `(S, S)`; True where a query must not see a key, or what is added to scores.
            tgt_mask: `(T, T)`, likewise.
            memory_mask: `(T, S)`, likewise.
            src_key_padding_mask: `(N, S)`; the same for all queries.
            tgt_key_padding_mask: `(N, T)`, likewise.
            memory_key_padding_mask: `(N, S)`, for the decoder.
            src_is_causal: says that `src_mask` is the causal mask.
            tgt_is_causal: says that `tgt_mask` is the causal mask.
            memory_is_causal: says that `memory_mask` is the causal mask.
        """
        self._check_shapes(src, tgt)
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
