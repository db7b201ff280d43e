"""Losses, against their formulas in NumPy; CTC against the sum over all alignments."""

from __future__ import annotations

from itertools import groupby, product
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.nn import functional as F

SCORES = np.random.default_rng(0).normal(size=(4, 3))
CLASSES = np.array([0, 2, 1, 2])


def log_softmax(x: Any) -> Any:
    return x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True))


def test_cross_entropy_is_the_mean_negative_log_probability() -> None:
    x = lamina.from_numpy(SCORES).requires_grad_()
    loss = F.cross_entropy(x, lamina.from_numpy(CLASSES))
    assert loss.item() == pytest.approx(-log_softmax(SCORES)[range(4), CLASSES].mean())
    loss.backward()
    expected = np.exp(log_softmax(SCORES))
    expected[range(4), CLASSES] -= 1
    assert np.allclose(x.grad.numpy(), expected / 4)
    assert type(loss.grad_fn).__name__ == "NllLossBackward0"


def test_weights_and_ignored_targets_change_the_mean() -> None:
    weight, target = np.array([1.0, 2.0, 3.0]), np.array([0, -100, 1, 2])
    loss = F.cross_entropy(
        lamina.from_numpy(SCORES), lamina.from_numpy(target), lamina.from_numpy(weight)
    )
    logs, kept = log_softmax(SCORES), [0, 2, 3]
    used = weight[target[kept]]
    assert loss.item() == pytest.approx(-(logs[kept, target[kept]] * used).sum() / used.sum())


def test_probabilities_as_targets_give_the_same_as_classes() -> None:
    x = lamina.from_numpy(SCORES)
    one_hot = lamina.from_numpy(np.eye(3)[CLASSES])
    for smoothing in (0.0, 0.2):
        by_class = F.cross_entropy(x, lamina.from_numpy(CLASSES), label_smoothing=smoothing)
        by_share = F.cross_entropy(x, one_hot, label_smoothing=smoothing)
        assert by_class.item() == pytest.approx(by_share.item())


@pytest.mark.parametrize("bad", [3, -1])
def test_a_target_that_is_no_class_is_an_error(bad: int) -> None:
    target = lamina.tensor([0, bad, 1, 2])
    with pytest.raises(IndexError, match=f"Target {bad} is out of bounds"):
        F.nll_loss(lamina.from_numpy(SCORES), target, reduction="sum")


def test_pixels_have_losses_of_their_own() -> None:
    logs = np.moveaxis(log_softmax(np.random.default_rng(1).normal(size=(2, 4, 3))), -1, 1)
    target = np.array([[0, 1, 2, 0], [2, 1, 0, 1]])
    losses = F.nll_loss(lamina.from_numpy(logs.copy()), lamina.from_numpy(target), reduction="none")
    assert np.allclose(losses.numpy(), -np.take_along_axis(logs, target[:, None], 1)[:, 0])


def test_logits_far_out_do_not_overflow() -> None:
    x, y = lamina.tensor([1000.0, -1000.0]), lamina.tensor([0.0, 1.0])
    losses = F.binary_cross_entropy_with_logits(x, y, reduction="none")
    assert losses.tolist() == [1000.0, 1000.0]


def test_probabilities_of_zero_cost_a_hundred() -> None:
    assert F.binary_cross_entropy(lamina.tensor([0.0]), lamina.tensor([1.0])).item() == 100.0


def test_huber_and_smooth_l1_bend_where_they_should() -> None:
    x, y = lamina.tensor([0.5, 3.0]), lamina.zeros(2)
    assert F.huber_loss(x, y, "none", 2.0).tolist() == [0.125, 4.0]
    assert F.smooth_l1_loss(x, y, reduction="none", beta=2.0).tolist() == [0.0625, 2.0]


def test_sizes_that_only_broadcast_are_worth_a_warning() -> None:
    with pytest.warns(UserWarning, match="different to the input size"):
        F.mse_loss(lamina.zeros(3), lamina.zeros(3, 1))


def test_ctc_is_the_sum_over_all_alignments() -> None:
    logs = log_softmax(np.random.default_rng(2).normal(size=(4, 3)))
    labels = (1, 1)
    total = 0.0
    for path in product(range(3), repeat=4):
        merged = tuple(label for label, _ in groupby(path) if label)
        if merged == labels:
            total += float(np.exp(sum(logs[t, label] for t, label in enumerate(path))))
    loss = F.ctc_loss(lamina.from_numpy(logs), lamina.tensor([1, 1]), (4,), (2,), reduction="sum")
    assert loss.item() == pytest.approx(-np.log(total))


def test_an_impossible_sequence_can_count_as_nothing() -> None:
    logs = lamina.full((2, 1, 3), -1.0986).requires_grad_()
    target = lamina.tensor([[1, 1]])
    assert F.ctc_loss(logs, target, (2,), (2,)).item() == float("inf")
    F.ctc_loss(logs, target, (2,), (2,), zero_infinity=True).backward()
    assert logs.grad.abs().sum().item() == 0


def test_triplets_that_are_far_enough_apart_cost_nothing() -> None:
    near, far = lamina.zeros(1, 2), lamina.full((1, 2), 10.0)
    assert F.triplet_margin_loss(near, near, far).item() == 0
    assert F.triplet_margin_loss(near, far, near).item() > 10
