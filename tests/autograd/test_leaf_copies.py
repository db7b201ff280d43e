"""Copies of computed tensors: `pickle` and `copy.copy` give leaves, `deepcopy` refuses."""

import copy
import pickle

import pytest

import lamina


@pytest.mark.parametrize("copied", [copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
def test_the_copy_of_a_computed_tensor_is_a_leaf(copied):
    x = lamina.ones(2, requires_grad=True) * 2
    y = copied(x)
    assert y.tolist() == [2.0, 2.0]
    assert (y.requires_grad, y.is_leaf, y.grad_fn) == (True, True, None)


def test_deepcopy_refuses():
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(lamina.ones(2, requires_grad=True) * 2)
