"""Gradients as numbers and their places: where the backward loop takes them, and what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina as torch
from lamina import errors
from lamina.core.op_node import OpNode

functional = torch.nn.functional


@pytest.fixture
def crossings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the nodes that were given a scattered gradient."""
    found: list[str] = []
    pull = OpNode.pull_scattered

    def noted(node: Any, g: Any) -> Any:
        found.append(node.name())
        return pull(node, g)

    monkeypatch.setattr(OpNode, "pull_scattered", noted)
    return found


def scores(*shape: int, dtype: Any = np.float32) -> Any:
    numbers = np.random.default_rng(len(shape)).standard_normal(shape)
    return torch.tensor(numbers.astype(dtype), requires_grad=True)


def whole(x: Any, loss: Any, gradient: Any = None) -> Any:
    """The gradient by a pass that is recorded, which makes all gradients whole."""
    return torch.autograd.grad(loss, x, gradient, create_graph=True)[0].detach()


sizes = st.lists(st.integers(1, 4), min_size=0, max_size=2)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(0, 5), classes=st.integers(1, 6), beside=sizes, seed=st.integers(0, 999),
    reduction=st.sampled_from(["mean", "sum", "none"]), ignored=st.sampled_from([-100, 0, 1]),
    is_weighted=st.booleans(), dtype=st.sampled_from([np.float32, np.float64]),
)  # fmt: skip
def test_cross_entropy_has_the_gradient_of_the_general_run(
    rows: int, classes: int, beside: list[int], seed: int, reduction: str, ignored: int,
    is_weighted: bool, dtype: Any,
) -> None:  # fmt: skip
    numbers = np.random.default_rng(seed)
    shape = (rows, classes, *beside) if rows else (classes,)
    x = torch.tensor(numbers.standard_normal(shape).astype(dtype), requires_grad=True)
    target = torch.tensor(numbers.integers(0, classes, (rows, *beside) if rows else ()))
    weight = torch.tensor(numbers.random(classes).astype(dtype)) if is_weighted else None

    def loss() -> Any:
        return functional.cross_entropy(
            x, target, weight, ignore_index=ignored, reduction=reduction
        )

    gradient = torch.ones_like(loss()) * 0.5
    expected = whole(x, loss(), gradient)
    loss().backward(gradient)
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-6, atol=1e-7)


def test_a_loss_of_classes_gives_it_to_log_softmax(crossings: list[str]) -> None:
    x, target = scores(6, 4), torch.tensor([0, 1, 2, 3, 0, 1])
    functional.cross_entropy(x, target).backward()
    functional.nll_loss(functional.log_softmax(x, -1), target, reduction="sum").backward()
    image = scores(2, 3, 4, 4)
    functional.cross_entropy(image, torch.zeros(2, 4, 4, dtype=torch.int64)).backward()
    (functional.cross_entropy(x, target) * 2 + (x * x).sum()).backward()
    assert crossings == ["LogSoftmaxBackward0"] * 4


def test_gather_gives_it_where_it_reads_one_number_of_each_row(crossings: list[str]) -> None:
    x = scores(3, 2, 5)
    one, two = torch.tensor([[[0], [4]], [[1], [2]], [[3], [3]]]), torch.zeros(3, 2, 2).long()

    def chosen(index: Any) -> Any:
        return (functional.log_softmax(x, 2).gather(-1, index) * 3).sum()

    expected = whole(x, chosen(one))
    chosen(one).backward()
    assert crossings == ["LogSoftmaxBackward0"]
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-6, atol=1e-7)
    chosen(two).backward()
    functional.log_softmax(x, 2)[:2].gather(2, one[:1]).sum().backward()
    assert crossings == ["LogSoftmaxBackward0"]


def test_logarithms_that_another_result_needs_get_whole_gradients(crossings: list[str]) -> None:
    x, target = scores(3, 4), torch.tensor([1, 2, 3])

    def loss() -> Any:
        logs = functional.log_softmax(x, 1)
        return functional.nll_loss(logs, target) + (logs * logs).sum()

    def later() -> Any:
        logs = functional.log_softmax(x, 1)
        square = logs * logs
        return functional.nll_loss(logs, target) + square.sum()

    for made in (loss, later):
        x.grad = None
        expected = whole(x, made())
        made().backward()
        np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-6, atol=1e-6)
    assert crossings == []


def test_another_dimension_than_that_of_the_classes() -> None:
    x, target = scores(3, 4), torch.tensor([1, 2, 3])

    def loss() -> Any:
        return functional.nll_loss(functional.log_softmax(x, 0), target)

    expected = whole(x, loss())
    loss().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-6)


