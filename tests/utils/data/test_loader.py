"""The loader: the same batches, in the same order, with the same random numbers as PyTorch's."""

from __future__ import annotations

import os
import random
import threading

import numpy as np
import pytest
from autograd.recording import Cases, raises

import lamina
from lamina.utils.data import DataLoader, Subset, TensorDataset, get_worker_info

case = Cases(__file__)

SEED = 77


def numbers(torch, count=7):
    """A data set whose samples draw a random number."""

    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return count

        def __getitem__(self, index):
            info = torch.utils.data.get_worker_info()
            return index, torch.rand(2), torch.randint(1000, ()), -1 if info is None else info.id

    return Numbers()


def counting(torch, lengths=(5, 2, 8), length=None):
    """A stream with a part for each worker; without workers it has all parts."""

    class Counting(torch.utils.data.IterableDataset):
        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            which = range(len(lengths)) if info is None else [info.id]
            for number in which:
                for k in range(lengths[number]):
                    yield 100 * number + k

    class Sized(Counting):
        def __len__(self):
            return length

    return Counting() if length is None else Sized()


def epochs(torch, dataset, count=2, **arguments):
    """All batches of some epochs, and what the default generator gives afterwards."""
    torch.manual_seed(SEED)
    loader = torch.utils.data.DataLoader(dataset, **arguments)
    return [list(iter(loader)) for _ in range(count)], torch.rand(2)


@case
def without_workers(torch):
    data = numbers(torch)
    return [
        epochs(torch, data, **arguments)
        for arguments in (
            {}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None},
            {"batch_size": 3, "shuffle": True}, {"batch_size": None, "shuffle": True},
            {"sampler": [4, 1, 1]}, {"sampler": [4, 1, 1], "batch_size": None},
            {"batch_sampler": [[1, 2], [0]]}, {"batch_size": 2, "collate_fn": len},
        )
    ]  # fmt: skip


@case
def with_workers(torch):
    data = numbers(torch)
    return [
        epochs(torch, data, num_workers=2, **arguments)
        for arguments in (
            {"batch_size": 2}, {"batch_size": 2, "shuffle": True}, {"batch_size": None},
            {"batch_size": 2, "shuffle": True, "persistent_workers": True},
            {"batch_size": 2, "prefetch_factor": 1}, {"batch_sampler": [[1, 2], [0]]},
        )
    ]  # fmt: skip


@case
def with_a_generator(torch):
    found = []
    for workers in (0, 2):
        own = torch.Generator().manual_seed(SEED)
        arguments = {"generator": own, "num_workers": workers, "shuffle": True, "batch_size": 3}
        found.append([epochs(torch, numbers(torch), **arguments), torch.rand(1, generator=own)])
    return found


@case
def streams(torch):
    data = counting(torch)
    return [
        epochs(torch, data, **arguments)
        for arguments in (
            {"batch_size": 2}, {"batch_size": None}, {"batch_size": 4, "drop_last": True},
            {"batch_size": 2, "num_workers": 3}, {"batch_size": None, "num_workers": 3},
            {"batch_size": 3, "num_workers": 3, "drop_last": True},
            {"batch_size": 2, "num_workers": 3, "persistent_workers": True},
            {"batch_size": 2, "num_workers": 3, "prefetch_factor": 5},
        )
    ]  # fmt: skip


