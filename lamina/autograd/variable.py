"""`Variable`: what a tensor in a graph was called once. It makes plain tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core import blame
from lamina.core.positions import here
from lamina.core.tensor import Tensor, cell_of, root_of, wrap
from lamina.core.warning import warn

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    """Makes every tensor an instance of `Variable`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """`Variable(tensor)` is a tensor of the same memory outside the graph.

    `volatile` had the meaning of `no_grad` and is ignored.
    """

    def __new__(  # type: ignore[misc]
        cls, data: Any = None, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        place = (*here(), "Variable", None, root_of(data))
        if data is None:
            made = wrap(np.empty(0, dtypes.get_default_dtype().numpy), place)
        elif isinstance(data, Tensor):
            made = wrap(data._array, place)
            made._cell = cell_of(data)
        else:
            raise errors.UnsupportedData(
                f"Variable data has to be a tensor, but got {type(data).__name__}",
                [(blame.this_place(), "given here")],
                ["make a tensor of it: `torch.tensor(...)`"],
            )
        if requires_grad and not made.dtype.is_differentiable:
            raise blame.integer_requires_grad(made.dtype, at_creation=True)
        if requires_grad:
            made.requires_grad = True
        return made
