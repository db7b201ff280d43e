"""Kept values: how a node keeps an input or its own result, and gives it back checked.

An input is kept as the tensor itself. The node's own result is kept as an array with its version
cell, since keeping the tensor would tie a knot: tensor -> node -> tensor. With hooks on saved
tensors, what the pack hook returned is kept instead, and nobody checks versions: the hook may have
made a copy, or put the values anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from lamina import errors
from lamina.core import blame
from lamina.core.modes import door, state
from lamina.core.node import NOTHING, Node, OutputEdge
from lamina.core.op import raw, traced
from lamina.core.positions import here
from lamina.core.tensor import Tensor, cell_of, wrap
from lamina.core.versions import INFERENCE, VersionCell, next_stamp
from lamina.devices.batched import recorded

HookPair = tuple[Callable[[Any], Any], Callable[[Any], Any]]


@final
class KeptResult:
    """A node's own result: its array and version cell, not its tensor."""

    __slots__ = ("array", "cell", "index", "tangents")

    # Of the tensor it was, while a level of forward mode is open.
    tangents: dict[Any, Any] | None

    def __init__(self, tensor: Tensor, index: int) -> None:
        self.array = tensor._array
        self.cell: VersionCell = cell_of(tensor)
        self.index = index
        self.tangents = None


@final
class Overwritten:
    """A kept input whose values the operation itself replaced: it can't be used any more."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


@final
class Packed:
    """What a pack hook returned for a value, and how to make the value of it again.

    `edge` is where gradients of a kept input go; a kept result belongs to the node itself.
    """

    __slots__ = ("content", "dtype", "edge", "index", "is_result", "unpack_hook")

    def __init__(self, hooks: HookPair, shown: Tensor, edge: Any, index: int | None) -> None:
        pack, self.unpack_hook = hooks
        self.edge = edge
        self.dtype = shown._array.dtype
        self.is_result = index is not None
        self.index = index or 0
        before = _version_of(shown)
        was_enabled = state.grad_enabled
        door.set_grad_enabled(False)
        try:
            self.content = pack(shown)
        finally:
            door.set_grad_enabled(was_enabled)
        if _version_of(shown) != before:
            raise errors.SavedValueModified(
                "A saved tensor pack hook is modifying its input in place: others use "
                "that tensor too",
                help=["change a copy: start the hook with `t = t.clone()`"],
            )


def _version_of(tensor: Tensor) -> int:
    return 0 if tensor._cell is None else tensor._cell.version


def keep_input(tensor: Any) -> Any:
    """What a node keeps for one input (numbers are kept as they are)."""
    if not isinstance(tensor, Tensor):
        return tensor
    if tensor._cell is INFERENCE:
        raise blame.inference_saved(tensor)
    if state.pack_hooks:
        return Packed(state.pack_hooks[-1], tensor, _edge_of(tensor), None)
    return tensor


def keep_result(tensor: Tensor, index: int) -> Any:
    """What a node keeps for its own output `index`."""
    if state.pack_hooks:
        return Packed(state.pack_hooks[-1], tensor, None, index)
    return KeptResult(tensor, index)


def _edge_of(tensor: Tensor) -> Any:
    if not tensor._requires_grad:
        return None
    return tensor if tensor._node is None else tensor._node


def unpack(node: Node, entry: Any, F: Any) -> Any:
    """A kept value as `F` wants it (array or tensor), checked for changes in place."""
    kind = entry.__class__
    if kind is KeptResult:
        if entry.cell.changed_at > node.stamp:
            raise blame.saved_value_modified(node, entry.array, entry.cell, is_result=True)
        if F is raw:
            return entry.array
        made = _as_result(node, entry.array, entry.cell, entry.index)
        if entry.tangents:
            made.__dict__["tangents"] = entry.tangents
        return made
    if kind is Packed:
        return _unpack_packed(node, entry, F)
    if isinstance(entry, Tensor):
        cell = entry._cell
        if cell is not None and cell.changed_at > node.stamp:
            raise blame.saved_value_modified(
                node, entry._array, cell, is_result=False, tensor=entry
            )
        return entry._array if F is raw else entry
    if kind is tuple:
        return [unpack(node, item, F) for item in entry]
    if kind is Overwritten:
        tensor = entry.tensor
        raise blame.saved_value_modified(
            node, tensor._array, tensor._cell, is_result=False, tensor=tensor
        )
    return entry


def lift_saved(node: Node, recorder: Any) -> Callable[[], None]:
    """Put what stands for a node's kept values in the program being captured in their place.

    A rule that computed with the values themselves would make constants of them. Returns what
    brings the values back.
    """
    before = node.saved
    if isinstance(before, Node):  # the written part of a view
        return lift_saved(before, recorder)
    if before.__class__ is not tuple:
        return lambda: None
    node.saved = tuple(_lifted(node, entry, recorder) for entry in before)

    def restore() -> None:
        node.saved = before

    return restore


def _lifted(node: Node, entry: Any, recorder: Any) -> Any:
    if entry.__class__ is tuple:
        return tuple(_lifted(node, item, recorder) for item in entry)
    if not isinstance(entry, Tensor | KeptResult | Packed):
        return entry
    array = recorded(unpack(node, entry, raw), recorder)
    return KeptResult(wrap(array, None), 0)


def _as_result(node: Node, array: Any, cell: VersionCell | None, index: int) -> Tensor:
    """A tensor for a node's own result: it leads back to the node."""
    made = wrap(array, None)
    made._cell = cell
    if array.dtype.kind in "fcV":  # results such as indices lead nowhere
        made._node = node if node.outputs == 1 else OutputEdge(node, index)
        made._requires_grad = True
    return made


