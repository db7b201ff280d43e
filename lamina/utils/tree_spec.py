"""The structure of a tree without its leaves, and what goes with it: taking apart, building."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, final

from lamina import errors
from lamina.utils.tree_kinds import KINDS, STANDARD_DICTS, MappingKey, SequenceKey, node_type

__all__ = ["LEAF", "LeafSpec", "Mismatch", "PyTreeSpec", "flatten", "matched", "text_of_path"]


class PyTreeSpec:
    """The structure of a tree: the kind of its outermost container, and its children's structures.

    Args:
        type: The class of the container; `namedtuple` for all that it makes; None for a leaf.
        context: What else it takes to build the container, such as the keys of a dict.
        children: The children's structures.
    """

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children: list[PyTreeSpec]) -> None:
        self.type = type
        self._context = context
        self._children = children
        self.num_children = len(children)
        self.num_nodes: int = 1 + sum(child.num_nodes for child in children)
        self.num_leaves: int = (
            sum(child.num_leaves for child in children) if type is not None else 1
        )

    @property
    def context(self) -> Any:
        """What else it takes to build the container."""
        return self._context

    @property
    def children_specs(self) -> list[PyTreeSpec]:
        """The children's structures."""
        return self._children

    def children(self) -> list[PyTreeSpec]:
        """A list of the children's structures."""
        return list(self._children)

    def child(self, index: int) -> PyTreeSpec:
        """The structure of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether this is the structure of a leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A tree of this structure.

        Raises:
            ValueError: The leaves are too many or too few.
        """
        found = leaves if isinstance(leaves, list | tuple) else list(leaves)
        if len(found) != self.num_leaves:
            raise errors.InvalidValue(
                f"treespec.unflatten(leaves): `leaves` has length {len(found)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._built(iter(found))

    def _built(self, leaves: Any) -> Any:
        if self.type is None:
            return next(leaves)
        children = [child._built(leaves) for child in self._children]
        return KINDS[self.type].unflatten(children, self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree that stand where this structure has leaves.

        Raises:
            ValueError: The tree has another structure; the text says where.
        """
        found: list[Any] = []
        try:
            self._collect(tree, found)
        except Mismatch as mismatch:
            where = text_of_path(mismatch.path[::-1])
            raise errors.InvalidValue(
                mismatch.headline,
                help=[f"the trees differ at `tree{where}`"] if where else (),
            ) from None
        return found

    def _collect(self, tree: Any, found: list[Any]) -> None:
        if self.type is None:
            found.append(tree)
            return
        for position, child in enumerate(matched(self, tree)):
            try:
                self._children[position]._collect(child, found)
            except Mismatch as mismatch:
                mismatch.path.append(_step(self, tree, position))
                raise

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PyTreeSpec):
            return NotImplemented
        return (
            self.type is other.type
            and self._context == other._context
            and self._children == other._children
        )

    def __hash__(self) -> int:
        # A context may hold lists, which have no hash: structures that differ in it alone collide.
        return hash((self.type, self.num_nodes, self.num_leaves, *self._children))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        texts = [child.__repr__(indent + 2) for child in self._children]
        children = f",\n{' ' * (indent + 2)}".join(texts)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"

    def __reduce__(self) -> Any:
        return PyTreeSpec, (self.type, self._context, self._children)


@final
class LeafSpec(PyTreeSpec):
    """The structure of a leaf: a class of its own, since programs ask for it by `isinstance`."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])

    def __reduce__(self) -> Any:
        return LeafSpec, ()


LEAF: Final = LeafSpec()


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None, leaves: list[Any]) -> PyTreeSpec:
    """The structure of a tree; its leaves are appended to a list."""
    if is_leaf is None or not is_leaf(tree):
        node = node_type(tree)
        kind = KINDS.get(node)
        if kind is not None:
            children, context = kind.flatten(tree)
            return PyTreeSpec(node, context, [flatten(c, is_leaf, leaves) for c in children])
    leaves.append(tree)
    return LEAF


def text_of_path(path: Sequence[Any]) -> str:
    """A path as Python writes it, as in `['a'][0].weight`."""
    return "".join(map(str, path))


# --- comparing a structure with a tree ------------------------------------------------------------


@final
class Mismatch(Exception):
    """A tree is not of the wanted structure; the path to the place, its last step first."""

    def __init__(self, headline: str) -> None:
        super().__init__(headline)
        self.headline = headline
        self.path: list[Any] = []


def _keys(spec: PyTreeSpec) -> list[Any]:
    """The keys of a mapping's structure."""
    keys: list[Any] = spec.context[1] if spec.type is defaultdict else spec.context
    return keys


def _step(spec: PyTreeSpec, tree: Any, position: int) -> Any:
    """The step of a path to one child of a tree that matches a structure."""
    if spec.type in STANDARD_DICTS:
        return MappingKey(_keys(spec)[position])
    with_keys = KINDS[spec.type].flatten_with_keys
    return SequenceKey(position) if with_keys is None else with_keys(tree)[0][position][0]


def matched(spec: PyTreeSpec, tree: Any) -> list[Any]:
    """The children of a container, in the order that a structure has."""
    node = node_type(tree)
    if spec.type in STANDARD_DICTS and node in STANDARD_DICTS:
        return _matched_mapping(_keys(spec), tree)
    if node is not spec.type:
        raise Mismatch(f"Node type mismatch; expected {spec.type}, but got {type(tree)}.")
    children, context = KINDS[node].flatten(tree)
    children = list(children)
    if len(children) != spec.num_children:
        raise Mismatch(
            f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}."
        )
    if node is not deque and context != spec.context:  # a deque's limit is nothing of its own
        raise Mismatch(
            f"Node context mismatch for node type {spec.type}; "
            f"expected {spec.context}, but got {context}."
        )
    return children


def _matched_mapping(keys: list[Any], tree: Any) -> list[Any]:
    missing = [key for key in keys if key not in tree]
    extra = [key for key in tree if key not in keys]
    if missing or extra:
        parts = [f"missing key(s): {{{', '.join(map(repr, missing))}}}"] if missing else []
        parts += [f"extra key(s): {{{', '.join(map(repr, extra))}}}"] if extra else []
        raise Mismatch(f"Node keys mismatch; {'; '.join(parts)}.")
    return [tree[key] for key in keys]
