"""When a program may run, and when another one is made."""

import numpy as np
import pytest

import lamina
from lamina import nn
from lamina.compiler import compile
from lamina.nn.hooks import Hook


def counted(function):
    return compile(function, fullgraph=True)


def test_shapes_dtypes_and_strides():
    run = counted(lambda x: x * 2)
    for x in (lamina.ones(2), lamina.ones(3), lamina.ones(3, dtype=lamina.float64)):
        assert lamina.equal(run(x), x * 2)
    square = lamina.arange(9.0).reshape(3, 3)
    assert lamina.equal(run(square), square * 2)
    assert lamina.equal(run(square.T), square.T * 2)
    assert run(square.T).stride() == (square.T * 2).stride()
    assert len(run.programs) == 5
    assert "had shape [2], has [3]" in run.splits[0]
    assert "dtype" in run.splits[1]


def test_arguments_that_are_values():
    run = counted(lambda x, n, mode="up": x + n if mode == "up" else x - n)
    x = lamina.zeros(2)
    assert run(x, 1).tolist() == [1, 1]
    assert run(x, 2).tolist() == [2, 2]
    assert run(x, 2, mode="down").tolist() == [-2, -2]
    assert run(x, 1).tolist() == [1, 1]
    assert len(run.programs) == 3
    assert "an argument was 1, is 2" in run.splits


def test_nests_of_tensors():
    run = counted(lambda batch: {"sum": batch["x"] + batch["y"][0], "n": 3, "all": [batch["x"]]})
    x, y = lamina.ones(2), lamina.ones(2) * 5
    found = run({"x": x, "y": (y,)})
    assert found["sum"].tolist() == [6, 6]
    assert found["n"] == 3
    assert found["all"][0] is x


def test_variables_of_closures_and_globals():
    scale = 2.0

    def function(x):
        return x * scale + OFFSET

    run = counted(function)
    assert run(lamina.ones(1)).item() == 3.0
    scale = 4.0
    assert run(lamina.ones(1)).item() == 5.0
    globals()["OFFSET"] = 10.0
    try:
        assert run(lamina.ones(1)).item() == 14.0
    finally:
        globals()["OFFSET"] = 1.0
    assert "scale was 2.0, is 4.0" in run.splits[0]


OFFSET = 1.0


def test_attributes_of_objects():
    class Model:
        def __init__(self):
            self.power, self.names = 2, ["a"]
            self.weight = lamina.ones(3)

        def __call__(self, x):
            return (x * self.weight) ** self.power + len(self.names)

    model = Model()
    run = counted(model)
    x = lamina.ones(3) * 3
    assert run(x).tolist() == [10.0] * 3
    model.power = 3
    assert run(x).tolist() == [28.0] * 3
    model.names.append("b")
    assert run(x).tolist() == [29.0] * 3
    model.weight = lamina.ones(3) * 2
    assert run(x).tolist() == [218.0] * 3
    model.weight.mul_(0)
    assert run(x).tolist() == [2.0] * 3
    assert len(run.programs) == 4


def test_hooks_that_come_and_go():
    layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    run = compile(lambda x: layers(x) * 2)
    x = lamina.ones(3, 2)
    expected = layers(x) * 2
    assert lamina.equal(run(x), expected)
    nn.Linear(2, 2).register_forward_hook(lambda *_: None)  # elsewhere
    assert lamina.equal(run(x), expected)
    assert len(run.programs) == 1
    with layers[1].register_forward_hook(lambda module, args, out: out + 1):
        assert lamina.equal(run(x), expected + 2)
    assert lamina.equal(run(x), expected)
    layers[0]._forward_hooks[7] = layers[0]._forward_hooks[8] = Hook(lambda m, args, out: out * 0)
    assert run(x).sum() == 0
    layers[0]._forward_hooks.clear()
    assert lamina.equal(run(x), expected)


def test_reached_tensors_are_read_at_each_call():
    w = lamina.ones(2)
    run = counted(lambda x: x * w)
    assert run(lamina.ones(2)).tolist() == [1, 1]
    w.fill_(7)
    assert run(lamina.ones(2)).tolist() == [7, 7]
    w.data = lamina.zeros(2)
    assert run(lamina.ones(2)).tolist() == [0, 0]
    assert len(run.programs) == 1
    w.requires_grad_()
    assert run(lamina.ones(2)).requires_grad
    assert "w: requires_grad was False, is True" in run.splits[0]


def test_an_argument_that_is_a_reached_tensor():
    w = lamina.ones(2)

    def add(x):
        w.add_(x)
        return w * 1

    run = counted(add)
    assert run(lamina.ones(2)).tolist() == [2, 2]
    assert run(w).tolist() == [4, 4]
    assert run(w).tolist() == [8, 8]
    assert run(lamina.ones(2)).tolist() == [9, 9]


def test_memory_that_is_shared_with_what_is_written():
    w = lamina.arange(6.0)

    def shift(x):
        w[:4].copy_(x * 2)
        return w * 1

    def sequence(function):
        w.copy_(lamina.arange(6.0))
        return [function(x).tolist() for x in (lamina.ones(4), w[2:], w[:4], lamina.ones(4))]

    with pytest.warns(lamina.errors.CaptureWarning, match="shares memory"):
        found = sequence(compile(shift))
    assert found == sequence(shift)


def test_modes_of_the_default_dtype():
    run = counted(lambda x: x + lamina.ones(2))
    x = lamina.ones(2, dtype=lamina.float64)
    run(x)
    lamina.set_default_dtype(lamina.float64)
    try:
        run(x)
    finally:
        lamina.set_default_dtype(lamina.float32)
    assert "default dtype" in run.splits[0]


def test_explain_and_program():
    layer = nn.Linear(3, 2)
    run = counted(lambda x: layer(x).relu())
    assert "no program yet" in run.program()
    run(lamina.ones(4, 3))
    text = run.program()
    assert "matmul" in text
    assert "maximum" in text
    report = run.explain()
    assert len(report.programs) == 1
    assert report.programs[0]["products"] == 2
    assert "layer.weight" in str(report)


def test_many_situations_end_in_eager_calls():
    run = compile(lambda x: x + 1)
    for size in range(32):
        run(lamina.ones(size))
    with pytest.warns(lamina.errors.CaptureWarning, match="32 programs already"):
        run(lamina.ones(40))
    assert run(lamina.ones(41)).shape == (41,)


def test_empty_and_zero_dimensional_tensors():
    run = counted(lambda x: (x * 2).exp().sum() + x.mean())
    for shape in ((), (1,), (0,), (0, 3)):
        x = lamina.ones(shape)
        expected = (x * 2).exp().sum() + x.mean()
        np.testing.assert_allclose(run(x).numpy(), expected.numpy(), rtol=1e-6)
