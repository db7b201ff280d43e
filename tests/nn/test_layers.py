"""Layers, losses and initialisers against PyTorch's recorded answers."""

import ast
import json
from pathlib import Path

import pytest

import lamina as torch
from lamina import nn

RECORDED = json.loads(Path(__file__).with_name("recorded_nn.json").read_text(encoding="utf-8"))


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def assert_close(found, expected, tolerance=1e-5):
    """Compare tensors, or tuples of them, with nested lists of numbers."""
    if isinstance(found, tuple):
        assert len(found) == len(expected)
        for part, wanted in zip(found, expected, strict=True):
            assert_close(part, wanted, tolerance)
        return
    wanted = torch.tensor(expected).to(dtype=found.dtype)
    assert found.shape == wanted.shape
    assert torch.allclose(found.detach(), wanted, rtol=tolerance, atol=tolerance)


def made(case):
    torch.manual_seed(3)
    kwargs = ast.literal_eval(case["kwargs"])
    return getattr(nn, case["name"])(*ast.literal_eval(case["args"]), **kwargs)


@named(RECORDED["layers"])
def test_first_state_and_repr(case):
    """After one seed a layer starts with PyTorch's numbers, and prints as it does."""
    layer = made(case)
    assert repr(layer) == case["repr"]
    state = layer.state_dict()
    assert list(state) == list(case["state"])
    for key, expected in case["state"].items():
        assert_close(state[key], expected, 1e-6)


@named(RECORDED["layers"])
def test_forward_backward_and_eval(case):
    """Output, gradients and output in evaluation mode are PyTorch's."""
    layer = made(case)
    x = torch.tensor(case["input"])
    if x.is_floating_point():
        x.requires_grad_()
    torch.manual_seed(7)
    out = layer(x)
    assert_close(out, case["output"])
    if "grads" in case:
        first = out[0] if isinstance(out, tuple) else out
        (first * first).sum().backward()
        for parameter, expected in zip(layer.parameters(), case["grads"], strict=True):
            assert_close(parameter.grad, expected, 1e-4)
        if case["input_grad"] is not None:
            assert_close(x.grad, case["input_grad"], 1e-4)
    assert_close(layer.eval()(x), case["eval"])


@named(RECORDED["losses"])
def test_loss(case):
    """A loss and its gradient are PyTorch's."""
    loss = getattr(nn, case["name"])(**ast.literal_eval(case["kwargs"]))
    assert repr(loss) == case["repr"]
    x = torch.tensor(case["input"], requires_grad=True)
    result = loss(x, torch.tensor(case["target"]))
    result.sum().backward()
    assert_close(result, case["output"])
    assert_close(x.grad, case["input_grad"])


@named(RECORDED["initializers"])
def test_initializer(case):
    """An initialiser draws PyTorch's numbers, in place, and returns its tensor."""
    torch.manual_seed(11)
    tensor = torch.empty(case["shape"])
    result = getattr(nn.init, case["name"])(tensor, *ast.literal_eval(case["args"]))
    assert result is tensor
    assert_close(tensor, case["output"])


def test_initializers_are_not_recorded():
    weight = nn.Parameter(torch.empty(3, 2))
    nn.init.xavier_normal_(weight)
    assert weight.is_leaf
    assert weight.grad_fn is None


@pytest.mark.parametrize(
    ("name", "gain"),
    [("linear", 1), ("conv2d", 1), ("tanh", 5 / 3), ("relu", 2**0.5), ("selu", 0.75)],
)
def test_gain(name, gain):
    assert nn.init.calculate_gain(name) == pytest.approx(gain)


def test_gain_of_an_unknown_function():
    with pytest.raises(ValueError, match="Unsupported nonlinearity swish"):
        nn.init.calculate_gain("swish")


def test_fans_need_two_dimensions():
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        nn.init.xavier_uniform_(torch.empty(3))


def test_old_reduction_arguments():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        loss = nn.MSELoss(size_average=False)
    assert loss.reduction == "sum"


def test_embedding_from_pretrained_is_frozen():
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer = nn.Embedding.from_pretrained(table)
    assert not layer.weight.requires_grad
    assert layer(torch.tensor([1])).tolist() == [[3.0, 4.0]]


def test_embedding_padding_row_is_zero_and_gets_no_gradient():
    layer = nn.Embedding(4, 2, padding_idx=-1)
    assert layer.padding_idx == 3
    layer(torch.tensor([3, 1])).sum().backward()
    assert layer.weight[3].tolist() == [0.0, 0.0]
    assert layer.weight.grad.tolist() == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_batch_norm_counts_batches_only_while_training():
    layer = nn.BatchNorm1d(2)
    x = torch.ones(3, 2)
    layer(x)
    layer.eval()(x)
    assert int(layer.num_batches_tracked) == 1


def test_batch_norm_names_the_dimensions_it_takes():
    with pytest.raises(ValueError, match=r"expected 4D input \(got 2D input\)"):
        nn.BatchNorm2d(2)(torch.ones(3, 2))


def test_batch_norm_loads_a_state_without_the_count():
    state = nn.BatchNorm1d(2).state_dict()
    del state["num_batches_tracked"], state._metadata
    nn.BatchNorm1d(2).load_state_dict(state)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_state_can_be_passed_on(kind):
    """Two runs of two steps are one run of four."""
    layer = getattr(nn, kind)(3, 4, num_layers=2)
    x = torch.randn(4, 2, 3)
    whole, last = layer(x)
    begin, state = layer(x[:2])
    end, state = layer(x[2:], state)
    assert torch.allclose(torch.cat([begin, end]), whole, atol=1e-6)
    h = state[0] if kind == "LSTM" else state
    expected = last[0] if kind == "LSTM" else last
    assert torch.allclose(h, expected, atol=1e-6)


def test_recurrent_input_of_the_wrong_size():
    with pytest.raises(RuntimeError, match="Expected 3, got 5"):
        nn.LSTM(3, 4)(torch.ones(2, 1, 5))


def test_transposed_convolution_takes_an_output_size():
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2)
    assert layer(torch.ones(1, 1, 4, 4), output_size=(10, 9)).shape == (1, 1, 10, 9)
    with pytest.raises(ValueError, match="valid sizes range from"):
        layer(torch.ones(1, 1, 4, 4), output_size=(12, 9))


@pytest.mark.parametrize(
    "build",
    [
        lambda: nn.Conv2d(3, 4, 3, groups=2),
        lambda: nn.Conv2d(2, 2, 3, padding="all"),
        lambda: nn.Conv2d(2, 2, 3, stride=2, padding="same"),
        lambda: nn.Conv2d(2, 2, 3, padding_mode="mirror"),
        lambda: nn.Dropout(1.5),
        lambda: nn.GroupNorm(3, 4),
        lambda: nn.Embedding(3, 2, padding_idx=3),
        lambda: nn.LSTM(3, 4, proj_size=4),
    ],
)
def test_bad_settings_are_refused(build):
    with pytest.raises(ValueError, match=r"."):
        build()


def test_hardtanh_asks_for_two_different_bounds():
    with pytest.raises(AssertionError, match=r"max_val 0.0 must be greater than min_val 1.0"):
        nn.Hardtanh(1.0, 0.0)
