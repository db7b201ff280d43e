"""Batches made of samples: tensors, arrays, numbers and strings, in containers."""

from __future__ import annotations

import types
from collections import OrderedDict, UserList, defaultdict, deque, namedtuple
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from autograd.recording import Cases, raises

import lamina
from lamina.utils.data import default_collate
from lamina.utils.data._utils.collate import collate, default_collate_fn_map

case = Cases(__file__)

Point = namedtuple("Point", "x y")


class ReadOnly(Mapping):
    """A mapping that nothing can be put into."""

    def __init__(self, items):
        self.items_of_it = dict(items)

    def __getitem__(self, key):
        return self.items_of_it[key]

    def __iter__(self):
        return iter(self.items_of_it)

    def __len__(self):
        return len(self.items_of_it)

    def __repr__(self):
        return f"ReadOnly({self.items_of_it})"


class Row(Sequence):
    """A sequence that nothing can be put into."""

    def __init__(self, items):
        self.items = list(items)

    def __getitem__(self, index):
        return self.items[index]

    def __len__(self):
        return len(self.items)

    def __repr__(self):
        return f"Row({self.items})"


class MyList(list):
    pass


class MyDict(dict):
    pass


def samples(torch):
    with_default = defaultdict(list)
    with_default["a"] = np.float32(2)
    one = np.ones(1, np.float32)
    return {
        "int": 1, "float": 2.5, "bool": True, "str": "a", "bytes": b"b",
        "float32": np.float32(1), "float16": np.float16(1), "int8": np.int8(3),
        "numpy bool": np.bool_(True), "numpy str": np.str_("x"), "complex64": np.complex64(1),
        "array": np.ones(2, "f4"), "array without dimensions": np.array(3),
        "array of strings": np.array(["a"]), "array of objects": np.array([None]),
        "tensor": torch.ones(2), "scalar tensor": torch.tensor(True), "tuple": (1, 2.0),
        "list": [1, "a"], "dict": {"a": 1, "b": (2,)}, "named tuple": Point(1, one),
        "OrderedDict": OrderedDict(a=1), "defaultdict": with_default,
        "proxy": types.MappingProxyType({"a": 1}), "mapping": ReadOnly({"a": one}),
        "sequence": Row([1, one]), "UserList": UserList([1, 2]), "list class": MyList([1, one]),
        "dict class": MyDict(a=one), "deque": deque([1, 2]), "range": range(2), "None": None,
        "set": {1}, "complex": 1j, "empty tuple": (), "empty list": [], "empty dict": {},
        "frozen": frozenset("a"), "bytearray": bytearray(b"a"), "object": object,
        "grad": torch.ones(2, requires_grad=True),
    }  # fmt: skip


def answered(call):
    """The result as text with its class; or the class of the error."""
    try:
        found = call()
    except Exception as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return type(found), repr(found)


@case
def batches(torch):
    collate = torch.utils.data.default_collate
    return {
        name: [
            answered(lambda s=sample: collate([s, s])), answered(lambda s=sample: collate((s, s))),
            answered(lambda s=sample: collate([{"k": s}])),
        ]
        for name, sample in samples(torch).items()
    }  # fmt: skip


@case
def conversions(torch):
    convert = torch.utils.data.default_convert
    found = {name: answered(lambda s=s: convert(s)) for name, s in samples(torch).items()}
    return {**found, "nested": answered(lambda: convert({"a": [np.ones(1), (np.int8(1), "x")]}))}


@case
def dtypes_of_numbers(torch):
    batches = (
        [1, 2.5],
        [1.5, 2],
        [True, 2],
        [np.float32(1), np.float64(2)],
        [np.int8(1), 2],
        [2**40],
        [torch.ones(1), torch.ones(1).double()],
        [np.ones(1), np.ones(1, "i4")],
    )
    return [str(torch.utils.data.default_collate(batch).dtype) for batch in batches]  # fmt: skip


@case
def functions_for_types(torch):
    from_module = torch.utils.data._utils.collate
    functions = {
        **from_module.default_collate_fn_map,
        Point: lambda batch, *, collate_fn_map: ["points", len(batch)],
        (set, frozenset): lambda batch, *, collate_fn_map: sorted(set().union(*batch)),
    }
    batch = [{"p": Point(1, 2), "s": {3}, "n": 1}, {"p": Point(3, 4), "s": {4}, "n": 2}]
    return from_module.collate(batch, collate_fn_map=functions)


@case
def mistakes(torch):
    collate, ones = torch.utils.data.default_collate, torch.ones
    return [
        raises(lambda: collate([])),
        raises(lambda: collate([None]), "batch must contain tensors, numpy arrays, numbers"),
        raises(lambda: collate([1, "a"])),
        raises(lambda: collate([(1, 2), (3,)]), "should be of equal size"),
        raises(lambda: collate([{"a": 1}, {"b": 1}]), "'a'"),
        raises(lambda: collate([ones(2), ones(3)]), "got [2] at entry 0 and [3] at entry 1"),
        raises(lambda: collate([np.ones((2, 1)), np.ones((3, 1))]), "[2, 1]", "[3, 1]"),
        raises(lambda: collate([ones(2), 1]), "expected Tensor as element 1"),
        raises(lambda: collate([2**70]), "Overflow"),
    ]


@pytest.mark.parametrize("name", case.functions)
def test_as_in_pytorch(name):
    assert case.answer(name, lamina) == case.recorded(name)


@pytest.mark.parametrize(
    ("batch", "kind", "shown"),
    [
        (
            [{"image": (lamina.ones(2), 1)}, {"image": (lamina.ones(3), 1)}],
            RuntimeError,
            ["got [2] at entry 0 and [3] at entry 1", "sample['image'][0]", "pad_sequence"],
        ),
        ([{"a": [1, 2]}] * 2 + [{"a": [1]}], RuntimeError, ["lengths 2 at entry 0", "sample['a']"]),
        ([[{"a": 1}], [{}]], KeyError, ["'a': entry 1 of the batch", "sample[0]"]),
        ([Point(1, None)], TypeError, ["found <class 'NoneType'>", "sample.y", "collate_fn="]),
    ],
)
def test_what_does_not_go_together_is_named(batch, kind, shown):
    with pytest.raises(kind) as caught:
        default_collate(batch)

    for phrase in shown:
        assert phrase in str(caught.value)


def test_a_function_of_your_own_may_call_collate_again():
    def squared(batch, *, collate_fn_map):
        return collate([value**2 for value in batch], collate_fn_map=default_collate_fn_map)

    found = collate([{"a": 2}, {"a": 3}], collate_fn_map={int: squared})

    assert found["a"].tolist() == [4, 9]


def test_shapes_inside_a_function_of_your_own_are_reported_too():
    def nested(batch, *, collate_fn_map):
        return collate(batch, collate_fn_map=default_collate_fn_map)

    with pytest.raises(RuntimeError, match="should be of equal size"):
        collate([{"a": (1, 2)}, {"a": (1,)}], collate_fn_map={tuple: nested})


def test_a_batch_takes_part_in_the_graph():
    x = lamina.ones(2, requires_grad=True)

    default_collate([x, x * 3]).sum().backward()

    assert x.grad.tolist() == [4.0, 4.0]
