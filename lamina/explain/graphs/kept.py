"""What the nodes of a graph keep for backward, and the memory behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, final

import numpy as np

from lamina import dtypes
from lamina.autograd.function import BackwardCFunction
from lamina.core.fast_nodes import PointwiseNode
from lamina.core.fast_products import AffineNode
from lamina.core.node import Node, OutputEdge
from lamina.core.op_node import OpNode
from lamina.core.saved import KeptResult, Packed
from lamina.core.tensor import Tensor
from lamina.devices.dispatched import owner_of
from lamina.explain.graphs.model import Facts, Kept

OWN_RESULT = "its result"


def facts_of(array: Any) -> Facts:
    """The shape and dtype of an array, or of what is known of one."""
    shape = getattr(array, "shape", None)
    kind = getattr(array, "dtype", None)
    name = None if kind is None else dtypes.from_numpy(np.dtype(kind)).name
    return Facts(None if shape is None else tuple(int(size) for size in shape), name)


def kept_entries(node: Any) -> Iterator[tuple[str, Any]]:
    """What a node keeps: (what it is to the operation, a tensor, `KeptResult` or `Packed`)."""
    saved = node.saved
    if isinstance(saved, Node):  # the change in place of a part keeps what the change keeps
        yield from kept_entries(saved)
        return
    if not isinstance(saved, tuple):
        return
    for word, entry in zip(_words(node, len(saved)), saved, strict=True):
        items = entry if isinstance(entry, tuple) else (entry,)
        for number, item in enumerate(items):
            if isinstance(item, Tensor | KeptResult | Packed):
                yield (f"{word}[{number}]" if isinstance(entry, tuple) else word), item


def kept_arrays(node: Any) -> list[Any]:
    """The arrays that a node keeps, but for what a hook has packed."""
    items = [item for _, item in kept_entries(node) if not isinstance(item, Packed)]
    return [item.array if isinstance(item, KeptResult) else item._array for item in items]


def _words(node: Any, count: int) -> list[str]:
    """A word for each entry of what a node keeps."""
    if isinstance(node, BackwardCFunction):
        return [f"saved tensor {number}" for number in range(count)]
    if not isinstance(node, OpNode):
        return ["a value"] * count
    names = list(node.op.names)
    if isinstance(node, PointwiseNode):
        return [*[*names, "other"][:2], OWN_RESULT][:count]
    if isinstance(node, AffineNode):
        return names[:count]
    words = [names[place] if kind == "in" else OWN_RESULT for kind, place in node.op.slots]
    return words if len(words) == count else ["a value"] * count


@final
class Keeping:
    """Finds what nodes keep, and adds up the memory of what was computed on the way."""

    def __init__(self, numbers: Mapping[int, int], names: Mapping[int, str]) -> None:
        self._numbers = numbers  # id of a node or leaf -> its number
        self._names = names  # id of a tensor that the program holds -> its name
        self._memories: dict[int, int] = {}
        self._owners: list[Any] = []  # kept alive, so that ids stay theirs
        self._extra: dict[int, int] = {}

    @property
    def extra_bytes(self) -> int:
        """The memory of what was seen so far, without leaves and data that the program holds."""
        return sum(self._extra.values())

    def of(self, node: Any) -> tuple[Kept, ...]:
        """What a node keeps."""
        return tuple(self._kept(node, word, item) for word, item in kept_entries(node))

    def _kept(self, node: Any, word: str, item: Any) -> Kept:
        if isinstance(item, Packed):
            return Kept(f"{word}, packed by a hook", Facts(), 0, -1, 0, False)
        if isinstance(item, KeptResult):
            return self._measured(word, item.array, True, self._numbers.get(id(node)))
        edge = item._node if item._node is not None else item
        source = edge.node if isinstance(edge, OutputEdge) else edge
        is_tensor_of_the_program = item._node is None and (
            item._requires_grad or id(item) in self._names
        )
        is_extra = not is_tensor_of_the_program
        return self._measured(word, item._array, is_extra, self._numbers.get(id(source)))

    def _measured(self, word: str, array: Any, is_extra: bool, number: int | None) -> Kept:
        owner = owner_of(array)
        if id(owner) not in self._memories:
            self._memories[id(owner)] = len(self._memories)
            self._owners.append(owner)
        memory = self._memories[id(owner)]
        # The owner may be a buffer of another library, which has no elements to count.
        held = _size(owner if hasattr(owner, "strides") else array)
        if is_extra:
            self._extra[memory] = held
        return Kept(word, facts_of(array), _size(array), memory, held, is_extra, number)


def _size(array: Any) -> int:
    """The bytes of the distinct elements of an array: an expanded one has few."""
    count = int(np.dtype(array.dtype).itemsize)
    for size, stride in zip(array.shape, array.strides, strict=True):
        count *= int(size) if stride or not size else 1
    return count
