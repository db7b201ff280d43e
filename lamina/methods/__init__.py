"""The one list that gives Tensor its methods and operators, chapter by chapter."""

from lamina.methods import conversion, matmul, pointwise, reduction, shape, special

__all__ = ["conversion", "matmul", "pointwise", "reduction", "shape", "special"]
