"""Tensors of lists: the dtype that numbers of several kinds have together."""

import itertools

import numpy as np
import pytest
import torch

import lamina

# NumPy's bool beside other numbers is refused by PyTorch, and left out.
NUMBERS = [
    1, 2.5, True, 1j, np.int8(1), np.uint8(1), np.float16(1), np.float32(1), np.float64(1),
    np.complex64(1), np.complex128(1),
]  # fmt: skip
NESTED = {
    "arrays": lambda t: [np.ones(2, np.float64), np.ones(2, np.float64)],
    "array and list": lambda t: [np.ones(2, np.int8), [1.5, 2]],
    "tensors": lambda t: [t.tensor(1, dtype=t.int8), t.tensor(2, dtype=t.int8)],
    "tensors and numbers": lambda t: [t.tensor(1.0, dtype=t.float64), 2, 0.5],
    "tensor of one element": lambda t: [t.ones(1, dtype=t.float16)],
    "lists": lambda t: [[np.float64(1)], [2.0]],
    "nothing": lambda t: [[], []],
}


def described(tensor):
    return str(tensor.dtype), tuple(tensor.shape), tensor.tolist()


@pytest.mark.parametrize("function", ["tensor", "as_tensor"])
def test_two_numbers_have_pytorchs_dtype(function):
    for pair in itertools.product(NUMBERS, NUMBERS):
        ours, theirs = (getattr(t, function)(list(pair)) for t in (lamina, torch))

        assert described(ours) == described(theirs), pair


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy.ndarrays:UserWarning")
@pytest.mark.parametrize("name", NESTED)
def test_nested_data_has_pytorchs_dtype(name):
    assert described(lamina.tensor(NESTED[name](lamina))) == described(
        torch.tensor(NESTED[name](torch))
    )
