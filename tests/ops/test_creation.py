"""Making tensors: what the general tests cannot know."""

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
