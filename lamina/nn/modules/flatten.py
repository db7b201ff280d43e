"""Flattening. The place where PyTorch has them."""

from lamina.nn.flatten import Flatten, Unflatten

__all__ = ["Flatten", "Unflatten"]
