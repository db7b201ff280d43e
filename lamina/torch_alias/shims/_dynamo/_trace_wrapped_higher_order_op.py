"""A mode that libraries enter before they map a function which indexes by tensors."""

from __future__ import annotations

from types import TracebackType
from typing import Self, final

__all__ = ["TransformGetItemToIndex"]


@final
class TransformGetItemToIndex:
    """Nothing: under Lamina's `vmap`, `x[i]` with a tensor of one element takes that element."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing was changed, so there is nothing to undo."""
