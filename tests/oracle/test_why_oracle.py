"""`why` takes PyTorch's own tensors, and says of them what PyTorch's graph shows."""

import subprocess
import sys

import pytest
import torch

import lamina
from lamina.explain import Cause, why


def test_a_filled_leaf():
    w = torch.ones(2, requires_grad=True)
    (w * 2).sum().backward()
    assert why(w).cause is Cause.FINE
    assert str(why(w)) == "`w` is a leaf that requires grad, and its .grad is filled"


def test_a_leaf_without_a_pass():
    w = torch.ones(2, requires_grad=True)
    found = why(w)
    assert found.cause is Cause.BACKWARD_NOT_RUN
    assert "`why(w, loss=loss)`" in found.help[1]


def test_a_loss_that_leads_there():
    w = torch.ones(2, requires_grad=True)
    found = why(w, loss=(w * 2).sum())
    assert found.cause is Cause.BACKWARD_NOT_RUN
    assert "the loss leads to it" in found.verdict


@pytest.mark.parametrize("cut", [lambda t: t.detach(), lambda t: t.data, lambda t: t * 0 + 1])
def test_a_loss_that_does_not(cut):
    w = torch.ones(2, requires_grad=True)
    v = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        left = cut(w)
    loss = (left * v).sum()
    loss.backward()
    assert why(w, loss=loss).cause is Cause.NOT_REACHED
    assert w.grad is None
    assert why(v, loss=loss).cause is Cause.FINE


def test_a_computed_tensor_names_its_leaf_and_the_nodes_in_order():
    w = torch.ones(2, requires_grad=True)
    h = (w * 2).exp().log()
    found = why(h)
    assert found.cause is Cause.NON_LEAF_NOT_RETAINED
    assert found.help == (
        "to keep its gradient, call `h.retain_grad()` before backward(); the leaf's own is in "
        "`w.grad`",
    )
    assert "from `w` by: MulBackward0, ExpBackward0, LogBackward0" in str(found)


def test_a_long_chain_is_shortened():
    h = torch.ones(2, requires_grad=True)
    for _ in range(20):
        h = h.sin()
    text = str(why(h))
    assert text.count("SinBackward0") == 6  # one in the verdict
    assert "15 more" in text


def test_a_retained_one():
    h = torch.ones(2, requires_grad=True) * 2
    h.retain_grad()
    assert why(h).cause is Cause.FINE


def test_a_cast():
    w = torch.ones(2, requires_grad=True).double()
    assert why(w).cause is Cause.MOVED_AFTER_REQUIRES_GRAD


def test_a_module_and_its_parameter_by_its_path():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    model[0].requires_grad_(False)
    found = why(next(model.parameters()))
    assert found.cause is Cause.FROZEN
    assert "`model[0].weight`" in found.verdict


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (lambda: torch.arange(3), Cause.INTEGER_DTYPE),
        (lambda: torch.ones(2) > 0, Cause.INTEGER_DTYPE),
        (lambda: torch.ones(2), Cause.UNTOLD),
        (lambda: torch.ones(2, requires_grad=True).detach(), Cause.UNTOLD),
        (torch.inference_mode()(lambda: torch.ones(2)), Cause.INFERENCE_TENSOR),
        (lambda: torch.nn.Parameter(torch.ones(2), requires_grad=False), Cause.FROZEN),
    ],
)
def test_without_requires_grad(make, cause):
    t = make()
    assert not t.requires_grad
    assert why(t).cause is cause


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        (lambda t: (t * t).sqrt(), Cause.NAN),
        (torch.round, Cause.ZERO_GRADIENT),
        (lambda t: torch.relu(t - 1), Cause.ZERO_GRADIENT),
        (torch.exp, Cause.FINE),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_in_the_gradient(function, cause, dtype):
    w = torch.zeros(2, dtype=dtype, requires_grad=True)
    function(w).sum().backward()
    assert why(w).cause is cause


def test_lamina_says_the_same_of_its_own_where_both_can_tell():
    for library in (torch, lamina):
        w = library.ones(2, requires_grad=True)
        v = library.ones(2, requires_grad=True)
        loss = (v * 2).sum()
        assert why(w, loss=loss).cause is Cause.NOT_REACHED
        assert why(v, loss=loss).cause is Cause.BACKWARD_NOT_RUN


def test_a_view_taken_under_no_grad_shows_a_flag_and_gets_no_gradient():
    for library in (torch, lamina):
        w = library.ones(2, requires_grad=True)
        with library.no_grad():
            v = w[:1]
        (v * 2).sum().backward()
        assert v.requires_grad
        assert v.is_leaf
        assert v.grad is None
        assert w.grad is None
        assert why(v).cause is Cause.NOT_RECORDED


def test_pytorch_is_not_imported_for_it():
    program = (
        "import sys, lamina\n"
        "lamina.why(lamina.ones(2))\n"
        "try: lamina.why('x')\n"
        "except TypeError: pass\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
