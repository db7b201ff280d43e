"""What cannot be captured: an error that shows where, or an eager call with one warning."""

import random
import warnings

import numpy as np
import pytest

import lamina
from lamina import nn
from lamina.compiler import CompiledModule, compile
from lamina.errors import CaptureError, CaptureWarning


def depends(x):
    return x * 2 if x.sum().item() > 0 else -x


def test_a_value_that_decides_runs_eagerly_and_warns_once():
    run = compile(depends)
    with pytest.warns(CaptureWarning, match="runs eagerly") as caught:
        assert run(lamina.ones(2)).tolist() == [2, 2]
    assert "x.sum().item()" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(-lamina.ones(2)).tolist() == [1, 1]
        assert run(lamina.ones(3)).tolist() == [2, 2, 2]


def test_with_fullgraph_it_is_an_error_that_shows_the_place():
    with pytest.raises(CaptureError, match="reads a value") as caught:
        compile(depends, fullgraph=True)(lamina.ones(2))
    assert "x.sum().item()" in str(caught.value)
    assert "help:" in str(caught.value)


def test_python_state_that_changes_is_put_back_and_the_call_runs_eagerly():
    losses, counts = [], {"calls": 0}

    def step(x):
        counts["calls"] += 1
        losses.append(x.sum())
        return x * 2

    run = compile(step)
    for _ in range(2):
        run(lamina.ones(2))
    with pytest.warns(CaptureWarning, match="changed Python state"):
        run(lamina.ones(2))
    assert counts["calls"] == 3
    assert [loss.item() for loss in losses] == [2, 2, 2]
    strict = compile(step, fullgraph=True)
    for _ in range(2):
        strict(lamina.ones(2))
    with pytest.raises(CaptureError, match=r"losses|counts"):
        strict(lamina.ones(2))


def test_an_error_of_the_function_itself_is_raised():
    run = compile(lambda x, y: x @ y)
    with pytest.raises(RuntimeError) as compiled:
        run(lamina.ones(2, 3), lamina.ones(2, 3))
    with pytest.raises(RuntimeError) as eager:
        lamina.ones(2, 3) @ lamina.ones(2, 3)
    assert type(compiled.value) is type(eager.value)


def test_an_index_out_of_range_is_noticed_when_it_happens():
    table = lamina.arange(4.0)
    run = compile(lambda i: table[i], fullgraph=True)
    assert run(lamina.tensor([1, 3])).tolist() == [1, 3]
    with pytest.raises(IndexError):
        run(lamina.tensor([1, 9]))


def test_capturing_changes_nothing():
    w = lamina.ones(2, requires_grad=True)
    version = w._version

    def step(x):
        (w * x).sum().backward()
        with lamina.no_grad():
            w.add_(1)
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        compile(step, fullgraph=True)(lamina.ones(2))
    assert w.grad is None
    assert w.tolist() == [1, 1]
    assert w._version == version


def test_history_of_a_tensor_from_outside_is_not_rewritten_silently():
    base = lamina.ones(2, requires_grad=True) * 2
    with pytest.warns(CaptureWarning, match="in place while that was recorded"):
        compile(lambda: base.mul_(3))()
    assert base.tolist() == [6, 6]


def test_tensors_on_other_devices_run_eagerly():
    with pytest.warns(CaptureWarning, match="CPU"):
        assert compile(lambda x: x + 1)(lamina.ones(2, device="meta")).is_meta


def test_results_that_are_no_tensors():
    class Output:
        def __init__(self, x):
            self.x = x

    with pytest.warns(CaptureWarning, match="returns a Output"):
        assert compile(lambda x: Output(x * 2))(lamina.ones(1)).x.item() == 2
    assert compile(lambda x: (None, 3, "a", x.shape), fullgraph=True)(lamina.ones(2)) == (
        None, 3, "a", (2,),
    )  # fmt: skip


def test_random_numbers_continue_the_stream():
    def noisy(x):
        return nn.functional.dropout(x, 0.5) + lamina.randn(4) * lamina.rand(4)

    run = compile(noisy, fullgraph=True)
    found = []
    for function in (run, noisy):
        lamina.manual_seed(5)
        found.append([function(lamina.ones(4)).tolist() for _ in range(3)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_modules():
    layer = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5))
    model = compile(layer)
    assert isinstance(model, CompiledModule)
    assert list(model.parameters()) == list(layer.parameters())
    assert model._orig_mod is layer
    assert model.append is not None
    model.eval()
    x = lamina.ones(2, 3)
    np.testing.assert_allclose(model(x).detach().numpy(), layer(x).detach().numpy(), rtol=1e-6)
    model(x).sum().backward()
    assert layer[0].weight.grad is not None
    assert "matmul" in model.program()
    assert len(model.explain().programs) == 1


def test_forms_of_the_call():
    @compile
    def one(x):
        """Add one."""
        return x + 1

    @compile(fullgraph=True, dynamic=False, mode="max-autotune", options={})
    def two(x):
        return x + 2

    assert one.__name__ == "one"
    assert one.__doc__ == "Add one."
    assert one(lamina.ones(1)).item() == 2
    assert two(lamina.ones(1)).item() == 3
    assert compile(one._function, disable=True) is one._function
    with pytest.raises(TypeError, match="takes a function"):
        compile(3)


def test_methods():
    class Model:
        scale = 3

        @compile
        def double(self, x):
            return x * self.scale

    assert Model().double(lamina.ones(1)).item() == 3


def test_a_compiled_function_inside_another():
    inner = compile(lambda x: x * 2)
    outer = compile(lambda x: inner(x) + 1, fullgraph=True)
    assert outer(lamina.ones(1)).item() == 3
    assert len(outer.programs) == 1
    assert not inner.programs


def test_a_graph_from_outside_is_not_used_up_by_capturing():
    x = lamina.ones(2, requires_grad=True)
    loss = (x * x).sum()

    def backward(loss):
        loss.backward()

    with pytest.warns(CaptureWarning, match="recorded outside"):
        compile(backward)(loss)
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="a second time"):
        compile(backward)(loss)


def test_other_random_numbers_and_seeds_inside_run_eagerly():
    def by_chance(x):
        return x * 2 if random.random() < 2 else x

    def seeded(x):
        lamina.manual_seed(1)
        return x + lamina.rand(2)

    before = random.getstate()
    for function, word in ((by_chance, "random"), (seeded, "generator")):
        with pytest.raises(CaptureError, match=word):
            compile(function, fullgraph=True)(lamina.ones(2))
    assert random.getstate() == before
    run = compile(seeded)
    with pytest.warns(CaptureWarning):
        first = run(lamina.ones(2))
    assert run(lamina.ones(2)).tolist() == first.tolist()


def test_hooks_that_change_python_state_run_eagerly():
    w, seen = lamina.ones(2, requires_grad=True), []
    w.register_hook(lambda g: seen.append(g) or g * 2)

    def step(x):
        (w * x).sum().backward()

    run = compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaptureWarning)
        for _ in range(4):
            w.grad = None
            run(lamina.ones(2))
    assert len(seen) == 4
    assert w.grad.tolist() == [2, 2]


def test_a_parameter_that_gets_its_first_gradient_later_is_updated():
    first, second = (lamina.ones(1, requires_grad=True) for _ in "12")
    optimizer = lamina.optim.SGD([first, second], lr=1.0)
    first.grad = lamina.ones(1)
    step = compile(optimizer.step, fullgraph=True)
    step()
    second.grad = lamina.ones(1)
    step()
    assert (first.item(), second.item()) == (-1, 0)
