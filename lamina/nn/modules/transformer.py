"""Transformers. The place where PyTorch has them."""

from lamina.nn.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerEncoder,
    _generate_square_subsequent_mask,
)
from lamina.nn.transformer_layers import (
    TransformerDecoderLayer,
    TransformerEncoderLayer,
    _get_activation_fn,
)

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "_generate_square_subsequent_mask",
    "_get_activation_fn",
]
