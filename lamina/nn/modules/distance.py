"""Distances. The place where PyTorch has them."""

from lamina.nn.distance import CosineSimilarity, PairwiseDistance

__all__ = ["CosineSimilarity", "PairwiseDistance"]