def test_targets_of_one_byte_name_places_in_large_images() -> None:
    x = scores(1, 2, 20, 20)
    target = torch.ones(1, 20, 20, dtype=torch.uint8)
    functional.cross_entropy(x, target, reduction="sum").backward()
    shares = functional.softmax(x.detach(), 1).numpy()
    shares[:, 1] -= 1
    np.testing.assert_allclose(x.grad.numpy(), shares, rtol=1e-5)


def test_a_graph_that_is_kept_runs_again() -> None:
    x, target = scores(3, 4), torch.tensor([1, 2, 3])
    loss = functional.cross_entropy(x, target)
    loss.backward(retain_graph=True)
    first = x.grad.clone()
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * first.numpy())
    with pytest.raises(errors.GraphFreed, match="nll_loss was recorded"):
        loss.backward()


def test_what_an_earlier_pass_freed_is_missed_where_it_was_kept() -> None:
    x, target = scores(3, 4), torch.tensor([1, 2, 3])
    logs = functional.log_softmax(x, 1)
    first, second = functional.nll_loss(logs, target), functional.nll_loss(logs, target)
    first.backward()
    with pytest.raises(errors.GraphFreed, match="log_softmax was recorded"):
        second.backward()


def test_logarithms_that_were_changed_are_refused() -> None:
    x, target = scores(3, 4), torch.tensor([1, 2, 3])
    logs = functional.log_softmax(x, 1)
    loss = functional.nll_loss(logs, target)
    logs.detach().zero_()
    with pytest.raises(errors.SavedValueModified, match="LogSoftmax"):
        loss.backward()


def test_rows_that_are_all_ignored_have_gradients_of_zero() -> None:
    """As PyTorch has it: the mean over none is not a number, and its gradient is zero."""
    for shape, target in (((3,), 1), ((2, 3), [1, 1])):
        x = scores(*shape)
        functional.cross_entropy(x, torch.tensor(target), ignore_index=1).backward()
        assert str(x.grad.tolist()) == str(np.zeros(shape).tolist())  # no negative zeros


def test_hooks_on_the_logarithms_see_whole_gradients(crossings: list[str]) -> None:
    x, target, seen = scores(2, 3), torch.tensor([1, 2]), list[Any]()
    logs = functional.log_softmax(x, 1)
    logs.register_hook(lambda g: seen.append(g))
    functional.nll_loss(logs, target).backward()
    assert crossings == []
    assert seen[0].tolist() == [[0, -0.5, 0], [0, 0, -0.5]]
    other = functional.log_softmax(x, 1)
    other.retain_grad()
    functional.nll_loss(other, target, reduction="sum").backward()
    assert crossings == []
    assert other.grad.tolist() == [[0, -1, 0], [0, 0, -1]]


def test_a_pass_to_chosen_tensors_takes_it_too(crossings: list[str]) -> None:
    x, target = scores(3, 4), torch.tensor([1, 2, 3])
    expected = whole(x, functional.cross_entropy(x, target))
    (found,) = torch.autograd.grad(functional.cross_entropy(x, target), x)
    assert crossings == ["LogSoftmaxBackward0"]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6, atol=1e-7)
    logs = functional.log_softmax(x, 1)
    (found,) = torch.autograd.grad(functional.nll_loss(logs, target), logs)
    assert found.tolist()[0] == pytest.approx([0, -1 / 3, 0, 0])


def test_gradients_of_samples_at_once() -> None:
    rows, targets = (
        scores(4, 3, 5).detach(),
        torch.tensor([[0, 1, 4], [2, 2, 2], [3, 0, 1], [4, 4, 0]]),
    )
    found = torch.func.vmap(torch.func.grad(functional.cross_entropy))(rows, targets)
    for row, target, gradient in zip(rows, targets, found, strict=True):
        row = row.clone().requires_grad_()
        expected = whole(row, functional.cross_entropy(row, target))
        np.testing.assert_allclose(gradient.numpy(), expected.numpy(), rtol=1e-6, atol=1e-7)


def test_on_another_device() -> None:
    x, target = scores(3, 4), torch.tensor([1, 2, 3])
    functional.cross_entropy(x, target).backward()
    with torch.cuda.simulate():
        there = x.detach().to("cuda").requires_grad_()
        functional.cross_entropy(there, target.to("cuda")).backward()
        found = there.grad.cpu().numpy()
    np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-6, atol=1e-7)
