"""How results lie in memory, strides, and writing to memory that NumPy protects."""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import all_chapters  # noqa: F401  the whole catalogue
import numpy as np
import pytest

import lamina
from lamina.core.op import catalogue, traced
from lamina.core.samples import Make

# PyTorch's results lie otherwise too, or the operation is no public one.
LIES_OTHERWISE = {"contract", "copy", "linalg_svd", "rot90", "spread"}
FRESH = [
    name
    for name, op in catalogue.items()
    if op.samples is not None and not op.is_view and name not in LIES_OTHERWISE
]


def as_tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return lamina.tensor(value)
    if type(value) is list:
        return [as_tensors(item) for item in value]
    return value


@pytest.mark.parametrize("name", sorted(FRESH))
def test_results_lie_row_by_row(name: str) -> None:
    op = catalogue[name]
    for sample in op.samples(Make(zlib.crc32(name.encode()))):
        arguments = map(as_tensors, sample.args)
        named = {key: as_tensors(value) for key, value in sample.kwargs.items()}
        made = getattr(traced, name)(*arguments, **named)
        for tensor in made if isinstance(made, list | tuple) else [made]:
            assert tensor is None or tensor.is_contiguous()


def test_transposed_convolutions_can_be_seen_as_rows() -> None:
    x, weight = lamina.ones(1, 1, 3, 3), lamina.ones(1, 1, 3, 3)
    assert lamina.conv_transpose2d(x, weight, padding=1).view(-1).shape == (9,)


def test_strides_of_empty_tensors_and_of_dimensions_of_size_one() -> None:
    y = lamina.zeros(3, 4)
    assert lamina.zeros(0, 3).stride() == (lamina.zeros(0, 3) + 1).stride() == (3, 1)
    assert lamina.zeros(2, 0, 3).stride() == (3, 3, 1)
    assert y[None].stride() == (12, 4, 1)
    assert y.unsqueeze(-1).stride() == (4, 1, 1)
    assert y.sum(1, keepdim=True).stride() == (1, 1)
    assert lamina.zeros(1, 3).expand(2, 3).stride() == (0, 1)
    with pytest.raises(IndexError):
        y.stride(2)


WRITES = {
    "ufunc": lambda t: t.add_(1),
    "zero_": lambda t: t.zero_(),
    "fill_": lambda t: t.fill_(3),
    "item": lambda t: t.__setitem__((0, 1), 1),
    "mask": lambda t: t.__setitem__(t > 0, 1),
    "copy_": lambda t: t.copy_(lamina.zeros(2, 3)),
    "view": lambda t: t[0].mul_(2),
    "out": lambda t: lamina.add(t, 1, out=t),
    "random": lambda t: t.uniform_(),
    "index": lambda t: t.index_add_(0, lamina.tensor([0]), lamina.ones(1, 3)),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_writing_to_protected_memory_says_what_it_is(name: str) -> None:
    array = np.ones((2, 3), np.float32)
    array.flags.writeable = False
    tensor = lamina.from_numpy(array)
    with pytest.raises(ValueError, match="read-only") as caught:
        WRITES[name](tensor)
    assert isinstance(caught.value, lamina.errors.LaminaError)
    assert "clone()" in str(caught.value)
    assert (array == 1).all()


def test_out_that_has_elements_is_resized_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"has shape \[2\] and elements") as caught:
        lamina.add(lamina.ones(3), 1, out=lamina.ones(2))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lamina.add(lamina.ones(3), 1, out=lamina.ones(0))
        lamina.zeros(3, out=lamina.ones(2))


def test_numbers_of_tensors_that_require_grad() -> None:
    t = lamina.tensor(1.5, requires_grad=True)
    for convert in (float, complex):
        with pytest.warns(lamina.errors.ScalarConversionWarning, match="requires_grad=True") as w:
            convert(t)
        assert w[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert int(t) == 1
        assert bool(t)
        assert (t.item(), t.tolist(), f"{t:.1f}") == (1.5, 1.5, "1.5")
        with lamina.no_grad():
            float(t)


def test_what_has_no_derivative_yet_says_so_in_backward() -> None:
    a = lamina.eye(2).requires_grad_()
    for made in (lamina.geqrf(a)[0], lamina.bincount(lamina.tensor([0, 1]), a[0])):
        with pytest.raises(NotImplementedError, match="derivative"):
            made.sum().backward()


def test_counts_and_slopes_are_drawn_from_the_stream_as_in_pytorch() -> None:
    lamina.random.manual_seed(3)
    rates = lamina.tensor([0.5, 3, 5, 11, 20, 100, 0])
    assert lamina.poisson(rates).tolist() == [0, 2, 6, 12, 13, 101, 0]
    assert lamina.rand(2).tolist() == [0.2659062147140503, 0.5096188187599182]
    lamina.random.manual_seed(3)
    made = lamina.nn.functional.rrelu(lamina.tensor([-1.0, 1, -1, 1, -1]), training=True)
    expected = [-0.13210587203502655, 1.0, -0.18473754823207855, 1.0, -0.28602394461631775]
    assert made.tolist() == expected
    with pytest.raises(RuntimeError, match="non-negative"):
        lamina.poisson(lamina.tensor([-1.0]))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (8, 16, 32, 64)], ids=["small", "large"])
def test_softmax_of_a_permuted_tensor_is_row_major(name, sizes):
    permuted = lamina.rand(*sizes).permute(0, 2, 3, 1)
    result = getattr(lamina, name)(permuted, -1)
    assert result.is_contiguous()
    assert lamina.allclose(result, getattr(lamina, name)(permuted.contiguous(), -1))
