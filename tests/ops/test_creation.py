"""Making tensors: what the general tests cannot know."""

import numpy as np

import lamina


def test_negative_zeros_stay_negative():
    assert np.signbit(lamina.full((2,), -0.0).numpy()).all()
    assert np.signbit(lamina.full_like(lamina.ones(2), -0.0).numpy()).all()
    assert not np.signbit(lamina.full((2,), 0.0).numpy()).any()
