"""Clipping gradients; parameters as one vector."""

import math

import pytest

import lamina as torch
from lamina import nn
from lamina.nn import utils


def with_grads(*values):
    made = []
    for value in values:
        parameter = nn.Parameter(torch.zeros(len(value)))
        parameter.grad = torch.tensor(value)
        made.append(parameter)
    return made


def test_clipping_by_norm():
    parameters = with_grads([3.0], [0.0, 4.0])
    total = utils.clip_grad_norm_(parameters, 1.0)
    assert total.item() == pytest.approx(5.0)
    assert parameters[0].grad.item() == pytest.approx(0.6, rel=1e-5)
    assert parameters[1].grad.tolist() == pytest.approx([0.0, 0.8], rel=1e-5)


def test_small_gradients_are_not_stretched():
    (parameter,) = with_grads([0.3, 0.4])
    utils.clip_grad_norm_(parameter, 1.0)
    assert parameter.grad.tolist() == pytest.approx([0.3, 0.4])


@pytest.mark.parametrize(("order", "norm"), [(1.0, 7.0), (math.inf, 4.0), (2.0, 5.0)])
def test_other_norms(order, norm):
    assert utils.clip_grad_norm_(with_grads([3.0], [4.0]), 100.0, order).item() == norm


def test_nothing_to_clip():
    assert utils.clip_grad_norm_([nn.Parameter(torch.ones(1))], 1.0).item() == 0.0


def test_norm_that_is_not_finite():
    parameters = with_grads([math.inf])
    with pytest.raises(RuntimeError, match="non-finite"):
        utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)


def test_clipping_by_value():
    (parameter,) = with_grads([-3.0, 0.5, 3.0])
    utils.clip_grad_value_([parameter], 1.0)
    assert parameter.grad.tolist() == [-1.0, 0.5, 1.0]


def test_vector_and_back():
    layer = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (9,)
    utils.vector_to_parameters(torch.arange(9.0), layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert layer.bias.tolist() == [6.0, 7.0, 8.0]
    assert isinstance(layer.weight, nn.Parameter)
