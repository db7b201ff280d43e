"""Attention and dropout: what holds of their results."""

from __future__ import annotations

import pytest

import lamina
from lamina.nn import functional as F


def test_equal_scores_average_the_values() -> None:
    q, v = lamina.zeros(1, 2, 4), lamina.tensor([[[1.0], [3.0]]])
    assert F.scaled_dot_product_attention(q, q, v).flatten().tolist() == [2.0, 2.0]


def test_causal_attention_sees_the_past_alone() -> None:
    q, v = lamina.zeros(1, 2, 4), lamina.tensor([[[1.0], [3.0]]])
    made = F.scaled_dot_product_attention(q, q, v, is_causal=True)
    assert made.flatten().tolist() == [1.0, 2.0]


def test_masks_of_truth_and_of_numbers_agree() -> None:
    q, k, v = lamina.randn(2, 3, 4), lamina.randn(2, 5, 4), lamina.randn(2, 5, 2)
    mask = lamina.rand(3, 5) > 0.3
    added = lamina.zeros(3, 5).masked_fill(~mask, float("-inf"))
    assert lamina.allclose(
        F.scaled_dot_product_attention(q, k, v, mask),
        F.scaled_dot_product_attention(q, k, v, added),
    )


def test_heads_can_share_keys_and_values() -> None:
    q, k, v = lamina.randn(1, 4, 3, 8), lamina.randn(1, 2, 3, 8), lamina.randn(1, 2, 3, 8)
    made = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    repeated = (t.repeat_interleave(2, 1) for t in (k, v))
    assert lamina.allclose(made, F.scaled_dot_product_attention(q, *repeated))


def test_dropout_keeps_the_expected_sum() -> None:
    lamina.manual_seed(0)
    made = F.dropout(lamina.ones(10000), 0.25)
    assert set(made.unique().tolist()) == {0.0, lamina.tensor(1 / 0.75).item()}
    assert made.mean().item() == pytest.approx(1, abs=0.03)
    assert F.dropout(made, training=False) is made


def test_feature_dropout_drops_whole_channels() -> None:
    made = F.dropout2d(lamina.ones(4, 8, 3, 3))
    assert bool((made.amax((2, 3)) == made.amin((2, 3))).all())


def test_a_probability_above_one_is_refused() -> None:
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1"):
        F.dropout(lamina.ones(2), 1.5)
