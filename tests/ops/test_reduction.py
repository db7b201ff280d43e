"""Reductions, running sums, sorting and counting: what the general tests cannot know."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina import errors

NAN = float("nan")


def gradient(function: object, values: object) -> list[float]:
    """The gradient of a number, or of the sum of several."""
    x = lamina.tensor(values, dtype=lamina.float64, requires_grad=True)
    made = function(x)  # type: ignore[operator]
    (made if made.dim() == 0 else made.sum()).backward()
    return x.grad.tolist()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x.sum(0), "SumBackward1"),
        (lambda x: x.sum(dim=None), "SumBackward1"),
        (lambda x: x.mean(), "MeanBackward0"),
        (lambda x: x.mean(-1), "MeanBackward1"),
        (lambda x: x.prod(0), "ProdBackward1"),
        (lambda x: x.max(), "MaxBackward1"),
        (lambda x: x.max(0).values, "MaxBackward0"),
        (lambda x: x.median(), "MedianBackward0"),
        (lambda x: x.norm(), "LinalgVectorNormBackward0"),
    ],
)
def test_nodes_have_the_names_that_pytorch_gives(call: object, name: str) -> None:
    made = call(lamina.ones(2, 3, requires_grad=True))  # type: ignore[operator]
    assert type(made.grad_fn).__name__ == name


def test_integers_and_truth_values_are_summed_as_int64() -> None:
    assert lamina.ones(3, dtype=lamina.int8).sum().dtype is lamina.int64
    assert lamina.ones(3, dtype=lamina.bool).cumsum(0).tolist() == [1, 2, 3]
    assert lamina.full((4,), 100, dtype=lamina.uint8).prod().item() == 100_000_000


@pytest.mark.parametrize("shape", [(200_000, 3), (5_000, 40)])
def test_low_precision_sums_stay_accurate_along_every_axis(shape: tuple[int, int]) -> None:
    values = np.random.default_rng(0).random(shape, dtype=np.float32)
    expected = values.astype(np.float64)
    x = lamina.from_numpy(values)
    assert np.allclose(x.sum(0).numpy(), expected.sum(0), rtol=1e-6, atol=0)
    assert np.allclose(x.cumsum(0).numpy(), expected.cumsum(0), rtol=1e-6, atol=0)
    assert np.allclose(x.var(0).numpy(), expected.var(0, ddof=1), rtol=1e-5, atol=0)


def test_a_zero_is_no_exception_for_the_derivatives_of_products() -> None:
    assert gradient(lambda x: x.prod(), [2.0, 0.0, 3.0]) == [0.0, 6.0, 0.0]
    assert gradient(lambda x: x.prod(), [2.0, 0.0, 0.0]) == [0.0, 0.0, 0.0]
    # d/dx of x1 + x1 x2 + x1 x2 x3
    assert gradient(lambda x: x.cumprod(0), [2.0, 0.0, 3.0]) == [1.0, 8.0, 0.0]


def test_equal_extremes_share_the_gradient_but_a_place_is_one_place() -> None:
    assert gradient(lambda x: x.max(), [1.0, 5.0, 5.0]) == [0.0, 0.5, 0.5]
    assert gradient(lambda x: x.amin(0), [1.0, 1.0, 5.0]) == [0.5, 0.5, 0.0]
    assert gradient(lambda x: x.max(0).values, [1.0, 5.0, 5.0]) == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("ord", [1, 2, 3, 0.5, float("inf")])
def test_a_norm_has_gradient_zero_at_zero(ord: float) -> None:
    assert gradient(lambda x: lamina.norm(x, ord), [0.0, 0.0]) == [0.0, 0.0]


def test_the_standard_deviation_of_equal_numbers_has_gradient_zero() -> None:
    assert gradient(lambda x: x.std(), [2.0, 2.0]) == [0.0, 0.0]


def test_nan_wins() -> None:
    x = lamina.tensor([[1.0, NAN, 3.0]])
    assert x.max(1).indices.item() == x.min(1).indices.item() == x.argmax().item() == 1
    assert x.median(1).indices.item() == 1
    assert x.nanmedian().item() == 1.0
    assert x.nansum().item() == 4.0
    assert x.nanmean().item() == 2.0
    assert x.sort(descending=True).indices.tolist() == [[1, 2, 0]]


def test_max_has_three_forms() -> None:
    x = lamina.tensor([[1, 5], [7, 3]])
    assert x.max().item() == 7
    values, indices = x.max(dim=1)
    assert (values.tolist(), indices.tolist()) == ([5, 7], [1, 0])
    assert x.max(lamina.tensor(4)).tolist() == [[4, 5], [7, 4]]


def test_a_named_result_prints_its_parts() -> None:
    assert repr(lamina.tensor([3, 1, 2]).max(0)) == (
        "torch.return_types.max(\nvalues=tensor(3),\nindices=tensor(0))"
    )


def test_dimensions_have_numpy_names_too() -> None:
    x = lamina.ones(2, 3)
    assert x.sum(axis=1, keepdims=True).shape == (2, 1)
    assert x.argmax(axis=1).shape == (2,)


@pytest.mark.parametrize(
    ("call", "kind", "phrase"),
    [
        (lambda x: x.sum(2), errors.DimensionOutOfRange, "range of [-2, 1], but got 2"),
        (lambda x: x.sum((0, -2)), errors.InvalidArgument, "dim 0 appears multiple times"),
        (lambda x: x.long().mean(), errors.DtypeError, "could not infer output dtype"),
        (lambda x: x[:0].max(), errors.EmptyReduction, "numel() == 0"),
        (lambda x: x[:0].max(0), errors.IndexOutOfRange, "to have non-zero size"),
        (lambda x: x.topk(4), errors.InvalidArgument, "selected index k out of range"),
        (lambda x: x.kthvalue(4), errors.InvalidArgument, "selected number k out of range"),
        (lambda x: x.quantile(1.5), errors.InvalidArgument, "must be in the range [0, 1]"),
    ],
)
def test_bad_calls_are_refused(call: object, kind: type[Exception], phrase: str) -> None:
    with pytest.raises(kind) as caught:
        call(lamina.ones(2, 3))  # type: ignore[operator]
    assert phrase in str(caught.value)


def test_equal_elements_keep_their_order_when_sorted() -> None:
    x = lamina.tensor([1, 0, 1, 0])
    assert x.argsort().tolist() == [1, 3, 0, 2]
    assert x.argsort(descending=True).tolist() == [0, 2, 1, 3]


def test_searches_run_in_every_row() -> None:
    rows = lamina.tensor([[1, 3, 5], [2, 4, 6]])
    found = lamina.searchsorted(rows, lamina.tensor([[3, 9], [3, 0]]), right=True)
    assert found.tolist() == [[2, 3], [1, 0]]


def test_runs_and_different_elements() -> None:
    x = lamina.tensor([2, 2, 1, 2])
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2], [1, 1, 0, 1], [1, 3])
    values, counts = x.unique_consecutive(return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([2, 1, 2], [2, 1, 1])


def test_in_place_sums_know_their_history() -> None:
    x = lamina.ones(3, requires_grad=True)
    (x * 1).cumsum_(0).sum().backward()
    assert x.grad.tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, float("inf")])
def test_renorm_bounds_the_norm_of_each_slice(p):
    values = [[[3.0, -4.0], [1.0, 2.0]], [[0.1, 0.1], [0.2, -0.1]]]
    x = lamina.tensor(values, dtype=lamina.float64)
    found = lamina.renorm(x, p, 0, 2.0)
    norms = np.linalg.norm(x.numpy().reshape(2, 4), p, axis=1)
    assert norms[0] > 2 > norms[1]
    scale = np.where(norms > 2, 2 / (norms + 1e-7), 1).reshape(2, 1, 1)
    np.testing.assert_allclose(found.numpy(), x.numpy() * scale, rtol=1e-12)
