"""Folding and unfolding. The place where PyTorch has them."""

from lamina.nn.patches import Fold, Unfold

__all__ = ["Fold", "Unfold"]
