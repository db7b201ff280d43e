"""Shuffling channels. The place where PyTorch has them."""

from lamina.nn.patches import ChannelShuffle

__all__ = ["ChannelShuffle"]
