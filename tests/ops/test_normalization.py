"""Normalization: what holds of its results, and running statistics."""

from __future__ import annotations

import pytest

import lamina
from lamina.nn import functional as F


def is_standard(rows: lamina.Tensor) -> bool:
    mean, variance = rows.mean(-1), rows.var(-1, correction=0)
    zeros = lamina.zeros_like(mean)
    return bool(
        lamina.allclose(mean, zeros, atol=1e-5) and lamina.allclose(variance, zeros + 1, atol=1e-3)
    )


def test_rows_have_mean_zero_and_variance_one() -> None:
    x = lamina.randn(3, 4, 8) * 5 + 100
    assert is_standard(F.layer_norm(x, (8,)))
    assert is_standard(F.layer_norm(x, (4, 8)).reshape(3, -1))
    assert is_standard(F.group_norm(x, 2).reshape(6, -1))
    assert is_standard(F.instance_norm(x))
    assert is_standard(F.batch_norm(x, None, None, training=True).transpose(0, 1).reshape(4, -1))


def test_rms_norm_has_mean_square_one() -> None:
    made = F.rms_norm(lamina.randn(5, 16), (16,))
    assert lamina.allclose((made * made).mean(-1), lamina.ones(5), atol=1e-4)


def test_running_statistics_move_towards_those_of_the_batch() -> None:
    x = lamina.tensor([[1.0], [3.0]])
    mean, variance = lamina.zeros(1), lamina.ones(1)
    F.batch_norm(x, mean, variance, training=True, momentum=0.5)
    assert mean.tolist() == [1.0]
    assert variance.tolist() == [1.5]  # the batch's is 2, of two samples
    assert mean._version == variance._version == 1


def test_fixed_statistics_are_used_as_they_are() -> None:
    x = lamina.tensor([[3.0]])
    made = F.batch_norm(x, lamina.ones(1), lamina.full((1,), 4.0), eps=0.0)
    assert made.tolist() == [[1.0]]


def test_one_value_has_no_variance() -> None:
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        F.batch_norm(lamina.ones(1, 3), None, None, training=True)


def test_a_wrong_shape_is_named() -> None:
    with pytest.raises(RuntimeError, match="Given normalized_shape="):
        F.layer_norm(lamina.ones(2, 3), (4,))


def test_normalize_gives_length_one() -> None:
    made = F.normalize(lamina.tensor([[3.0, 4.0], [0.0, 0.0]]))
    assert lamina.allclose(made, lamina.tensor([[0.6, 0.8], [0.0, 0.0]]))
