"""Tags: what an operator's author says of it beyond its declaration."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import final

__all__ = ["Tag", "tags_of"]


@final
class Tag(enum.IntEnum):
    """A property of an operator. `inplace` and `out` change how it is called; the others are kept.

    An operator with `inplace` returns its first argument, which it changes; one with `out` returns
    the keyword arguments that it writes into.
    """

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

    def __str__(self) -> str:
        return f"Tag.{self.name}"


def tags_of(tags: Tag | Sequence[Tag] | None) -> tuple[Tag, ...]:
    """What was given as `tags=`, as a tuple without repetitions."""
    if tags is None:
        return ()
    return tuple(dict.fromkeys((tags,) if isinstance(tags, Tag) else tags))