def _unpack_packed(node: Node, entry: Packed, F: Any) -> Any:
    if F is raw:
        # The plain loop leaves the caller's mode as it is; a hook must not record anything.
        was_enabled = state.grad_enabled
        door.set_grad_enabled(False)
        try:
            value = entry.unpack_hook(entry.content)
        finally:
            door.set_grad_enabled(was_enabled)
    else:
        value = entry.unpack_hook(entry.content)
    if not isinstance(value, Tensor):
        raise errors.NotAGraphTensor(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(value).__name__}",
            [(blame.node_place(node), "the value was kept here")],
            ["return a tensor from the unpack hook, with the values that the pack hook was given"],
        )
    if F is raw:  # the derivative must have the dtype of what it is added to
        return (
            value._array if value._array.dtype == entry.dtype else value._array.astype(entry.dtype)
        )
    if entry.is_result:
        return _as_result(node, value._array, value._cell, entry.index)
    return _as_input(value, entry.edge)


def _as_input(value: Tensor, edge: Any) -> Tensor:
    """A tensor with unpacked values in the place that a kept input has in the graph."""
    if isinstance(edge, Tensor) and value._array is edge._array:
        return edge
    made = wrap(value._array, value._origin)
    made._cell = value._cell
    if edge is not None:
        made._node = _alias_of(edge) if isinstance(edge, Tensor) else edge
        made._requires_grad = True
    return made


@final
class AliasBackward0(Node):
    """Stands between a leaf and a tensor with other memory that has its place in the graph."""

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """The gradient as it is."""
        return (g,)


def _alias_of(leaf: Tensor) -> AliasBackward0:
    node = AliasBackward0()
    node.next = (leaf,)
    node.saved = NOTHING
    node.context = node.freed_at = node._hooks = None
    node.code, node.lasti = here()
    node.stamp = next_stamp()
    return node


# --- kept values as users see them ----------------------------------------------------------------


@final
class SavedTensor:
    """One kept value of a node: `grad_fn._raw_saved_self`. Hooks can be put on it."""

    __slots__ = ("_item", "_node", "_place")

    def __init__(self, node: Node, place: int, item: int | None = None) -> None:
        self._node = node
        self._place = place
        self._item = item

    def _entry(self) -> Any:
        entry = self._node.saved[self._place]
        return entry if self._item is None else entry[self._item]

    @property
    def data(self) -> Any:
        """The value, unpacked."""
        if self._node.saved is None:
            raise blame.graph_freed(self._node)
        return unpack(self._node, self._entry(), traced)

    def register_hooks(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        """Keep `pack_hook(value)` instead of the value; `unpack_hook` brings it back."""
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise errors.ArgumentTypeError("register_hooks(): both hooks must be callable")
        node = self._node
        if node.saved is None:
            raise errors.GraphFreed(
                "Calling register_hooks on a saved tensor after it has been freed: a backward pass "
                "went through its node",
                [(blame.node_place(node), "it was kept here")],
                ["register the hooks before backward(), or call it with retain_graph=True"],
            )
        entry = self._entry()
        hooks = (pack_hook, unpack_hook)
        if isinstance(entry, Packed):
            raise errors.InvalidArgument(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time.",
                help=["put both steps into one pair of hooks"],
            )
        if isinstance(entry, KeptResult):
            shown = wrap(entry.array, None)
            shown._cell = entry.cell
            self._replace(Packed(hooks, shown, None, entry.index))
        elif isinstance(entry, Tensor):
            shown = wrap(entry._array, entry._origin)
            shown._cell = cell_of(entry)
            self._replace(Packed(hooks, shown, _edge_of(entry), None))
        else:
            raise errors.InvalidArgument(
                "Calling register_hooks on a saved tensor with value None is forbidden: the "
                "derivative does not need it, so it was not kept"
            )

    def _replace(self, packed: Packed) -> None:
        saved = list(self._node.saved)
        if self._item is None:
            saved[self._place] = packed
        else:
            items = list(saved[self._place])
            items[self._item] = packed
            saved[self._place] = tuple(items)
        self._node.saved = tuple(saved)


def raw_saved(node: Node, place: int) -> Any:
    """The handle on a kept value, or a tuple of them for a list."""
    entry = node.saved[place] if node.saved else None
    if isinstance(entry, tuple):
        return tuple(SavedTensor(node, place, item) for item in range(len(entry)))
    return SavedTensor(node, place)
