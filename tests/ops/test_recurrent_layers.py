"""Recurrent layers as one operation: what else must work on them than values and gradients."""

import numpy as np
import pytest

import lamina
from lamina import nn
from lamina.core.capture import capture
from lamina.func import functional_call, grad, jvp, vmap

KINDS = ["RNN", "GRU", "LSTM"]


def layer_of(kind, *args, **options):
    lamina.manual_seed(0)
    return getattr(nn, kind)(*args, **options)


def names_of_nodes(tensor):
    names, pending = set(), [tensor.grad_fn]
    while pending:
        node = pending.pop()
        if node is not None:
            names.add(type(node).__name__)
            pending += [following for following, _ in node.next_functions]
    return names


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_one_node_however_long_the_sequence(kind):
    output, _ = layer_of(kind, 3, 4)(lamina.randn(50, 2, 3))
    name = {"LSTM": "MkldnnRnnLayer", "GRU": "GruLayer", "RNN": "RnnLayer"}[kind]
    assert names_of_nodes(output) == {f"{name}Backward0", "AccumulateGrad"}


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_may_be_changed_in_place(kind):
    layer, x = layer_of(kind, 3, 4), lamina.randn(5, 2, 3)
    layer(x)[0].relu().sum().backward()
    expected = [parameter.grad.clone() for parameter in layer.parameters()]
    layer.zero_grad()
    output, _ = layer(x)
    output.relu_().sum().backward()
    for parameter, gradient in zip(layer.parameters(), expected, strict=True):
        assert lamina.equal(parameter.grad, gradient)


@pytest.mark.parametrize("kind", KINDS)
def test_without_gradients_nothing_is_kept(kind):
    layer = layer_of(kind, 3, 4)
    weights = dict(
        zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), layer.parameters(), strict=True)
    )
    state = (lamina.zeros(2, 4),) * (2 if kind == "LSTM" else 1)
    operation = getattr(lamina.core.op.traced, f"{kind.lower()}_layer")
    given = [lamina.randn(5, 2, 3), *weights.values(), None, state[0], (*state, None)[1]]
    kept = [operation(*given, layer.mode, None, False, keeps)[2] for keeps in (False, True)]
    assert [part.shape[0] for part in kept] == [0, 10]


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_derivatives(kind):
    layer = layer_of(kind, 2, 3, bidirectional=True).double()
    x = lamina.randn(3, 2, 2, dtype=lamina.float64, requires_grad=True)
    assert lamina.autograd.gradgradcheck(lambda x: layer(x)[0], (x,))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_each_sample(kind):
    layer = layer_of(kind, 3, 4).double()
    samples = lamina.randn(3, 5, 3, dtype=lamina.float64)

    def loss(parameters, x):
        return functional_call(layer, parameters, (x[None],))[0].pow(2).sum()

    parameters = dict(layer.named_parameters())
    found = vmap(grad(loss), in_dims=(None, 0))(parameters, samples)
    for k, sample in enumerate(samples):
        for name, gradient in grad(loss)(parameters, sample).items():
            assert lamina.allclose(found[name][k], gradient)


@pytest.mark.parametrize("kind", KINDS)
def test_forward_mode(kind):
    layer = layer_of(kind, 3, 4).double()
    x, direction = lamina.randn(2, 5, 2, 3, dtype=lamina.float64).unbind(0)

    def loss(x):
        return layer(x)[0].pow(2).sum()

    _, slope = jvp(loss, (x,), (direction,))
    step = 1e-6 * direction
    expected = (loss(x + step) - loss(x - step)) / 2e-6
    assert slope.item() == pytest.approx(expected.item(), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_on_saved_tensors(kind):
    layer, x = layer_of(kind, 3, 4), lamina.randn(5, 2, 3)
    layer(x)[0].sum().backward()
    expected = layer.weight_hh_l0.grad.clone()
    layer.zero_grad()
    packed = []

    def pack(tensor):
        packed.append(tuple(tensor.shape))
        return tensor.detach().clone()

    with lamina.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output, _ = layer(x)
    output.sum().backward()
    assert (5, 2, 3) in packed
    assert lamina.equal(layer.weight_hh_l0.grad, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_recorded_layer_is_one_step(kind):
    layer, x = layer_of(kind, 3, 4), lamina.randn(5, 2, 3)
    with capture() as recorder:
        layer(x)
    text = str(recorder)
    assert text.count("walk_forward") == 1
    assert "matmul" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_autocast_decides_for_each_step(kind):
    with lamina.autocast("cpu"):
        output, _ = layer_of(kind, 3, 4)(lamina.randn(5, 2, 3))
    assert names_of_nodes(output) & {"MmBackward0", "AddmmBackward0", "ViewBackward0"}


@pytest.mark.parametrize("kind", KINDS)
def test_states_of_another_dtype_are_refused(kind):
    state = lamina.zeros(1, 2, 4, dtype=lamina.float64)
    with pytest.raises(RuntimeError, match="must have the same dtype"):
        layer_of(kind, 3, 4)(lamina.randn(5, 2, 3), (state, state) if kind == "LSTM" else state)


def test_an_input_of_no_columns():
    output, _ = layer_of("GRU", 0, 4)(lamina.zeros(5, 2, 0))
    assert np.isfinite(output.detach().numpy()).all()
