"""Data sets: read by index or as streams, and made of each other."""

from __future__ import annotations

import pytest
from autograd.recording import Cases, raises

import lamina
from lamina.utils.data import ConcatDataset, Dataset, Subset, TensorDataset

case = Cases(__file__)


def stream(torch, items, length=None):
    """A stream of some items, with a length or without."""

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(items)

    class Sized(Stream):
        def __len__(self):
            return length

    return Stream() if length is None else Sized()


@case
def rows_of_tensors(torch):
    x, y = torch.arange(6).reshape(3, 2), torch.arange(3)
    data = torch.utils.data.TensorDataset(x, y)
    return [len(data), data[1], data[-1], data[0:2], data[[2, 0]], data[torch.tensor([1])]], [
        data.tensors[0] is x, type(data[0])
    ]  # fmt: skip


@case
def side_by_side(torch):
    make = torch.utils.data.StackDataset
    pair, named = make([1, 2], "ab"), make(x=[1, 2], y="ab")
    return [pair[1], named[1], len(pair), len(named), pair.__getitems__([1, 0]),
            named.__getitems__([0]), named.datasets]  # fmt: skip


@case
def one_after_the_other(torch):
    data = torch.utils.data
    joined = data.ConcatDataset([[1, 2], "abc", range(1)])
    summed = data.Subset([1, 2], [0]) + data.Subset([3], [0])
    return [list(map(joined.__getitem__, range(-6, 6))), len(joined), joined.cumulative_sizes,
            list(summed), type(summed)]  # fmt: skip


@case
def streams_one_after_the_other(torch):
    data = torch.utils.data
    first, second = stream(torch, [1, 2], 2), stream(torch, [3], 1)
    joined = data.ChainDataset([first, second])
    return list(joined), len(joined), list(first + second), type(first + second)


@case
def parts(torch):
    data = torch.utils.data
    part = data.Subset(list("abcdef"), [4, 1, 3])
    rows = data.Subset(data.TensorDataset(torch.arange(6) * 10), [4, 1, 3])
    return [list(part), part[-1], len(part), part.__getitems__([2, 0]), rows[[0, 2]],
            list(data.Subset(part, [1, 0]))]  # fmt: skip


@case
def mistakes(torch):
    data = torch.utils.data
    tensors, joined = data.TensorDataset, data.ConcatDataset([[1, 2], [3]])
    endless = stream(torch, [1])
    return [
        raises(lambda: tensors(torch.ones(2), torch.ones(3)), "Size mismatch between tensors"),
        raises(lambda: tensors([1, 2]), "'list' object has no attribute 'size'"),
        raises(lambda: data.StackDataset(), "At least one dataset should be passed"),
        raises(lambda: data.StackDataset([1], [1, 2]), "Size mismatch between datasets"),
        raises(lambda: data.StackDataset([1], x=[1]), "both types are given"),
        raises(lambda: data.ConcatDataset([]), "should not be an empty iterable"),
        raises(lambda: data.ConcatDataset([endless]), "does not support IterableDataset"),
        raises(lambda: joined[3], "list index out of range"),
        raises(lambda: joined[-4], "absolute value of index should not exceed"),
        raises(lambda: list(data.ChainDataset([[1]])), "only supports IterableDataset"),
        raises(lambda: len(endless), "has no len()"),
        raises(lambda: data.Dataset()[0], "should implement __getitem__"),
        raises(lambda: len(data.Dataset()), "has no len()"),
        raises(lambda: data.IterableDataset(), "abstract class IterableDataset"),
        raises(lambda: data.Subset([1], [0])[1], "list index out of range"),
    ]


@pytest.mark.parametrize("name", case.functions)
def test_as_in_pytorch(name):
    assert case.answer(name, lamina) == case.recorded(name)


def test_classes_take_the_type_of_their_samples():
    class Words(Dataset[str]):
        def __getitem__(self, index):
            return "word"

    assert Words()[0] == "word"


def test_a_part_reads_whole_batches_at_once_where_its_data_set_can():
    asked = []

    class Together(Dataset):
        def __getitems__(self, indices):
            asked.append(indices)
            return [index * 10 for index in indices]

    assert Subset(Together(), [5, 6, 7]).__getitems__([0, 2]) == [50, 70]
    assert asked == [[5, 7]]


def test_tensors_that_do_not_fit_are_named_by_their_sizes():
    with pytest.raises(AssertionError, match="first sizes are 2, 3"):
        TensorDataset(lamina.ones(2), lamina.ones(3))


def test_an_older_spelling_is_warned_of():
    with pytest.warns(FutureWarning, match="is renamed to `cumulative_sizes`"):
        assert ConcatDataset(["ab", "c"]).cummulative_sizes == [2, 3]


def test_a_stream_among_indexed_data_sets_is_named():
    with pytest.raises(AssertionError, match="ChainDataset"):
        ConcatDataset([stream(lamina, [1])])
