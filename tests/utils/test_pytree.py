"""Trees of containers; tests/oracle/test_pytree_oracle.py compares them with PyTorch's."""

from collections import OrderedDict, deque, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina.utils import _pytree as trees

Point = namedtuple("Point", "x y")

LEAVES = st.one_of(st.integers(), st.none(), st.text(max_size=3))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(lambda items: deque(items, maxlen=5)),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3).map(OrderedDict),
        st.builds(Point, inner, inner),
    ),
    max_leaves=8,
)


@given(TREES)
def test_a_tree_is_its_leaves_and_its_structure(tree):
    leaves, spec = trees.tree_flatten(tree)
    built = trees.tree_unflatten(leaves, spec)

    assert built == tree
    assert type(built) is type(tree)
    assert spec.num_leaves == len(leaves)
    assert spec == trees.tree_structure(built)
    assert list(trees.tree_iter(tree)) == leaves


@given(TREES)
def test_a_path_leads_to_its_leaf(tree):
    for path, leaf in trees.tree_leaves_with_path(tree):
        assert trees.key_get(tree, path) is leaf


@given(TREES)
def test_mapping_two_trees_pairs_their_leaves(tree):
    pairs = trees.tree_map(lambda first, second: first is second, tree, tree)

    assert trees.tree_leaves(pairs) == [True] * len(trees.tree_leaves(tree))


def test_parts_of_the_second_tree_reach_below_the_leaves_of_the_first():
    assert trees.tree_map(lambda a, b: (a, b), [1, 2], [1, [2, 3]]) == [(1, 1), (2, [2, 3])]


def test_tensors_and_none_are_leaves():
    x = lamina.ones(2, 2)

    leaves, spec = trees.tree_flatten({"a": x, "b": None})

    assert leaves[0] is x
    assert leaves[1] is None
    assert spec.num_leaves == 2


def test_results_of_operations_are_containers():
    found = trees.tree_map(lambda t: t.tolist(), lamina.tensor([[3, 1]]).max(1))

    assert (found.values, found.indices) == ([3], [0])


def test_a_mismatch_says_where():
    first, second = {"a": [1, {"k": 2}]}, {"a": [1, {"k": [2], "l": 3}]}

    with pytest.raises(ValueError, match=r"extra key\(s\): \{'l'\}") as caught:
        trees.tree_map(max, first, second)

    assert "tree['a'][1]" in str(caught.value)


def test_dimensions_given_by_key_count_by_key():
    spec = trees.tree_structure({"a": [1, 2], "b": 3})

    assert trees._broadcast_to_and_flatten({"b": 7, "a": 5}, spec) == [5, 5, 7]


def test_a_structure_that_was_changed_is_another():
    assert trees.tree_structure([1, (2,)]) != trees.tree_structure([1, [2]])
    assert trees.tree_structure({"a": 1}) != trees.tree_structure({"b": 1})


def test_own_classes_take_part_once_registered():
    class Box:
        def __init__(self, inside):
            self.inside = inside

    assert len(trees.tree_leaves(Box([1, 2]))) == 1
    trees.register_pytree_node(Box, lambda box: ([box.inside], None), lambda c, _: Box(*c))

    assert trees.tree_leaves(Box([1, 2])) == [1, 2]
    assert trees.tree_map(lambda v: v + 1, Box(1)).inside == 2
