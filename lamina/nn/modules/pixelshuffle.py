"""Moving elements between channels and places. The place where PyTorch has them."""

from lamina.nn.patches import PixelShuffle, PixelUnshuffle

__all__ = ["PixelShuffle", "PixelUnshuffle"]
