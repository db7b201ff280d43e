"""Mantissas, exponents and neighbours, against Python's `math`."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina as torch

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_frexp_is_pythons(number):
    found = torch.frexp(torch.tensor(number, dtype=torch.float64))
    assert (found.mantissa.item(), found.exponent.item()) == math.frexp(number)
    assert found.exponent.dtype is torch.int32


@given(finite, finite)
def test_nextafter_is_pythons(number, towards):
    x, y = (torch.tensor(value, dtype=torch.float64) for value in (number, towards))
    assert torch.nextafter(x, y).item() == math.nextafter(number, towards)


@pytest.mark.parametrize(
    ("dtype", "above_one"), [(torch.float16, 1 + 2**-10), (torch.float32, 1 + 2**-23)]
)
def test_the_next_number_is_that_of_the_dtype(dtype, above_one):
    x = torch.ones(1, dtype=dtype)
    assert x.nextafter(x * 2).tolist() == [above_one]


def test_the_next_bfloat16():
    pytest.importorskip("ml_dtypes")
    x = torch.ones(1, dtype=torch.bfloat16)
    assert x.nextafter(x * 2).float().tolist() == [1 + 2**-7]


def test_numbers_without_an_exponent_keep_themselves():
    mantissa, exponent = torch.frexp(torch.tensor([0.0, math.inf, math.nan]))
    np.testing.assert_array_equal(mantissa.numpy(), np.float32([0.0, np.inf, np.nan]))
    assert exponent.tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_gradient_of_a_mantissa_is_a_power_of_two(dtype):
    x = torch.tensor([1.0, 3.0, -20.0], dtype=dtype, requires_grad=True)
    torch.frexp(x).mantissa.sum().backward()
    assert x.grad.dtype is dtype
    assert x.grad.tolist() == [0.5, 0.25, 2**-5]
