"""Samplers and splits: the same indices as PyTorch's, for the same seed."""

from __future__ import annotations

import pytest
from autograd.recording import Cases, raises
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina.utils.data import BatchSampler, DistributedSampler, RandomSampler, random_split

case = Cases(__file__)

SEED = 1234


def drawn(torch, make, epochs=2):
    """What a sampler gives over some epochs, and what the generators give afterwards."""
    own = torch.Generator().manual_seed(SEED)
    torch.manual_seed(SEED)
    sampler = make(torch.utils.data, own)
    found = [list(sampler) for _ in range(epochs)]
    return found, len(sampler), torch.rand(1), torch.rand(1, generator=own)


@case
def random_order(torch):
    return [drawn(torch, lambda data, own: data.RandomSampler(range(7))) for _ in range(2)]


@case
def random_order_of_a_generator(torch):
    return [
        drawn(torch, lambda data, own, n=n: data.RandomSampler(range(5), False, n, own))
        for n in (None, 1, 5, 7, 10, 13)
    ]


@case
def random_order_with_replacement(torch):
    return [
        drawn(torch, lambda data, own, n=n: data.RandomSampler(range(50), True, n, own))
        for n in (None, 3, 32, 33, 70)
    ]


@case
def random_order_of_a_subset(torch):
    return drawn(torch, lambda data, own: data.SubsetRandomSampler([5, 3, 1, 8], own))


@case
def random_order_of_a_subset_by_default(torch):
    return drawn(torch, lambda data, own: data.SubsetRandomSampler([5, 3, 1, 8]))


@case
def weighted(torch):
    weights = [0.1, 0.5, 2, 0, 3]
    return [
        drawn(torch, lambda data, own, r=r: data.WeightedRandomSampler(weights, 4, r, own))
        for r in (True, False)
    ]


@case
def weights_are_kept_as_a_tensor(torch):
    sampler = torch.utils.data.WeightedRandomSampler([1, 2], 3)
    return sampler.weights, str(sampler.weights.dtype), sampler.num_samples, sampler.replacement


@case
def splits(torch):
    found = []
    for lengths in ([3, 7], [0.3, 0.7], [0.33, 0.33, 0.34], [0.25] * 4, [10, 0], [0.95, 0.05]):
        own = torch.Generator().manual_seed(SEED)
        parts = torch.utils.data.random_split(range(10), lengths, generator=own)
        found.append([[list(part), len(part)] for part in parts] + [torch.rand(1, generator=own)])
    return found


@case
def splits_by_default(torch):
    torch.manual_seed(SEED)
    parts = torch.utils.data.random_split(list("abcdefg"), [4, 3])
    return [[list(part), part.indices] for part in parts], torch.rand(1)


@case
def batches(torch):
    make = torch.utils.data.BatchSampler
    return [
        [list(make(range(n), size, last)), len(make(range(n), size, last))]
        for n in (0, 1, 5, 6)
        for size in (1, 2, 6, 9)
        for last in (False, True)
    ]


@case
def batches_of_a_shuffled_sampler(torch):
    def make(data, own):
        return data.BatchSampler(data.RandomSampler(range(7), generator=own), 3, False)

    return drawn(torch, make)


@case
def parts_of_processes(torch):
    make = torch.utils.data.distributed.DistributedSampler
    found = []
    for count in (0, 1, 5, 6, 7):
        for replicas in (1, 2, 3, 9):
            for shuffle in (False, True):
                for last in (False, True):
                    for rank in range(replicas):
                        sampler = make(range(count), replicas, rank, shuffle, 3, last)
                        sampler.set_epoch(2)
                        found.append([list(sampler), len(sampler), sampler.total_size])
    return found


@case
def mistakes(torch):
    data = torch.utils.data
    weighted = data.WeightedRandomSampler
    return [
        raises(lambda: data.RandomSampler([]), "num_samples=0"),
        raises(lambda: data.RandomSampler([1], num_samples=0), "num_samples=0"),
        raises(lambda: data.RandomSampler([1], num_samples=2.0), "num_samples=2.0"),
        raises(lambda: data.RandomSampler([1], replacement=1), "replacement=1"),
        raises(lambda: weighted([1], True), "num_samples=True"),
        raises(lambda: weighted([1], 1, replacement=1), "replacement=1"),
        raises(lambda: weighted([[1, 2]], 1), "should be a 1d sequence"),
        raises(lambda: list(weighted([1, 2], 3, False)), "without replacement"),
        raises(lambda: list(weighted([1, -2], 3)), "invalid multinomial distribution"),
        raises(lambda: data.BatchSampler([1], 0, True), "batch_size=0"),
        raises(lambda: data.BatchSampler([1], True, True), "batch_size=True"),
        raises(lambda: data.BatchSampler([1], 2, 1), "drop_last=1"),
        raises(lambda: list(data.Sampler())),
        raises(lambda: data.DistributedSampler([1], 2, 2), "Invalid rank 2"),
        raises(lambda: data.DistributedSampler([1]), "has not been initialized"),
        raises(lambda: data.random_split(range(9), [3, 3]), "does not equal the length"),
        raises(lambda: data.random_split(range(9), [0.5, 0.6]), "does not equal the length"),
        raises(lambda: data.random_split(range(9), [-0.5, 1.5]), "is not between 0 and 1"),
        raises(lambda: data.random_split(range(9), [4.0, 5.0])),
    ]


@pytest.mark.parametrize("name", case.functions)
def test_as_in_pytorch(name):
    assert case.answer(name, lamina) == case.recorded(name)


@given(st.integers(1, 200), st.integers(0, 2**32), st.integers(1, 300))
def test_a_random_order_has_each_index_equally_often(count, seed, wanted):
    own = lamina.Generator().manual_seed(seed)

    found = list(RandomSampler(range(count), num_samples=wanted, generator=own))

    assert len(found) == wanted
    times = [found.count(index) for index in range(count)]
    assert max(times) - min(times) <= 1


@given(st.integers(0, 60), st.integers(1, 9), st.booleans(), st.booleans())
def test_processes_share_the_samples_out(count, replicas, shuffle, drop_last):
    parts = [
        list(DistributedSampler(range(count), replicas, rank, shuffle, drop_last=drop_last))
        for rank in range(replicas)
    ]

    assert len({len(part) for part in parts}) == 1
    together = {index for part in parts for index in part}
    assert together <= set(range(count))
    if not drop_last:
        assert together == set(range(count))


# Lengths whose sum is 1 are taken for fractions, and an empty part is warned of then.
@pytest.mark.filterwarnings("ignore:Length of split")
@given(st.lists(st.integers(0, 20), min_size=1, max_size=5), st.integers(0, 2**32))
def test_a_split_has_each_sample_once(lengths, seed):
    own = lamina.Generator().manual_seed(seed)

    parts = random_split(range(sum(lengths)), lengths, generator=own)

    assert [len(part) for part in parts] == lengths
    assert sorted(sample for part in parts for sample in part) == list(range(sum(lengths)))


@given(st.integers(0, 40), st.integers(1, 9), st.booleans())
def test_batches_are_as_many_as_their_length_says(count, size, drop_last):
    sampler = BatchSampler(range(count), size, drop_last)

    assert len(list(sampler)) == len(sampler)


def test_an_empty_part_is_warned_of():
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(10), [1.0, 0])


def test_a_negative_length_is_refused():
    with pytest.raises(ValueError, match="negative: -1"):
        random_split(range(5), [-1, 6])
