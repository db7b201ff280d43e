"""Where a program's inputs come from, each time it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from lamina.core.tensor import Tensor, wrap


class Source(ABC):
    """One input of a program.

    Attributes:
        name: What errors and reports call it.
        is_tensor: Whether it is a tensor's array, and no number.
    """

    name: str
    is_tensor = True

    @abstractmethod
    def array(self, tensors: Sequence[Tensor]) -> Any:
        """The array that the input has now; `tensors` are those among the arguments.

        None if there is none any more.
        """

    def tensor(self, tensors: Sequence[Tensor]) -> Tensor | None:
        """The tensor whose array it is; None for numbers."""
        return None


@final
class Argument(Source):
    """A tensor among the arguments."""

    def __init__(self, index: int, name: str) -> None:
        self.index = index
        self.name = name

    def array(self, tensors: Sequence[Tensor]) -> Any:
        return tensors[self.index]._array

    def tensor(self, tensors: Sequence[Tensor]) -> Tensor | None:
        return tensors[self.index]


@final
class Reached(Source):
    """A tensor that exists outside, such as a parameter, whatever array it has.

    Attributes:
        reached: The tensor.
    """

    def __init__(self, tensor: Tensor, name: str) -> None:
        self.reached = tensor
        self.name = name

    def array(self, tensors: Sequence[Tensor]) -> Any:
        return self.reached._array

    def tensor(self, tensors: Sequence[Tensor]) -> Tensor | None:
        return self.reached


@final
class Gradient(Source):
    """The gradient that a tensor has collected before."""

    def __init__(self, owner: Tensor, name: str) -> None:
        self._owner = owner
        self.name = name

    def array(self, tensors: Sequence[Tensor]) -> Any:
        grad = self._owner._grad
        return None if grad is None else grad._array

    def tensor(self, tensors: Sequence[Tensor]) -> Tensor | None:
        grad: Tensor | None = self._owner._grad
        return grad


@final
class Memory(Source):
    """An array of NumPy's that exists outside, or a part of one, whatever values it has."""

    def __init__(self, array: Any, name: str) -> None:
        self._array = array
        self._tensor = wrap(array, None)
        self.name = name

    def array(self, tensors: Sequence[Tensor]) -> Any:
        return self._array

    def tensor(self, tensors: Sequence[Tensor]) -> Tensor | None:
        return self._tensor


@final
class Setting(Source):
    """A number that an optimizer's group holds, such as its learning rate."""

    is_tensor = False

    def __init__(self, group: dict[str, Any], key: str, name: str) -> None:
        self._group = group
        self._key = key
        self.name = name
        self._kept = np.zeros(())

    def array(self, tensors: Sequence[Tensor]) -> Any:
        value = self._group.get(self._key)
        if type(value) not in (float, int):
            return None
        self._kept[()] = value
        return self._kept
