"""Trees of containers: both libraries take them apart, compare and write them alike."""

import dataclasses
import re
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
import torch
import torch.utils._pytree as theirs

import lamina
import lamina.utils._pytree as ours

Point = namedtuple("Point", "x y")
Other = namedtuple("Other", "x y")
TREE = {
    "b": [1, (2, None)],
    "a": Point(3, OrderedDict(z=4, y=5)),
    "c": deque([6, 7], maxlen=4),
    "d": defaultdict(list, {"q": 8}),
}


class Box:
    def __init__(self, inside):
        self.inside = inside

    def __repr__(self):
        return f"Box({self.inside})"


@dataclasses.dataclass
class Pair:
    first: object
    second: object
    name: str = "pair"


def both(*values):
    return values


def with_box(p, program, **options):
    p.register_pytree_node(Box, lambda b: ([b.inside], None), lambda c, _: Box(*c), **options)
    try:
        return program()
    finally:
        p._deregister_pytree_node(Box)


def with_pair(p, program, **options):
    p.register_dataclass(Pair, **options)
    try:
        return program()
    finally:
        p._deregister_pytree_node(Pair)


def dumped(p, tree):
    text = p.treespec_dumps(p.tree_structure(tree))
    return text, p.treespec_loads(text) == p.tree_structure(tree)


PROGRAMS = {
    "flatten": lambda p, t: p.tree_flatten(TREE),
    "flatten to lists": lambda p, t: p.tree_flatten(TREE, is_leaf=lambda v: type(v) is list),
    "round trip": lambda p, t: p.tree_unflatten(p.tree_leaves(TREE), p.tree_structure(TREE)),
    "sizes": lambda p, t: [
        getattr(p.tree_structure(TREE), name)
        for name in ("num_leaves", "num_nodes", "num_children", "type", "context")
    ],
    "iterate": lambda p, t: list(p.tree_iter(TREE)),
    "empty": lambda p, t: [p.tree_flatten(kind()) for kind in (list, tuple, dict)],
    "results": lambda p, t: p.tree_flatten(t.ones(2, 2).max(0)),
    "shapes": lambda p, t: p.tree_map(lambda n: n + 1, t.Size([1, 2])),
    "map": lambda p, t: p.tree_map(lambda v: v if v is None else -v, TREE),
    "map several": lambda p, t: p.tree_map(both, [1, {"k": 2}], [3, {"k": (4,)}]),
    "map dicts in other orders": lambda p, t: p.tree_map(both, {"x": 1, "y": 2}, {"y": 3, "x": 4}),
    "map dicts of other kinds": lambda p, t: [
        p.tree_map(both, first, second)
        for first in ({"a": 1}, OrderedDict(a=1), defaultdict(int, a=1))
        for second in ({"a": 2}, OrderedDict(a=2), defaultdict(list, a=2))
    ],
    "map deques": lambda p, t: p.tree_map(both, deque([1], maxlen=3), deque([1])),
    "map only": lambda p, t: [
        p.tree_map_only(which, lambda v: v * 2, [1, "a", 1.5])
        for which in (int, (int, str), int | str, lambda v: v == 1.5)
    ],
    "all and any": lambda p, t: (
        p.tree_all(bool, [1, (0,)]), p.tree_any(bool, [1, (0,)]),
        p.tree_all_only(int, bool, [1, ""]), p.tree_any_only(str, bool, [1, ""]),
    ),
    "paths": lambda p, t: [
        (p.keystr(path), p.key_get(TREE, path) is leaf)
        for path, leaf in p.tree_flatten_with_path(TREE)[0]
    ],
    "path objects": lambda p, t: p.tree_leaves_with_path(TREE),
    "map with path": lambda p, t: p.tree_map_with_path(
        lambda path, *values: (p.keystr(path), *values), [1, {"a": 2}], [3, {"a": 4}]
    ),
    "broadcast": lambda p, t: [
        p._broadcast_to_and_flatten(tree, p.tree_structure([1, {"a": 2, "b": 3}]))
        for tree in (0, [1, 2], [1, {"a": 3, "b": 2}], [1], (1, 2), [1, {"a": 2}])
    ],
    "broadcast deque": lambda p, t: p._broadcast_to_and_flatten(
        deque([1], maxlen=2), p.tree_structure(deque([1]))
    ),
    "equal": lambda p, t: [
        p.tree_structure(first) == p.tree_structure(second)
        for first in ([1, {"a": 1}], [2, {"b": 1}], (1, 2), 3)
        for second in ([3, {"a": 4}], (3, 4), 5)
    ],
    "hash": lambda p, t: hash(p.tree_structure(TREE)) == hash(p.tree_structure(TREE)),
    "leaf": lambda p, t: (
        p.tree_structure(1) == p.LeafSpec(), isinstance(p.tree_structure(1), p.LeafSpec),
        p.tree_structure(1).is_leaf(), p.tree_structure([]).is_leaf(), p.treespec_leaf(),
        [p.tree_is_leaf(value) for value in (1, None, [], Box(1), t.ones(2))],
    ),
    "specs": lambda p, t: (
        p.treespec_tuple([p.treespec_leaf()]), p.treespec_dict({"a": p.treespec_leaf()}),
        p.treespec_pprint(p.tree_structure({"a": [1, 2]})),
    ),
    "text": lambda p, t: [
        dumped(p, tree)
        for tree in ({"a": [1, 2]}, OrderedDict(a=(1,)), deque([1], maxlen=3),
                     defaultdict(list, {"q": 8}), t.Size([1]))
    ],
    "own class": lambda p, t: with_box(
        p, lambda: (p.tree_flatten([Box([1, 2])]), p.tree_map(str, Box(3)))
    ),
    "own class, named": lambda p, t: with_box(
        p, lambda: dumped(p, Box(1)), serialized_type_name="tests.Box"
    ),
    "dataclass": lambda p, t: with_pair(
        p, lambda: (p.tree_flatten(Pair(1, None)), p.tree_map(str, Pair([1], None)))
    ),
    "dataclass, some fields": lambda p, t: with_pair(
        p, lambda: p.tree_map(str, Pair(1, 2, "x")), field_names=["first", "second"],
        drop_field_names=["name"],
    ),
    "arguments": lambda p, t: p.arg_tree_leaves(1, [2], a=(3,)),
    "named tuples": lambda p, t: [
        (p.is_namedtuple(v), p.is_namedtuple_class(v), p.is_namedtuple_instance(v),
         p.is_structseq(v))
        for v in (Point, Point(1, 2), (1, 2), t.ones(2, 2).max(0), type(t.ones(2, 2).max(0)))
    ],
}  # fmt: skip

