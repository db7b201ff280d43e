"""Lazy layers, and the parameters without a shape that they have."""

import copy
import pickle

import pytest

import lamina as torch
from lamina import nn
from lamina.nn.parameter import UninitializedParameter, is_lazy


def test_a_parameter_without_a_shape():
    weight = UninitializedParameter(dtype=torch.float64)
    assert repr(weight) == "<UninitializedParameter>"
    assert isinstance(weight, nn.Parameter)
    assert is_lazy(weight)
    assert weight.requires_grad
    assert weight.dtype == torch.float64
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        weight + 1
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        weight.numel()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        weight.shape  # noqa: B018


def test_materializing_keeps_the_object():
    weight = UninitializedParameter()
    weight.materialize((2, 3))
    assert weight.shape == (2, 3)
    assert isinstance(weight, nn.Parameter)
    assert not is_lazy(weight)
    nn.init.ones_(weight)
    (weight * 2).sum().backward()
    assert weight.grad.tolist() == [[2.0] * 3] * 2


def test_the_first_call_makes_a_lazy_layer_a_plain_one():
    layer = nn.LazyLinear(3)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.ones(2, 4)).sum().backward()
    before = layer.weight.detach().clone()
    optimizer.step()
    assert type(layer) is nn.Linear
    assert layer.in_features == 4
    assert bool((layer.weight == before - 0.1 * 2).all())


def test_converting_before_the_first_call():
    layer = nn.LazyConv2d(3, 2).double()
    assert layer.weight.dtype == torch.float64
    assert layer(torch.ones(1, 2, 4, 4).double()).dtype == torch.float64


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_lazy_too(copied):
    twin = copied(nn.LazyLinear(3))
    assert is_lazy(twin.weight)
    assert twin(torch.ones(2)).shape == (3,)


def test_loading_values_gives_shapes():
    layer, source = nn.LazyLinear(3), nn.Linear(4, 3)
    assert str(layer.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert torch.equal(layer.weight, source.weight)
    assert torch.equal(layer(torch.ones(4)), source(torch.ones(4)))
    assert repr(layer) == repr(source)


def test_loading_into_a_lazy_norm_and_convolution():
    for lazy, plain, x in (
        (nn.LazyBatchNorm1d(), nn.BatchNorm1d(2), torch.ones(3, 2)),
        (nn.LazyConv1d(4, 2, groups=2), nn.Conv1d(6, 4, 2, groups=2), torch.ones(6, 5)),
        (nn.LazyConvTranspose1d(4, 2), nn.ConvTranspose1d(6, 4, 2), torch.ones(6, 5)),
    ):
        lazy.load_state_dict(plain.state_dict())
        lazy.eval()(x)
        assert repr(lazy) == repr(plain)


def test_a_lazy_state_does_not_fit_a_plain_layer():
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        nn.Linear(4, 3).load_state_dict(nn.LazyLinear(3).state_dict())
    empty = nn.LazyLinear(3)
    empty.load_state_dict(nn.LazyLinear(3).state_dict())
    assert is_lazy(empty.weight)


def test_input_of_the_wrong_number_of_dimensions():
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input"):
        nn.LazyConv2d(3, 2)(torch.ones(2, 3))


class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
    """A lazy module of a user's own, which keeps its class."""

    def __init__(self):
        super().__init__()
        self.weight = UninitializedParameter()

    def initialize_parameters(self, x):
        self.weight.materialize((x.shape[-1],))
        nn.init.ones_(self.weight)

    def forward(self, x):
        return x * self.weight


def test_a_lazy_module_of_ones_own():
    module = Scale()
    assert module(torch.ones(3)).tolist() == [1.0] * 3
    assert type(module) is Scale
    assert not module.has_uninitialized_params()


def test_a_lazy_module_that_leaves_something_open():
    class Forgetful(Scale):
        def initialize_parameters(self, x):
            pass

    with pytest.raises(RuntimeError, match="module Forgetful has not been fully initialized"):
        Forgetful()(torch.ones(3))
