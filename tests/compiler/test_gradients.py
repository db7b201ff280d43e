"""Results of compiled functions have derivatives outside."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lamina
import lamina.nn.functional as F
from lamina import nn
from lamina.compiler import compile

FUNCTIONS = {
    "chain": lambda x, w: (x.tanh() * w).exp().sum(),
    "two results": lambda x, w: (x @ w.T, (x * w).sum(0)),
    "one without": lambda x, w: (x * 2, w.detach() * 3),
    "softmax": lambda x, w: F.log_softmax(x * w, dim=-1),
    "views": lambda x, w: (x.T @ w)[1:, ::2].reshape(-1),
    "in place": lambda x, w: (x * 2).mul_(w).add_(1),
    "mask": lambda x, w: lamina.where(x > 0, x, w) * x.relu(),
    "norm": lambda x, w: F.layer_norm(x, (4,), w[0], w[1]),
    "index": lambda x, w: x[lamina.tensor([0, 2, 0])] * w[:3],
}


def inputs(seed=0):
    lamina.manual_seed(seed)
    return [lamina.randn(5, 4, requires_grad=True) for _ in "xw"]


def gradients(function, given):
    found = function(*given)
    found = found if isinstance(found, tuple) else (found,)
    total = sum((r * (k + 1.5)).sum() for k, r in enumerate(found))
    total.backward()
    return [r.detach().numpy() for r in found], [x.grad.numpy() for x in given]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_eager(name):
    function = FUNCTIONS[name]
    run = compile(function, fullgraph=True)
    for seed in range(3):
        expected = gradients(function, inputs(seed)) if name != "one without" else None
        if expected is None:
            x, w = inputs(seed)
            first, second = run(x, w)
            assert first.requires_grad
            assert not second.requires_grad
            first.sum().backward()
            assert x.grad.tolist() == [[2.0] * 4] * 5
            assert w.grad is None
            continue
        results, grads = gradients(run, inputs(seed))
        for a, e in zip([*results, *grads], [*expected[0], *expected[1]], strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-6)
    assert len(run.programs) == 1


def test_inputs_may_be_computed_and_parameters_reached():
    layer = nn.Linear(4, 3)
    run = compile(lambda x: layer(x).square().sum(), fullgraph=True)
    grads = []
    for function in (run, lambda x: layer(x).square().sum()):
        x, _ = inputs()
        layer.zero_grad()
        function(x * 2).backward()
        grads.append([x.grad.numpy(), layer.weight.grad.numpy(), layer.bias.grad.numpy()])
    for a, e in zip(*grads, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-5)


def test_several_calls_may_be_pending():
    x, w = inputs()
    run = compile(lambda x, w: (x * w).tanh(), fullgraph=True)
    (run(x, w) * run(run(x, w), w)).sum().backward()
    got = x.grad.numpy()
    x, w = inputs()
    tanh = lambda x, w: (x * w).tanh()  # noqa: E731
    (tanh(x, w) * tanh(tanh(x, w), w)).sum().backward()
    np.testing.assert_allclose(got, x.grad.numpy(), rtol=1e-5)


def test_a_graph_is_kept_on_request_and_freed_otherwise():
    x, w = inputs()
    loss = compile(FUNCTIONS["chain"])(x, w)
    assert type(loss.grad_fn).__name__ == "CompiledBackward0"
    loss.backward(retain_graph=True)
    once = x.grad.numpy().copy()
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), once * 2, rtol=1e-6)
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


def test_a_kept_input_that_was_changed_is_an_error():
    x, w = inputs()
    loss = compile(FUNCTIONS["chain"])(x, w)
    with lamina.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_second_derivative_is_an_error_with_a_repair():
    x, w = inputs()
    loss = compile(FUNCTIONS["chain"])(x, w)
    with pytest.raises(RuntimeError, match="without `compile`"):
        lamina.autograd.grad(loss, x, create_graph=True)


def test_only_some_results_may_be_used():
    x, w = inputs()
    first, _ = compile(FUNCTIONS["two results"])(x, w)
    first.sum().backward()
    np.testing.assert_allclose(
        x.grad.numpy(), np.tile(w.detach().numpy().sum(0), (5, 1)), rtol=1e-5
    )


def test_without_grad_mode_nothing_is_kept():
    x, w = inputs()
    run = compile(FUNCTIONS["chain"], fullgraph=True)
    with lamina.no_grad():
        assert not run(x, w).requires_grad
    assert run(x, w).requires_grad
    assert run.splits == ["grad mode was False, is True"]


def regularized(w):
    """A loss of a weight that is a leaf: its backward pass is one node, and leads to leaves."""
    return compile(lambda: (w.tanh() * 2).sum() + (w * w).sum(), fullgraph=True)


def expected_gradient(w):
    t = np.tanh(w.detach().numpy())
    return 2 * (1 - t * t) + 2 * w.detach().numpy()


def test_memory_of_gradients_serves_again_only_where_nobody_has_it():
    w = lamina.randn(5, 4, requires_grad=True)
    loss = regularized(w)
    kept = []
    for hold in (lambda t: t, lambda t: t.numpy(), lambda t: t.detach().view(-1), lambda t: None):
        loss().backward()
        expected = expected_gradient(w)
        np.testing.assert_allclose(w.grad.numpy(), expected, rtol=1e-5)
        kept.append((hold(w.grad), expected))
        w.grad = None
        with lamina.no_grad():
            w.mul_(1.5)
    for held, expected in kept[:-1]:
        held = held if isinstance(held, np.ndarray) else held.numpy()
        np.testing.assert_allclose(held.reshape(5, 4), expected, rtol=1e-5)


def test_gradients_are_added_to_those_that_are_there():
    w = lamina.randn(5, 4, requires_grad=True)
    loss = regularized(w)
    first = None
    for k in range(1, 4):
        loss().backward()
        first = w.grad if first is None else first
        assert w.grad is first
        assert w.grad._version == k - 1
        np.testing.assert_allclose(w.grad.numpy(), k * expected_gradient(w), rtol=1e-5)


@pytest.mark.parametrize("changed", ["flag", "in place"])
def test_a_leaf_that_becomes_something_else_is_noticed(changed):
    w = lamina.randn(5, 4)
    w.requires_grad_()
    loss = regularized(w)
    loss().backward()
    w.grad = None
    if changed == "flag":
        w.requires_grad_(False)
        assert not loss().requires_grad
        return
    factor = lamina.ones(4, requires_grad=True)
    w.requires_grad_(False).mul_(factor)
    loss().backward()
    assert w.grad_fn is not None
    np.testing.assert_allclose(
        factor.grad.numpy(), (expected_gradient(w) * w.detach().numpy()).sum(0), rtol=1e-4
    )


def test_hooks_on_leaves_and_results_are_called():
    w = lamina.randn(5, 4, requires_grad=True)
    loss = regularized(w)
    loss().backward()
    w.grad = None
    seen = []
    handle = w.register_hook(lambda g: seen.append(g.shape) or g * 2)
    result = loss()
    result.register_hook(lambda g: seen.append(g.shape))
    result.backward()
    assert seen == [(), (5, 4)]
    np.testing.assert_allclose(w.grad.numpy(), 2 * expected_gradient(w), rtol=1e-5)
    handle.remove()


def test_passes_of_several_threads_do_not_meet():
    def job(seed):
        lamina.manual_seed(seed)
        x = lamina.randn(50, 40, requires_grad=True)
        for _ in range(50):
            x.grad = None
            run(x).backward()
            np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy(), rtol=1e-5)
        return True

    run = compile(lambda x: (x * x).sum(), fullgraph=True)
    run(lamina.ones(50, 40, requires_grad=True))
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(job, range(4)))