MISTAKES = {
    "length": lambda p, t: p.tree_map(both, [1, 2], [1, 2, 3]),
    "keys": lambda p, t: p.tree_map(both, {"a": 1}, {"b": 1}),
    "kind": lambda p, t: p.tree_map(both, [1], (1,)),
    "no container": lambda p, t: p.tree_map(both, [1], 5),
    "class of named tuple": lambda p, t: p.tree_map(both, Point(1, 2), Other(1, 2)),
    "leaves": lambda p, t: p.tree_unflatten([1], p.tree_structure([1, 2])),
    "no structure": lambda p, t: p.tree_unflatten([1], [1]),
    "only": lambda p, t: p.tree_map_only("a", str, [1]),
    "twice": lambda p, t: with_box(p, lambda: with_box(p, None)),
    "no keys": lambda p, t: with_box(p, lambda: p.tree_flatten_with_path(Box(1))),
    "no name": lambda p, t: with_box(p, lambda: p.treespec_dumps(p.tree_structure(Box(1)))),
    "named tuple without a name": lambda p, t: dumped(p, Point(1, 2)),
    "protocol": lambda p, t: p.treespec_loads("[99, {}]"),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")  # theirs deprecates `LeafSpec`
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_answer_alike(name):
    program = PROGRAMS[name]

    assert repr(program(ours, lamina)) == repr(program(theirs, torch))


@pytest.mark.parametrize("name", MISTAKES)
def test_both_refuse_alike(name):
    with pytest.raises(Exception) as expected:  # noqa: PT011
        MISTAKES[name](theirs, torch)
    phrase = re.split(r"[.;:]| <| because", str(expected.value))[0]

    with pytest.raises(expected.type, match=re.escape(phrase)):
        MISTAKES[name](ours, lamina)


def test_text_goes_both_ways():
    text = theirs.treespec_dumps(theirs.tree_structure({"a": [1, (2, 3)]}))

    assert ours.treespec_loads(text) == ours.tree_structure({"a": [1, (2, 3)]})


@pytest.mark.parametrize(
    ("kind", "value"), [("dict", {"a": 1, "b": 2}), ("list", [1, 2]), ("tuple", (1, 2))]
)
def test_one_kind_comes_apart_and_is_built_again(kind, value):
    flatten, unflatten, with_keys = (
        f"_{kind}_flatten",
        f"_{kind}_unflatten",
        f"_{kind}_flatten_with_keys",
    )
    assert getattr(ours, flatten)(value) == getattr(theirs, flatten)(value)
    assert getattr(ours, unflatten)(*getattr(ours, flatten)(value)) == value
    assert str(getattr(ours, with_keys)(value)) == str(getattr(theirs, with_keys)(value))
