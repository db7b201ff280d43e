"""AdamW, under the module name that PyTorch has for it."""

from lamina.optim.adam import AdamW

__all__ = ["AdamW"]
