"""Tables of vectors. The place where PyTorch has them."""

from lamina.nn.embedding import Embedding
from lamina.nn.embedding_bag import EmbeddingBag

__all__ = ["Embedding", "EmbeddingBag"]
