"""Trees of containers: lists, tuples, dicts and the like, one in another, with leaves between.

>>> tree_map(lambda leaf: leaf * 2, {"a": [1, 2], "b": (3,)})
{'a': [2, 4], 'b': (6,)}

Dicts keep the order of their keys; two dicts match if they have the same keys. None is a leaf.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lamina import errors
from lamina.utils.tree_classes import (
    FlattenFn,
    FromDumpableContextFn,
    ToDumpableContextFn,
    UnflattenFn,
    is_namedtuple,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    register_dataclass,
    register_pytree_node,
)
from lamina.utils.tree_classes import (
    _deregister_pytree_node as _deregister_pytree_node,
)
from lamina.utils.tree_classes import (
    _register_namedtuple as _register_namedtuple,
)
from lamina.utils.tree_kinds import (
    KINDS,
    GetAttrKey,
    MappingKey,
    SequenceKey,
    is_namedtuple_class,
    node_type,
)
from lamina.utils.tree_spec import (
    LEAF,
    LeafSpec,
    Mismatch,
    PyTreeSpec,
    flatten,
    matched,
    text_of_path,
)
from lamina.utils.tree_text import treespec_dumps, treespec_loads

__all__ = [
    "Context", "DumpableContext", "FlattenFn", "FromDumpableContextFn", "GetAttrKey", "KeyPath",
    "LeafSpec", "MappingKey", "PyTree", "PyTreeSpec", "SUPPORTED_NODES", "SequenceKey",
    "ToDumpableContextFn", "TreeSpec", "UnflattenFn", "arg_tree_leaves", "is_namedtuple",
    "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class",
    "is_structseq_instance", "key_get", "keystr", "register_dataclass", "register_pytree_node",
    "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten",
    "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path",
    "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path",
    "tree_structure", "tree_unflatten", "treespec_dict", "treespec_dumps", "treespec_leaf",
    "treespec_loads", "treespec_pprint", "treespec_tuple",
]  # fmt: skip

PyTree = Any
Context = Any
DumpableContext = Any
KeyPath = tuple[Any, ...]
TreeSpec = PyTreeSpec
SUPPORTED_NODES = KINDS
_register_pytree_node = register_pytree_node

# One kind of container alone: private in PyTorch, and used by libraries that register a class of
# their own (transformers does so for every kind of model output).
_dict_flatten, _dict_unflatten = KINDS[dict].flatten, KINDS[dict].unflatten
_list_flatten, _list_unflatten = KINDS[list].flatten, KINDS[list].unflatten
_tuple_flatten, _tuple_unflatten = KINDS[tuple].flatten, KINDS[tuple].unflatten
_dict_flatten_with_keys = KINDS[dict].flatten_with_keys
_list_flatten_with_keys = KINDS[list].flatten_with_keys
_tuple_flatten_with_keys = KINDS[tuple].flatten_with_keys

IsLeaf = Callable[[Any], bool] | None

# --- taking apart and building --------------------------------------------------------------------


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeSpec]:
    """The leaves of a tree, and its structure.

    Args:
        is_leaf: Says of a container whether it is to be taken for a leaf.
    """
    leaves: list[Any] = []
    spec = flatten(tree, is_leaf, leaves)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: PyTreeSpec) -> PyTree:
    """A tree of a structure, with new leaves."""
    if not isinstance(treespec, PyTreeSpec):
        raise errors.ArgumentTypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}.",
            help=["the leaves come first: `tree_unflatten(leaves, treespec)`"],
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one by one."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in KINDS[node_type(tree)].flatten(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> PyTreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is a leaf rather than a container."""
    return bool(is_leaf is not None and is_leaf(tree)) or node_type(tree) not in KINDS


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments of a call."""
    return [leaf for argument in (*args, *kwargs.values()) for leaf in tree_leaves(argument)]


# --- a function on each leaf ----------------------------------------------------------------------


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """A tree of the results of a function on each leaf, and on what stands there in `rests`.

    Raises:
        ValueError: One of `rests` has not the structure of `tree`, down to its leaves.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(list(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests))))


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call a function on each leaf, for what it does; gives the tree back."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """As `tree_map`, for leaves of some types, or those of which a function says so."""
    concerns = _test_of(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if concerns(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """As `tree_map_`, for leaves of some types, or those of which a function says so."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def _test_of(wanted: Any) -> Callable[[Any], bool]:
    if isinstance(wanted, type | tuple | types.UnionType):
        return lambda leaf: isinstance(leaf, wanted)
    if callable(wanted):
        found: Callable[[Any], bool] = wanted
        return found
    raise errors.ArgumentTypeError("Argument must be a type, a tuple of types, or a callable.")


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether something holds for every leaf of some types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether something holds for some leaf of some types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: PyTreeSpec, is_leaf: IsLeaf = None
) -> list[Any] | None:
    """For each leaf of a structure what stands there in a tree that may stop further up.

    A leaf of the tree counts for all below it. None if the tree does not fit.
    """
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    try:
        children = matched(treespec, tree)
    except Mismatch:
        return None
    found: list[Any] = []
    for child, spec in zip(children, treespec.children(), strict=True):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        found += part
    return found


# --- leaves with the way to them ------------------------------------------------------------------


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], PyTreeSpec]:
    """Pairs of a path and a leaf, and the structure.

    Raises:
        ValueError: A container was registered without a function that gives keys.
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Pairs of a path and a leaf."""
    return list(_with_paths((), tree, is_leaf))


def _with_paths(path: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    with_keys = KINDS[node_type(tree)].flatten_with_keys
    if with_keys is None:
        raise errors.InvalidValue(
            f"Did not find a flatten_with_keys_fn for type: {type(tree)}.",
            help=["pass `flatten_with_keys_fn=` to `register_pytree_node`"],
        )
    for key, child in with_keys(tree)[0]:
        yield from _with_paths((*path, key), child, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """As `tree_map`, of a function that is given the path first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    others = (spec.flatten_up_to(rest) for rest in rests)
    return spec.unflatten(list(map(func, paths, leaves, *others)))


def keystr(kp: KeyPath) -> str:
    """A path as Python writes it, as in `['a'][0]`."""
    return text_of_path(kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# --- structures -----------------------------------------------------------------------------------


def treespec_leaf() -> LeafSpec:
    """The structure of a leaf."""
    return LEAF


def treespec_tuple(iterable: Iterable[PyTreeSpec] = (), /) -> PyTreeSpec:
    """The structure of a tuple with children of these structures."""
    return PyTreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: PyTreeSpec) -> PyTreeSpec:
    """The structure of a dict with children of these structures."""
    found: dict[Any, PyTreeSpec] = dict(mapping, **kwargs)
    return PyTreeSpec(dict, list(found), list(found.values()))


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: PyTreeSpec) -> str:
    """A structure as Python writes the tree, with stars for the leaves."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))
