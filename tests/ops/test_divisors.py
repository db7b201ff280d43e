"""Divisors and multiples against Python's `math`, places against NumPy's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina as torch

whole = st.integers(-(2**31), 2**31)


@given(st.lists(st.tuples(whole, whole), min_size=1, max_size=5))
def test_gcd_and_lcm_are_pythons(pairs):
    first, second = zip(*pairs, strict=True)
    x, y = torch.tensor(first), torch.tensor(second)
    assert torch.gcd(x, y).tolist() == [math.gcd(a, b) for a, b in pairs]
    assert torch.lcm(x, y).tolist() == [math.lcm(a, b) for a, b in pairs]


def test_they_promote_and_broadcast():
    found = torch.gcd(torch.tensor([[4], [9]], dtype=torch.int8), torch.tensor([6, 3]))
    assert found.dtype is torch.int64
    assert found.tolist() == [[2, 1], [3, 3]]


def test_they_change_in_place():
    x = torch.tensor([6, 4])
    assert torch.gcd_(x, torch.tensor(4)) is x
    assert x.tolist() == [2, 4]
    assert x.lcm_(torch.tensor([3, 6])).tolist() == [6, 12]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_places_are_numpys(shape, data):
    count = math.prod(shape)
    flat = np.array(data.draw(st.lists(st.integers(0, count - 1), max_size=5)), dtype=np.int64)
    expected = np.unravel_index(flat, shape)
    found = torch.unravel_index(torch.tensor(flat), shape)
    assert [part.tolist() for part in found] == [part.tolist() for part in expected]


def test_a_flat_tensor_is_read_at_the_places():
    x = torch.arange(24).reshape(2, 3, 4)
    places = torch.tensor([[0, 23], [-1, 7]])
    assert torch.equal(x[torch.unravel_index(places, x.shape)], x.flatten()[places])


def test_nothing_is_found_in_an_empty_tensor():
    none = torch.unravel_index(torch.tensor([], dtype=torch.int64), (3, 0))
    assert [tuple(part.shape) for part in none] == [(0,), (0,)]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.unravel_index(torch.tensor([0]), (3, 0))
