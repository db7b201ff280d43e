"""The backward engine: accumulation, order, inputs, recorded passes, freeing, threads, memory."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import lamina
from lamina.core.records import REMEMBERED_PASSES

from .recording import Cases, node_name, raises

case = Cases(__file__)


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


# --- which gradients ------------------------------------------------------------------------------


@case
def unused_inputs(torch):
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    return (
        raises(
            lambda: torch.autograd.grad(x.sum(), w), "appears to not have been used in the graph"
        ),
        torch.autograd.grad(x.sum(), [x, w], allow_unused=True),
        torch.autograd.grad(x.sum(), [x, w], materialize_grads=True),
        raises(
            lambda: torch.autograd.grad(x.sum(), w, materialize_grads=True, allow_unused=False),
            "Expected allow_unused to be True or not passed when materialize_grads=True",
        ),
    )


@case
def mistakes(torch):
    x, plain = leaf(torch, 1.0, 2.0), torch.ones(2)
    z = torch.ones(1, dtype=torch.complex64, requires_grad=True)
    grad, backward = torch.autograd.grad, torch.autograd.backward
    return (
        raises(
            lambda: (x * 1).backward(), "grad can be implicitly created only for scalar outputs"
        ),
        raises(
            lambda: (z * 1).backward(),
            "grad can be implicitly created only for real scalar outputs",
        ),
        raises(lambda: plain.sum().backward(), "element 0 of tensors does not require grad"),
        raises(lambda: backward([]), ""),
        raises(lambda: grad([], []), "`inputs` argument to `grad()` cannot be empty"),
        raises(
            lambda: backward((x * 2).sum(), inputs=[]),
            "argument to",
            "backward()",
            "cannot be empty",
        ),
        raises(lambda: grad(3, x), ""),
        raises(lambda: grad(x.sum(), 3), ""),
        raises(
            lambda: grad(x.sum(), plain), "One of the differentiated Tensors does not require grad"
        ),
        raises(
            lambda: backward(x * 2, [torch.ones(3)]),
            "Mismatch in shape: grad_output[0] has a shape of",
        ),
        raises(
            lambda: backward(x * 2, [3]), "gradients can be either Tensors or None, but got int"
        ),
        raises(lambda: grad(x * 2, x, torch.ones(2, dtype=torch.complex64)), "For complex Tensors"),
    )


@case
def same_input_twice(torch):
    x = leaf(torch, 1.0, 2.0)
    a, b = torch.autograd.grad((x * x).sum(), (x, x))
    return a, b, a is b


@case
def root_as_input(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    return torch.autograd.grad(y, [y], torch.ones(2)), torch.autograd.grad(x, x, torch.ones(2))


@case
def backward_with_inputs(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    y = x * 2
    z = (y * w).sum()
    z.backward(inputs=[y], retain_graph=True)
    first = (y.grad, x.grad, w.grad, y.retains_grad)
    z.backward(inputs=y, retain_graph=True)
    second = (y.grad, x.grad, w.grad)
    z.backward(inputs=[w])
    return first, second, (y.grad, x.grad, w.grad)


@case
def several_roots(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    torch.autograd.backward([y, (y * y).sum()], [torch.ones(2), None])
    return x.grad, torch.autograd.grad([x * 3, x * x], x, [torch.ones(2), torch.ones(2)])


@case
def batched_gradients(torch):
    x = leaf(torch, 1.0, 2.0)
    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return torch.autograd.grad(x * x, x, rows, is_grads_batched=True)


@case
def gradient_edges(torch):
    graph = torch.autograd.graph
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    s = y.sum()
    ex, ey, es = (graph.get_gradient_edge(t) for t in (x, y, s))
    return (
        [type(e.node) for e in (ex, ey, es)],
        ey.output_nr,
        torch.autograd.grad(s, [ex, ey], retain_graph=True),
        torch.autograd.grad(es, [ex]),
        raises(lambda: graph.get_gradient_edge(torch.ones(1)), "does not require gradients"),
    )


# --- order and several outputs --------------------------------------------------------------------


@case
def newest_node_first(torch):
    x = leaf(torch, 1.0)
    log = []
    parts = [x * k for k in (1.0, 2.0, 3.0)]
    for name, part in zip("abc", parts, strict=True):
        part.register_hook(lambda g, name=name: log.append(name))
    (parts[2] + parts[0] + parts[1]).sum().backward()
    return log


@case
def leaves_before_older_nodes(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    log = []
    for name, tensor in (("x", x), ("y", y), ("a", a := x * 2), ("b", b := y * 3)):
        tensor.register_hook(lambda g, name=name: log.append(name))
    torch.autograd.backward([a, b])
    return log


@case
def leaves_that_are_ready_together(torch):
    found = []
    for count in (2, 3, 4, 5, 8):
        log = []
        leaves = [leaf(torch, 1.0) for _ in range(count)]
        for k, tensor in enumerate(leaves):
            tensor.register_hook(lambda g, k=k, log=log: log.append(k))
        torch.cat(leaves).sum().backward()
        found.append(log)
    return found


@case
def outputs_without_gradient(torch):
    x = leaf(torch, 3.0, 1.0, 2.0)
    values, indices = x.sort()
    a, b = x.split([1, 2])
    unused = x.split(1)
    (values * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    first = x.grad.clone()
    (b * b).sum().backward()
    return first, x.grad, indices.requires_grad, a.output_nr, b.output_nr, unused[2].output_nr


# --- freeing and failing --------------------------------------------------------------------------


@case
def second_pass(torch):
    x = leaf(torch, 1.0, 2.0)
    product, total = (x * x).sum(), (x + 1).sum()
    product.backward()
    total.backward()
    total.backward()
    message = "Trying to backward through the graph a second time"
    kept = (x * x).sum()
    kept.backward(retain_graph=True)
    kept.backward()
    return raises(product.backward, message), raises(kept.backward, message), x.grad


@case
def freed_node_by_node(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    s = (y * y).sum()
    torch.autograd.grad(s, y)
    message = "Trying to backward through the graph a second time"
    return raises(s.backward, message), torch.autograd.grad(y.sum(), x)


@case
def saved_values_are_freed(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    before = y.grad_fn._saved_self is x
    y.sum().backward()
    return before, raises(
        lambda: y.grad_fn._saved_self, "Trying to backward through the graph a second time"
    )


@case
def result_is_saved_without_a_cycle(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    saved = y.grad_fn._saved_result
    return saved is y, saved.grad_fn is y.grad_fn, saved.requires_grad


@case
def higher_derivatives(torch):
    x = leaf(torch, 0.5, 2.0)
    y = (x.exp() * x**3).sum()
    found = []
    for _ in range(4):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        found.append(y)
    return found


@case
def derivative_of_a_gradient_by_the_root_gradient(torch):
    x, v = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 1.0)
    (g,) = torch.autograd.grad(x * x, x, v, create_graph=True)
    return torch.autograd.grad(g.sum(), [x, v])


@case
def linear_gradient_has_no_history(torch):
    x = leaf(torch, 1.0, 2.0)
    (g,) = torch.autograd.grad((x * 3).sum(), x, create_graph=True)
    return g.requires_grad, raises(lambda: torch.autograd.grad(g.sum(), x), "does not require grad")


@case
def backward_inside_backward(torch):
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx, g):
            (a,) = ctx.saved_tensors
            with torch.enable_grad():
                inner = a.detach().requires_grad_()
                (inner**2).sum().backward()
            return inner.grad * g

    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 5.0, 6.0)
    (Inner.apply(x * w) * w).sum().backward()
    return x.grad, w.grad


@case
def broadcast_operands(torch):
    a, b, c = (
        torch.ones(2, 1, requires_grad=True),
        torch.ones(3, requires_grad=True),
        leaf(torch, 2.0),
    )
    ((a + b) * c).sum().backward()
    return a.grad, b.grad, c.grad


@case
def names_of_nodes(torch):
    x = leaf(torch, 1.0, 2.0)
    y = (x * 2 + 1).sum()
    first = y.grad_fn.next_functions[0][0]
    second = first.next_functions[0][0]
    third = second.next_functions[0][0]
    return (
        node_name(y), type(first), type(second), type(third), third.variable is x,
        second.next_functions[0][0] is third, second.next_functions[1][0],
    )  # fmt: skip


# --- the recorded answers, and what no answer can be recorded of ----------------------------------


@pytest.mark.parametrize("name", case.functions)
def test_answer(name):
    assert case.answer(name, lamina) == case.recorded(name)


@pytest.mark.parametrize("hooked", [False, True])
def test_threads_add_to_shared_leaves(hooked):
    x = lamina.ones(3, requires_grad=True)
    if hooked:
        x.register_hook(lambda g: g * 1)

    def work():
        for _ in range(200):
            (x * 1).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [800.0] * 3


def test_deep_chains_are_run_and_destroyed():
    x = lamina.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [1.0]
    (g,) = lamina.autograd.grad(y, x, lamina.ones(1), create_graph=True)
    del y
    assert g.tolist() == [1.0]


def test_failing_pass_changes_no_leaf():
    x, w = lamina.ones(2, requires_grad=True), lamina.ones(2, requires_grad=True)
    h = x.exp()
    loss = (h * w).sum()
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    assert x.grad is None
    assert w.grad is None


def test_graph_goes_with_the_last_name():
    x = lamina.ones(2, requires_grad=True)
    y = (x.exp() * x).sum()
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()


def test_create_graph_warns():
    x = lamina.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="create_graph=True"):
        (x * x).sum().backward(create_graph=True)


@pytest.mark.filterwarnings("ignore")
def test_recorded_passes_do_not_leak():
    def step():
        w = lamina.ones(3, requires_grad=True)
        (w * w * w).sum().backward(create_graph=True)
        w.grad.sum().backward()

    for _ in range(REMEMBERED_PASSES):  # so many are noted for the explainer, and not more
        step()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(1000):
        step()
    gc.collect()
    assert len(gc.get_objects()) - before < 50
