"""A whole training step is captured as a flat program of NumPy calls, and replays to the same bits.

This is the proof that operations, rules, engine and optimizers are open to a compiler.
"""

import copy

import numpy as np
import pytest

import lamina
from lamina import nn
from lamina.core.capture import capture

OPTIMIZERS = {
    "adam": lambda parameters: lamina.optim.Adam(parameters, lr=1e-2),
    "adamw": lambda parameters: lamina.optim.AdamW(parameters, lr=1e-2),
    "sgd": lambda parameters: lamina.optim.SGD(parameters, lr=1e-2, momentum=0.9),
}


def network():
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def train_step(model, optimizer, images, labels):
    optimizer.zero_grad()
    loss = nn.CrossEntropyLoss()(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss


@pytest.fixture
def batch():
    lamina.manual_seed(0)
    return lamina.randn(16, 64), lamina.randint(0, 10, (16,))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_step_replays_with_equal_results(name, batch):
    eager = network()
    twin = copy.deepcopy(eager)
    before = [p.detach().clone() for p in twin.parameters()]
    loss = train_step(eager, OPTIMIZERS[name](eager.parameters()), *batch)

    with capture() as recorder:
        captured = train_step(twin, OPTIMIZERS[name](twin.parameters()), *batch)

    for parameter, old in zip(twin.parameters(), before, strict=True):
        assert lamina.equal(parameter, old), "capturing must not compute"
    arrays = [np.array(array) for array in recorder.inputs]
    (replayed,) = recorder.replay(arrays, [captured._array])
    assert replayed == loss.item()
    place = {id(array): k for k, array in enumerate(recorder.inputs)}
    for parameter, expected in zip(twin.parameters(), eager.parameters(), strict=True):
        actual = arrays[place[id(parameter._array)]]
        np.testing.assert_array_equal(actual, expected.detach().numpy())


def test_the_program_is_a_readable_flat_list(batch):
    model = network()
    with capture() as recorder:
        train_step(model, lamina.optim.SGD(model.parameters(), lr=0.1), *batch)

    lines = str(recorder).splitlines()
    assert any("= dot(" in line for line in lines)
    assert all(line.startswith(("%", "copyto(", "add(")) for line in lines)


def test_operations_between_tensors_that_are_merely_reached_are_captured():
    state = lamina.ones(3)
    with capture() as recorder:
        state.mul_(0.5)

    assert state.tolist() == [1.0, 1.0, 1.0]
    arrays = [np.array(array) for array in recorder.inputs]
    recorder.replay(arrays, [])
    assert arrays[0].tolist() == [0.5, 0.5, 0.5]


def test_random_numbers_are_drawn_when_the_program_runs():
    with capture() as recorder:
        noise = lamina.rand(4)

    lamina.manual_seed(7)
    expected = lamina.rand(4)
    lamina.manual_seed(7)
    (drawn,) = recorder.replay(recorder.inputs, [noise._array])
    np.testing.assert_array_equal(drawn, expected.numpy())


def test_reading_a_value_says_where_and_what_to_do():
    x = lamina.ones(2)
    with capture(), pytest.raises(lamina.errors.CaptureError, match="outside") as caught:
        (x * 2).sum().item()
    assert "(x * 2).sum().item()" in str(caught.value)


def test_what_a_capture_made_prints_as_captured_and_has_no_values():
    w = lamina.ones(2, 3, requires_grad=True)
    with capture():
        (w * 2).sum().backward()

    assert repr(w.grad) == "tensor(..., size=(2, 3), captured)"
    for read in (lamina.Tensor.tolist, lambda t: t.numpy(), lambda t: t in t, lambda t: t[t > 0]):
        with pytest.raises(lamina.errors.CaptureError, match="captured"):
            read(w.grad)


def test_kept_values_and_given_gradients_are_inputs_of_the_program():
    x = lamina.tensor([1.0, 2.0], requires_grad=True)
    y, seed = x * x.exp(), lamina.ones(2)  # recorded before the capture
    with capture() as recorder:
        y.backward(seed)

    found = {id(array) for array in recorder.inputs}
    assert {id(x._array), id(seed._array)} <= found
    (grad,) = recorder.replay(recorder.inputs, [x.grad._array])
    np.testing.assert_allclose(grad, (1 + x.detach()) * x.detach().exp(), rtol=1e-6)


def test_a_rule_that_needs_values_says_where_it_was_recorded():
    x = lamina.ones(3, requires_grad=True)
    mask = lamina.tensor([True, False, True])
    y = lamina.masked_select(x, mask)
    z = lamina.masked_scatter(lamina.zeros(3), mask, y)
    with capture(), pytest.raises(lamina.errors.CaptureError, match="MaskedScatter") as caught:
        z.sum().backward()
    assert "masked_scatter(lamina.zeros(3), mask, y)" in str(caught.value)


@pytest.mark.parametrize("kind", [lamina.float32, lamina.bfloat16, lamina.int64])
def test_a_concrete_tensor_that_is_cast_on_the_way_is_an_input(kind):
    reached = lamina.tensor([3, 4], dtype=kind)
    other = lamina.ones(2, dtype=lamina.float64)
    with capture() as recorder:
        result = reached * other
        reached.mul_(2)
    assert any(array is reached._array for array in recorder.inputs)
    arrays = [np.array(array) for array in recorder.inputs]
    place = next(k for k, array in enumerate(recorder.inputs) if array is reached._array)
    arrays[place] = np.array([5, 6]).astype(arrays[place].dtype)
    (replayed,) = recorder.replay(arrays, [result._array])
    assert replayed.tolist() == [5.0, 6.0]
    assert arrays[place].astype(float).tolist() == [10.0, 12.0]
