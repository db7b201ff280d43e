"""What programs use of the protocol `__torch_function__`, which Lamina does not call."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, final

__all__ = ["NothingChanged", "disabled_torch_function_impl"]


@final
class NothingChanged:
    """A block that changes how operations are called in PyTorch, and nothing here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing was changed."""


def disabled_torch_function_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a class takes for `__torch_function__` to have operations give plain tensors."""
    return func(*args, **(kwargs or {}))
