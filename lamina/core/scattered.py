"""Gradients that are zero but for one number of each row, as these numbers and their places.

A loss that picks one score of each row has such a gradient. For 4096 rows of 1000 scores it is an
array of 16 MB, to be made, filled, and read by the rule of log_softmax, whose own result has as
many elements: half of the backward pass goes into zeros.

So an operation may have a second rule, `scattered`, which gives a `Scattered` (or None, where the
gradient is of another form); and one whose results are often picked from may have a second rule
that takes one, `of_scattered`. The plain backward loop runs the two one after the other where
nothing else adds to the gradient between them. Everywhere else, the rules in `grad` serve.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final


@final
class Scattered(NamedTuple):
    """A gradient that is zero but for one number of each row along a dimension.

    Attributes:
        values: The numbers, in a shape that broadcasts with the index.
        index: Where they stand along the dimension, of which it has 1; the gradient's other sizes.
        dim: The dimension, not negative.
    """

    values: Any
    index: Any
    dim: int
