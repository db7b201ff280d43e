"""Muon's matrices, computed on arrays and on tensors."""

import numpy as np
import pytest

import lamina
from lamina.optim import muon

pytest.importorskip("ml_dtypes")


@pytest.mark.parametrize("shape", [(4, 4), (100, 100), (64, 100), (130, 30), (1, 5), (33, 257)])
@pytest.mark.parametrize("coefficients", [(3.4445, -4.775, 2.0315), (2, -1.5, 0.5), (1.5, -0.5, 1)])
@pytest.mark.parametrize("scale", [1, 1e-9, 1e3])
def test_both_ways_give_the_same_bits(shape, coefficients, scale):
    lamina.manual_seed(1)
    grad = lamina.randn(shape) * scale
    with np.errstate(all="ignore"):
        found = muon._orthogonalized_array(grad.numpy(), coefficients, 5, 1e-7)
    expected = muon._orthogonalized(grad, coefficients, 5, 1e-7)
    assert expected.dtype is lamina.bfloat16
    np.testing.assert_array_equal(found, expected.float().numpy())
