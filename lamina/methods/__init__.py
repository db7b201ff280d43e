"""The one list that gives Tensor its methods and operators, chapter by chapter."""

from lamina.methods import matmul as matmul
from lamina.methods import pointwise as pointwise
from lamina.methods import reduction as reduction
from lamina.methods import shape as shape
