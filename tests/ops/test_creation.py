"""Making tensors: what the general tests cannot know."""

import re

import numpy as np
import pytest

import lamina


def test_negative_zeros_stay_negative():
    assert np.signbit(lamina.full((2,), -0.0).numpy()).all()
    assert np.signbit(lamina.full_like(lamina.ones(2), -0.0).numpy()).all()
    assert not np.signbit(lamina.full((2,), 0.0).numpy()).any()


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([np.float64(1), 2.0], lamina.float64),
        ([np.float16(1), 2], lamina.float16),
        ([np.ones(2), np.ones(2)], lamina.float64),
        ([lamina.ones((), dtype=lamina.int8)], lamina.int8),
        ([1, 2.0], lamina.float32),
    ],
)
def test_numbers_in_lists_keep_the_dtype_that_they_have(data, dtype):
    assert lamina.tensor(data).dtype is dtype


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_a_size_may_be_a_keyword(name):
    make = getattr(lamina, name)
    assert make(size=(2, 3)).shape == make(2, 3).shape == make([2, 3]).shape == (2, 3)
    assert make(size=()).shape == make(()).shape == ()


@pytest.mark.parametrize("name", ["new_zeros", "new_ones", "new_empty"])
def test_the_size_of_a_new_tensor_may_be_a_keyword(name):
    tensor = lamina.ones(1, dtype=lamina.int32)
    assert getattr(tensor, name)(size=(2,)).shape == (2,)
    assert getattr(tensor, name)(2).dtype is lamina.int32


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda: lamina.zeros(), 'zeros() missing 1 required positional argument: "size"'),
        (lambda: lamina.ones(2, size=(2,)), "ones() got multiple values for argument 'size'"),
        (lambda: lamina.rand(size=3), "argument 'size' must be tuple of ints, not int"),
    ],
)
def test_mistakes_with_sizes(call, phrase):
    with pytest.raises(TypeError, match=re.escape(phrase)):
        call()
