"""Indexing: what is read, what is written, what stays as it was when an index is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamina
from lamina import Tensor, errors


def table() -> Tensor:
    return lamina.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ((1, 2), 6.0),
        ((slice(1, None), -1), [7.0, 11.0]),
        (([0, 2], [1, 3]), [1.0, 11.0]),
        (lamina.tensor([2, -3]), [[8.0, 9.0, 10.0, 11.0], [0.0, 1.0, 2.0, 3.0]]),
        ((slice(None), [0, 0]), [[0.0, 0.0], [4.0, 4.0], [8.0, 8.0]]),
        ((..., lamina.tensor([True, False, False, True])), [[0.0, 3.0], [4.0, 7.0], [8.0, 11.0]]),
        ((True, 0, 0), [0.0]),
        ((lamina.tensor(1), lamina.tensor(2)), 6.0),
        ([], []),
    ],
)
def test_read(index: Any, expected: Any) -> None:
    assert table()[index].tolist() == expected


def test_index_arrays_apart_from_each_other_go_first_but_integers_do_not_count() -> None:
    x = lamina.zeros(2, 3, 4)
    pair = lamina.tensor([0, 1])
    assert x[pair, :, pair].shape == (2, 3)
    assert x[0, :, pair].shape == (3, 2)
    assert x[:, None, pair].shape == (2, 1, 2, 4)


@pytest.mark.parametrize(
    ("index", "error", "phrase"),
    [
        (3, errors.IndexOutOfRange, "index 3 is out of bounds for dimension 0 with size 3"),
        ((0, -5), errors.IndexOutOfRange, "index -5 is out of bounds for dimension 1 with size 4"),
        ([0, 7], errors.IndexOutOfRange, "index 7 is out of bounds for dimension 0 with size 3"),
        ((0, 0, 0), errors.InvalidIndex, "too many indices for tensor of dimension 2"),
        (0.5, errors.InvalidIndex, "only integers, slices"),
        (lamina.tensor([0.5]), errors.InvalidIndex, "tensors used as indices must be long, int"),
        (lamina.tensor([True]), errors.InvalidIndex, r"The shape of the mask \[1\] at index 0"),
        (slice(None, None, -1), errors.InvalidValue, "step must be greater than zero"),
        (([0, 1], [0, 1, 2]), errors.InvalidIndex, "shape mismatch: indexing tensors"),
    ],
)
def test_a_refused_index_changes_nothing(index: Any, error: type[Exception], phrase: str) -> None:
    x = table()
    with pytest.raises(error, match=phrase):
        x[index]
    with pytest.raises(error, match=phrase):
        x[index] = 5
    assert lamina.equal(x, table())
    assert x._version == 0


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(0, lamina.ones(3)),
        lambda x: x.__setitem__(x > 3, lamina.ones(3)),
        lambda x: x.copy_(lamina.ones(5)),
        lambda x: x.fill_(1j),
        lambda x: x.index_add_(0, lamina.tensor([9]), lamina.ones(1, 4)),
        lambda x: x.index_copy_(0, lamina.tensor([0]), lamina.ones(1, 4).double()),
        lambda x: x.scatter_(0, lamina.tensor([[3]]), 1.0),
        lambda x: x.scatter_add_(1, lamina.tensor([[0, 4]]), lamina.ones(1, 2)),
        lambda x: x.masked_fill_(lamina.ones(3, 4), 1.0),
        lambda x: x.masked_scatter_(x > 3, lamina.ones(2)),
        lambda x: x.put_(lamina.tensor([0, 99]), lamina.ones(2)),
        lambda x: x.index_put_((lamina.tensor([0, 9]),), lamina.ones(()), accumulate=True),
    ],
)
def test_a_failing_write_changes_nothing(write: Callable[[Tensor], Any]) -> None:
    x = table()
    with pytest.raises((RuntimeError, IndexError)):
        write(x)
    assert lamina.equal(x, table())
    assert x._version == 0


def test_written_values_take_the_dtype_of_the_tensor() -> None:
    x = lamina.zeros(3, dtype=lamina.int64)
    x[0], x[1] = 1.7, lamina.tensor(2.9)
    assert x.tolist() == [1, 2, 0]
    with pytest.raises(errors.InvalidArgument, match="without overflow"):
        x[0] = float("nan")


def test_assignment_is_part_of_the_graph() -> None:
    """`y[i] = x` with a plain y makes y part of the graph of x."""
    x = lamina.tensor([2.0, 3.0], requires_grad=True)
    y = lamina.zeros(2, 2)
    y[1] = x * x
    y[0, lamina.tensor([0, 1])] = x
    assert not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]


def test_gradients_of_repeated_indices_add_up() -> None:
    x = lamina.ones(3, requires_grad=True)
    x[lamina.tensor([0, 0, 2, 0])].sum().backward()
    assert x.grad.tolist() == [3.0, 0.0, 1.0]
    rows = lamina.nn.functional.embedding(
        lamina.tensor([1, 1, 0]), weight := lamina.ones(2, 2, requires_grad=True), padding_idx=0
    )
    rows.sum().backward()
    assert weight.grad.tolist() == [[0.0, 0.0], [2.0, 2.0]]


def test_accumulation_into_a_column_major_gradient() -> None:
    """The gradient arrives transposed; what is added must not be lost in a copy."""
    x = lamina.ones(3, 2, requires_grad=True)
    picked = x[lamina.tensor([0, 0])]
    (picked.t() * lamina.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [[3.0, 7.0], [0.0, 0.0], [0.0, 0.0]]


def test_scatter_reductions_share_the_gradient_of_ties() -> None:
    x = lamina.tensor([1.0, 5.0], requires_grad=True)
    source = lamina.tensor([1.0, 1.0, 2.0], requires_grad=True)
    index = lamina.tensor([0, 0, 1])
    largest = x.scatter_reduce(0, index, source, "amax")
    largest.sum().backward()
    assert largest.tolist() == [1.0, 5.0]
    assert x.grad.tolist() == pytest.approx([1 / 3, 1.0])
    assert source.grad.tolist() == pytest.approx([1 / 3, 1 / 3, 0.0])


def test_rows_of_an_iteration_may_not_be_written_to() -> None:
    y = lamina.ones(2, 2, requires_grad=True) * 1
    for row in y:
        with pytest.raises(errors.MultiViewModified):
            row.mul_(2)


def test_an_index_on_the_host_serves_a_tensor_on_a_device() -> None:
    with lamina.cuda.simulate():
        x = table().to("cuda")
        assert x[lamina.tensor([0, 2])].cpu().tolist() == table()[[0, 2]].tolist()
        x[lamina.tensor([1])] = 0
        assert x[1].sum().item() == 0
