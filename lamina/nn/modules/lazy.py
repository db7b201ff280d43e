"""The base of lazy layers. The place where PyTorch has them."""

from lamina.nn.lazy import LazyModuleMixin

__all__ = ["LazyModuleMixin"]