@case
def seeds_of_workers(torch):
    class Seeds(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            info = torch.utils.data.get_worker_info()
            return info.seed % 2**60, torch.initial_seed() % 2**60, info.id, info.num_workers

    return epochs(torch, Seeds(), num_workers=2)


@case
def seeds_set_by_workers(torch):
    def prepare(worker):
        torch.manual_seed(torch.initial_seed() % 1000 + worker)

    data = numbers(torch)
    return [
        epochs(torch, data, num_workers=2, worker_init_fn=prepare, persistent_workers=persistent)
        for persistent in (False, True)
    ]


@case
def pythons_and_numpys_random_numbers(torch):
    class Drawing(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return random.random(), np.random.rand()  # noqa: NPY002

    return epochs(torch, Drawing(), num_workers=2)


@case
def what_workers_change_stays_with_them(torch):
    class Part(torch.utils.data.IterableDataset):
        start, stop = 0, 10

        def __iter__(self):
            return iter(range(self.start, self.stop))

    def prepare(worker):
        part = torch.utils.data.get_worker_info().dataset
        part.start, part.stop = 5 * worker, 5 * worker + 5

    data = Part()
    found = epochs(torch, data, num_workers=2, batch_size=2, worker_init_fn=prepare)
    return found, data.start, data.stop


@case
def lengths(torch):
    make = torch.utils.data.DataLoader
    data = numbers(torch)
    return [
        [len(make(data, 3)), len(make(data, 3, drop_last=True)), len(make(data, None))],
        [len(make(data, batch_sampler=[[1], [2, 3]])), len(make(data, sampler=[1], num_workers=1))],
        [len(make(counting(torch, length=9), size)) for size in (1, 2, 9, 10, None)],
        [len(make(counting(torch, length=9), 2, drop_last=True)), len(iter(make(data, 3)))],
        raises(lambda: len(make(counting(torch))), "has no len()"),
    ]


@case
def attributes(torch):
    make = torch.utils.data.DataLoader
    names = (
        "batch_size",
        "num_workers",
        "drop_last",
        "timeout",
        "prefetch_factor",
        "pin_memory",
        "persistent_workers",
        "in_order",
        "pin_memory_device",
        "generator",
        "worker_init_fn",
    )
    loaders = (make([1]), make([1], 2, num_workers=3, timeout=5), make([1], batch_sampler=[[0]]))
    return [
        [[getattr(loader, name) for name in names] for loader in loaders],
        [type(loaders[0].sampler), type(make([1], shuffle=True).sampler)],
        [type(loaders[0].batch_sampler), make([1], None).batch_sampler, loaders[0].dataset],
        [make([1]).collate_fn.__name__, make([1], None).collate_fn.__name__],
    ]  # fmt: skip


@case
def mistakes(torch):
    make, data, endless = torch.utils.data.DataLoader, [1, 2], counting(torch)
    loader = make(data)
    calls = {
        "num_workers option should be non-negative": lambda: make(data, num_workers=-1),
        "timeout option should be non-negative": lambda: make(data, timeout=-1),
        "prefetch_factor option could only be": lambda: make(data, prefetch_factor=2),
        "prefetch_factor option should be": lambda: make(data, num_workers=1, prefetch_factor=-2),
        "persistent_workers option needs": lambda: make(data, persistent_workers=True),
        "expected unspecified shuffle": lambda: make(endless, shuffle=True),
        "expected unspecified sampler": lambda: make(endless, sampler=[1]),
        "expected unspecified batch_sampler": lambda: make(endless, batch_sampler=[[1]]),
        "mutually exclusive with shuffle": lambda: make(data, shuffle=True, sampler=[1]),
        "exclusive with batch_size,": lambda: make(data, batch_sampler=[[1]], batch_size=3),
        "exclusive with batch_size, ": lambda: make(data, batch_sampler=[[1]], shuffle=True),
        "batch_size=None option disables": lambda: make(data, None, drop_last=True),
        "batch_size=0": lambda: make(data, 0),
        "batch_size=2.5": lambda: make(data, 2.5),
        "num_samples=0": lambda: make([], shuffle=True),
        "can only be used with": lambda: make(data, multiprocessing_context="fork"),
        "a valid start method": lambda: make(data, num_workers=1, multiprocessing_context="x"),
        "a valid context object": lambda: make(data, num_workers=1, multiprocessing_context=3),
        "batch_size attribute should not be set": lambda: setattr(loader, "batch_size", 3),
        "dataset attribute should not be set": lambda: setattr(loader, "dataset", data),
        "object of type 'int' has no len()": lambda: len(make(3)),
    }
    return {phrase: raises(call, phrase) for phrase, call in calls.items()}


# Of Python's and NumPy's streams there is one for all threads.
@pytest.mark.parametrize(
    "name", sorted(case.functions.keys() - {"pythons_and_numpys_random_numbers"})
)
def test_as_in_pytorch(name):
    assert case.answer(name, lamina) == case.recorded(name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of a fork beside threads
@pytest.mark.parametrize(
    "name",
    ["with_workers", "streams", "seeds_of_workers", "pythons_and_numpys_random_numbers"],
)
def test_as_in_pytorch_with_processes(name, monkeypatch):
    plain = DataLoader.__init__

    def in_processes(self, *args, **kwargs):
        if kwargs.get("num_workers"):
            kwargs["multiprocessing_context"] = "fork"
        plain(self, *args, **kwargs)

    monkeypatch.setattr(DataLoader, "__init__", in_processes)

    assert case.answer(name, lamina) == case.recorded(name)


def test_out_of_order_all_batches_come():
    loader = DataLoader(range(50), 4, num_workers=3, in_order=False)

    assert sorted(n for batch in loader for n in batch.tolist()) == list(range(50))


def test_out_of_order_a_slow_batch_waits_for_nobody():
    class Slow(lamina.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            if index == 0:
                gate.wait(10)
            if index == 5:
                gate.set()
            return index

    gate = threading.Event()
    loader = DataLoader(Slow(), None, num_workers=2, in_order=False)

    assert next(iter(loader)) != 0
    gate.set()


@pytest.mark.parametrize("size", [1, 3, 7, 8])
@pytest.mark.parametrize("shuffle", [False, True])
def test_rows_read_at_once_are_the_same_rows(size, shuffle):
    x, y = lamina.rand(7, 2, 3), lamina.arange(7)
    data, part = TensorDataset(x, y), Subset(TensorDataset(x, y), [5, 1, 6, 0])

    class Plain(TensorDataset):
        pass

    for fast, slow in ((data, Plain(x, y)), (part, Subset(Plain(x, y), part.indices))):
        both = []
        for dataset in (fast, slow):
            lamina.manual_seed(1)
            both.append(list(DataLoader(dataset, size, shuffle)))
        for (a, b), (c, d) in zip(*both, strict=True):
            assert a.equal(c)
            assert b.equal(d)
            assert (a.dtype, b.dtype) == (c.dtype, d.dtype)


def test_a_batch_shares_no_memory_with_the_data():
    x = lamina.zeros(4)

    for (batch,) in DataLoader(TensorDataset(x), 2):
        batch += 1

    assert x.sum() == 0


def test_rows_that_want_gradients_take_part_in_the_graph():
    x = lamina.ones(4, 2, requires_grad=True)

    for (batch,) in DataLoader(TensorDataset(x), 2):
        batch.sum().backward()

    assert x.grad.equal(lamina.ones(4, 2))


def test_a_stream_that_is_longer_than_it_said_is_warned_of():
    class Long(lamina.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

        def __len__(self):
            return 3

    loader = DataLoader(Long(), 2)
    assert len(loader) == 2

    with pytest.warns(UserWarning, match="Length of IterableDataset Long was reported to be 2"):
        assert len([*iter(loader)]) == 3


def test_a_loader_can_be_gone_through_twice_at_once():
    loader = DataLoader(range(4), 2, num_workers=1)

    assert [a.tolist() + b.tolist() for a, b in zip(loader, loader, strict=True)] == [
        [0, 1, 0, 1],
        [2, 3, 2, 3],
    ]


def test_nobody_is_a_worker_here():
    assert get_worker_info() is None
    assert list(DataLoader([1, 2], None, num_workers=1)) == [1, 2]
    assert get_worker_info() is None


def test_more_worker_processes_than_cores_are_warned_of():
    with pytest.warns(UserWarning, match="will create 5000 worker processes"):
        DataLoader([1], num_workers=5000, multiprocessing_context="spawn")
