"""`summary`: what it tells is counted by hand."""

import math

import numpy as np
import pytest

import lamina
from lamina import nn


def test_a_tensor_with_holes():
    found = lamina.summary(lamina.tensor([[1.0, -3.0, 0.0], [math.nan, math.inf, 5.0]]))
    assert (found.low, found.high, found.mean) == (-3.0, 5.0, 0.75)
    assert (found.nans, found.infinities, found.zeros) == (1, 1, 1)
    assert found.std == pytest.approx(np.std([1.0, -3.0, 0.0, 5.0]))


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (lambda: lamina.tensor(3), "int64[]: 3"),
        (lambda: lamina.zeros(0, 3), "float32[0, 3]: []"),
        (lambda: lamina.tensor([True, False]), "bool[2], n=2 (2 bytes), 1 zeros: [True, False]"),
        (
            lambda: lamina.zeros(20, dtype=lamina.float64),
            "float64[20], n=20 (160 bytes), from 0 to 0, mean 0, std 0, all zeros",
        ),
        (lambda: lamina.full((12,), math.nan), "float32[12], n=12 (48 bytes), all NaN"),
        (lambda: lamina.ones(3, device="meta"), "float32[3], n=3 (12 bytes), meta"),
        (
            lambda: lamina.ones(1, requires_grad=True),
            "float32[1], leaf that requires grad: [1.0]",
        ),
        (
            lambda: lamina.ones(1, requires_grad=True) * 2,
            "float32[1], by MulBackward0: [2.0]",
        ),
    ],
)
def test_the_line_of_a_tensor(tensor, text):
    assert str(lamina.summary(tensor())) == text


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
        self.head = nn.Linear(8, 2)
        self.again = self.head
        self.body[0].requires_grad_(False)

    def forward(self, x):
        return self.head(self.body(x)), x


def test_a_model_is_counted_once_and_left_as_it_was():
    model = Tied().train()
    lamina.manual_seed(1)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = lamina.get_rng_state()
    found = lamina.summary(model, lamina.ones(3, 4))
    assert (found.parameters, found.trained) == (40 + 16 + 18, 16 + 18)
    assert found.buffers == 8 + 8 + 1
    assert found.nbytes == 4 * (74 + 16) + 8
    assert all(layer.training for layer in model.modules())
    assert not any(layer._forward_hooks for layer in model.modules())
    assert lamina.equal(lamina.get_rng_state(), state)
    for name, value in model.state_dict().items():
        assert lamina.equal(value, before[name])
    by_path = {layer.path: layer for layer in found.layers}
    assert by_path[""].output == "[3, 2], [3, 4]"
    assert by_path["body.0"].output == "[3, 8]"
    assert by_path["again"].seen_before == "head"
    assert "40 frozen" in str(found)


def test_a_call_that_fails_leaves_the_model_as_it_was():
    model = Tied().train()
    with pytest.raises(RuntimeError):
        lamina.summary(model, lamina.ones(3, 5))
    assert all(layer.training for layer in model.modules())
    assert not any(layer._forward_hooks for layer in model.modules())


def test_without_inputs_no_shapes_are_told():
    assert {layer.output for layer in lamina.summary(Tied()).layers} == {""}


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="not of int"):
        lamina.summary(3)
