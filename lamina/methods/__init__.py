"""The one list that gives Tensor its methods and operators, chapter by chapter.

Those of chapters that few programs need are listed in `late`.
"""

from lamina.methods import conversion, late, matmul, pointwise, reduction, shape

__all__ = ["conversion", "late", "matmul", "pointwise", "reduction", "shape"]
