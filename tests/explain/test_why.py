"""`why`: for each cause, a program that has it, and what must be said about it."""

import linecache
import textwrap
import warnings

import pytest

import lamina
from lamina import errors
from lamina.core import records
from lamina.explain import Cause, Explanation, why


def program(source, name="<program>"):
    """Run a program; its namespace. The explainer finds its source."""
    source = textwrap.dedent(source).strip("\n") + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace = {"torch": lamina, "nn": lamina.nn}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, name, "exec"), namespace)
        finally:
            lamina.set_grad_enabled(True)
    return namespace


# Cause, program, what is asked about, the expression at fault, a part of the repair.
CASES = [
    (Cause.FINE, """
        t = torch.ones(2, requires_grad=True)
        (t * t).sum().backward()
     """, "t", "(t * t).sum().backward()", ""),
    (Cause.NON_LEAF_NOT_RETAINED, """
        w = torch.ones(2, requires_grad=True)
        t = w * 3
        t.sum().backward()
     """, "t", "w * 3", "`t.retain_grad()`"),
    (Cause.MOVED_AFTER_REQUIRES_GRAD, """
        t = torch.ones(2, requires_grad=True).double()
     """, "t", "torch.ones(2, requires_grad=True).double()",
     "`torch.ones(2).double().requires_grad_()`"),
    (Cause.MOVED_AFTER_REQUIRES_GRAD, """
        w = torch.ones(2, requires_grad=True)
        t = w.half()
     """, "t", "w.half()", "`w.detach().half().requires_grad_()`"),
    (Cause.LEAF_LOST, """
        w = torch.ones(1, requires_grad=True)
        t = torch.zeros(3)
        t[1:2] = w
     """, "t", "t[1:2] = w", "`w.detach()`"),
    (Cause.LEAF_LOST, """
        t = torch.ones(2, requires_grad=True)
        (t * t).sum().backward()
        t = t - 0.1 * t.grad
     """, "t", "t - 0.1 * t.grad", "`with torch.no_grad(): t -= 0.1 * t.grad`"),
    (Cause.NEVER_REQUIRED, """
        x = torch.ones(2)
        t = (x * 3).sum()
     """, "t", "torch.ones(2)", "`x.requires_grad_()`"),
    (Cause.FROZEN, """
        t = torch.ones(2, requires_grad=True)
        t.requires_grad_(False)
     """, "t", "t.requires_grad_(False)", "`t.requires_grad_()`"),
    (Cause.FROZEN, """
        w = torch.ones(2, requires_grad=True)
        w.requires_grad = False
        t = w * 2
     """, "t", "w.requires_grad = False", "requires_grad_(True)"),
    (Cause.NOT_RECORDED, """
        w = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            t = w * 2
     """, "t", "w * 2", "outside no_grad"),
    (Cause.NOT_RECORDED, """
        w = torch.ones(2, requires_grad=True)
        torch.set_grad_enabled(False)
        x = w * 1
        t = w * 2
     """, "t", "torch.set_grad_enabled(False)", "`with torch.set_grad_enabled(False):`"),
    (Cause.NOT_RECORDED, """
        x = torch.tensor(2.0, requires_grad=True)
        (t,) = torch.autograd.grad(x ** 3, x)
     """, "t", "torch.autograd.grad(x ** 3, x)", "create_graph=True"),
    (Cause.NOT_RECORDED, """
        w = torch.ones(2, requires_grad=True)
        v = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            h = w * 2
        (h * v).sum().backward()
     """, "w", "w * 2", "outside no_grad"),
    (Cause.NOT_RECORDED, """
        w = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            t = w[:1]
        (t * 2).sum().backward()
     """, "t", "w[:1]", "outside no_grad"),
    (Cause.INFERENCE_TENSOR, """
        with torch.inference_mode():
            t = torch.ones(2)
     """, "t", "torch.ones(2)", "`t.clone()`"),
    (Cause.DETACHED, """
        w = torch.ones(2, requires_grad=True)
        t = w.detach() * 2
     """, "t", "w.detach()", "`w` itself"),
    (Cause.DETACHED, """
        w = torch.ones(2, requires_grad=True)
        h = w * 2
        t = h.data
     """, "t", "h.data", "`h` itself"),
    (Cause.DETACHED, """
        w = torch.ones(2, requires_grad=True)
        p = nn.Parameter(w * 2)
        p.sum().backward()
     """, "w", "nn.Parameter(w * 2)", "forward()"),
    (Cause.DETACHED, """
        w = torch.ones(2, requires_grad=True)
        v = torch.ones(2, requires_grad=True)
        (w.detach() * v).sum().backward()
     """, "w", "w.detach()", "`w` itself"),
    (Cause.CONVERTED_TO_PYTHON, """
        w = torch.ones(2, requires_grad=True)
        t = torch.tensor([w[0], w[1] * 2])
     """, "t", "torch.tensor([w[0], w[1] * 2])", "`torch.stack([w[0], w[1] * 2])`"),
    (Cause.CONVERTED_TO_PYTHON, """
        w = torch.ones(2, requires_grad=True)
        loss = (w * 2).sum().item()
        loss = torch.tensor(loss, requires_grad=True)
        loss.backward()
     """, "w", "(w * 2).sum().item()", "`(w * 2).sum()` itself"),
    (Cause.CONVERTED_TO_PYTHON, """
        w = torch.ones(2, requires_grad=True)
        t = torch.from_numpy(w.detach().numpy() * 2)
     """, "t", "torch.from_numpy(w.detach().numpy() * 2)", "`w` itself"),
    (Cause.INTEGER_DTYPE, "t = torch.arange(3)", "t", "torch.arange(3)", "float()"),
    (Cause.INTEGER_DTYPE, """
        x = torch.tensor([1.7], requires_grad=True)
        t = x.long().float()
     """, "t", "x.long()", "`x + (x.trunc() - x).detach()`"),
    (Cause.INTEGER_DTYPE, """
        x = torch.tensor([1.7, 2.0], requires_grad=True)
        values, t = x.topk(1)
     """, "t", "x.topk(1)", "`.values`"),
    (Cause.NOT_DIFFERENTIABLE, """
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        t = x.argmax() * 2.0
     """, "t", "x.argmax()", "softmax"),
    (Cause.NOT_DIFFERENTIABLE, """
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        t = (x > 2).float().mean()
     """, "t", "x > 2", "sigmoid"),
    (Cause.NOT_DIFFERENTIABLE, """
        lin = nn.Linear(2, 2)
        t = lin(torch.ones(3, 2)).argmax(dim=1).float().mean()
        t.requires_grad = True
        t.backward()
     """, "t", "lin(torch.ones(3, 2)).argmax(dim=1)", "cross_entropy"),
    (Cause.ZERO_DERIVATIVE, """
        x = torch.tensor([1.4, -2.0], requires_grad=True)
        t = x.round()
     """, "t", "x.round()", "`x + (x.round() - x).detach()`"),
    (Cause.ZERO_DERIVATIVE, """
        t = torch.tensor([1.4, -2.0], requires_grad=True)
        y = torch.sign(t)
        y.sum().backward()
     """, "t", "torch.sign(t)", "torch.tanh"),
    (Cause.ZERO_GRADIENT, """
        t = torch.tensor([-1.0, -2.0], requires_grad=True)
        h = torch.relu(t)
        h.sum().backward()
     """, "t", "h.sum().backward()", "what follows `relu`"),
    (Cause.REPLACED_BY_HOOK, """
        t = torch.ones(2, requires_grad=True)
        t.register_hook(lambda g: g * 2)
        (t * 3).sum().backward()
     """, "t", "lambda g: g * 2", "remove()"),
    (Cause.GRAPH_FREED, """
        w = torch.ones(2, requires_grad=True)
        t = w * 2
        t.sum().backward()
        t.retain_grad()
     """, "t", "t.sum().backward()", "`t.sum().backward(retain_graph=True)`"),
    (Cause.BACKWARD_NOT_RUN, "t = torch.ones(2, requires_grad=True)", "t",
     "torch.ones(2, requires_grad=True)", "call backward()"),
    (Cause.BACKWARD_NOT_RUN, """
        t = torch.ones(2, requires_grad=True)
        (g,) = torch.autograd.grad((t * 2).sum(), t)
     """, "t", "torch.autograd.grad((t * 2).sum(), t)", "`(t * 2).sum().backward()`"),
    (Cause.NOT_REACHED, """
        t = torch.ones(2, requires_grad=True)
        w = torch.ones(2, requires_grad=True)
        (w * 2).sum().backward()
     """, "t", "(w * 2).sum().backward()", "compute the loss from `t`"),
    (Cause.CLEARED, """
        t = torch.ones(2, requires_grad=True)
        opt = torch.optim.SGD([t], lr=0.1)
        (t * 2).sum().backward()
        opt.zero_grad()
     """, "t", "opt.zero_grad()", "`opt.zero_grad(set_to_none=False)`"),
    (Cause.CLEARED, """
        t = torch.ones(2, requires_grad=True)
        (t * 2).sum().backward()
        t.grad = None
     """, "t", "t.grad = None", "before it is cleared"),
    (Cause.ACCUMULATED, """
        t = torch.ones(2, requires_grad=True)
        for _ in range(3):
            (t * 2).sum().backward()
     """, "t", "(t * 2).sum().backward()", "`t.grad = None`"),
    (Cause.GRAPH_CARRIED_OVER, """
        w = torch.ones(2, requires_grad=True)
        t = 0
        for _ in range(3):
            loss = (w * w).sum()
            loss.backward()
            t += loss
     """, "t", "t += loss", "`t += loss.item()`"),
    (Cause.SHARED_MEMORY, """
        x = torch.ones(2, requires_grad=True)
        t = x + 0
        d = t.detach()
        d.zero_()
     """, "t", "d.zero_()", "`t.detach().clone()`"),
    (Cause.DONE_THROUGH_DATA, """
        x = torch.ones(2, requires_grad=True)
        t = torch.ones(2, requires_grad=True)
        y = x * t
        t.data.mul_(10)
        y.sum().backward()
     """, "t", "t.data.mul_(10)", "after backward()"),
    (Cause.DONE_THROUGH_DATA, """
        t = torch.ones(2, requires_grad=True)
        t.data.requires_grad = False
     """, "t", "t.data.requires_grad = False", "`t.requires_grad_(False)`"),
    (Cause.OPTIMIZER_LACKS_PARAMETER, """
        lin = nn.Linear(1, 1)
        opt = torch.optim.SGD(lin.parameters(), lr=0.5)
        lin.weight = nn.Parameter(torch.ones(1, 1))
        lin(torch.ones(1, 1)).sum().backward()
     """, "lin.weight", "lin.weight = nn.Parameter(torch.ones(1, 1))", "lin.weight.copy_("),
    (Cause.OPTIMIZER_LACKS_PARAMETER, """
        model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.5)
        model[1] = nn.Linear(1, 2)
     """, "model[1].weight", "nn.Linear(1, 2)", "add_param_group"),
    (Cause.PARAMETER_NOT_REGISTERED, """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(3)).double()
        net = Net()
     """, "net.scale", "nn.Parameter(torch.ones(3)).double()",
     "`nn.Parameter(torch.ones(3).double())`"),
    (Cause.PARAMETER_NOT_REGISTERED, """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = torch.ones(3, requires_grad=True)
        net = Net()
     """, "net.scale", "torch.ones(3, requires_grad=True)", "`nn.Parameter(torch.ones(3))`"),
    (Cause.PARAMETER_NOT_REGISTERED, """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = [nn.Linear(2, 2)]
        net = Net()
     """, "net.parts[0].weight", "self.parts = [nn.Linear(2, 2)]",
     "`self.parts = nn.ModuleList([nn.Linear(2, 2)])`"),
    (Cause.PARAMETER_NOT_REGISTERED, """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.ones(3, requires_grad=True))
        net = Net()
     """, "net.scale", "torch.ones(3, requires_grad=True)", "nn.Parameter"),
    (Cause.NAN, """
        t = torch.tensor([0.0, 4.0], requires_grad=True)
        (t * t).sqrt().sum().backward()
     """, "t", "(t * t).sqrt()", "`(t * t + 1e-12).sqrt()`"),
    (Cause.NAN, """
        t = torch.tensor([0.0, 4.0], requires_grad=True)
        torch.where(t > 1, 1 / t, t).sum().backward()
     """, "t", "1 / t", "`1 / torch.where(t > 1, t, torch.ones_like(t))`"),
    (Cause.NAN, """
        x = torch.tensor([3.0], requires_grad=True)
        t = x.std()
     """, "t", "x.std()", "`x.std(correction=0)`"),
    (Cause.NAN, """
        t = torch.tensor([-1.0, 4.0], requires_grad=True)
        loss = (torch.sqrt(t) * 2).sum()
        loss.backward()
     """, "t", "torch.sqrt(t)", "`torch.sqrt(t.clamp(min=0))`"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cause", "source", "asked", "culprit", "repair"),
    CASES,
    ids=[f"{case[0].name.lower()}-{k}" for k, case in enumerate(CASES)],
)
def test_cause_place_and_repair(cause, source, asked, culprit, repair):
    namespace = program(source)
    found = eval("why(" + asked + ")", namespace | {"why": why})
    assert found.cause is cause
    assert found.places[0].expression == culprit
    assert any(repair in line for line in found.help) or not repair
    text = str(found)
    assert text.startswith(found.verdict)
    assert "^" in text


def test_modules_whose_constructor_failed_early_do_not_matter():
    left = []

    class Early(lamina.nn.Module):
        def __init__(self):
            left.append(self)
            self.weight = lamina.nn.Parameter(lamina.ones(1))

    with pytest.raises(AttributeError, match="before Module"):
        Early()
    lin = lamina.nn.Linear(1, 1)
    lamina.optim.SGD(lin.parameters(), lr=0.5)
    assert why(lin.weight).cause is Cause.BACKWARD_NOT_RUN
    kept = lamina.optim.SGD([lin.bias], lr=0.5)
    assert why(lin.weight).cause is Cause.OPTIMIZER_LACKS_PARAMETER
    assert kept.param_groups[0]["params"][0] is lin.bias
    assert lin.weight.graph() is not None


def test_a_loss_tells_whether_a_leaf_is_reached():
    w = lamina.ones(2, requires_grad=True)
    v = lamina.ones(2, requires_grad=True)
    loss = (w.detach() * v).sum()
    found = why(w, loss=loss)
    assert found.cause is Cause.DETACHED
    assert found.places[0].expression == "w.detach()"
    assert why(v, loss=loss).cause is Cause.BACKWARD_NOT_RUN
    other = lamina.ones(2, requires_grad=True)
    assert why(other, loss=loss).cause is Cause.NOT_REACHED


def test_every_cause_has_a_case():
    # UNTOLD is said of PyTorch's tensors only.
    assert {case[0] for case in CASES} == set(Cause) - {Cause.UNTOLD}


def test_every_cause_says_what_it_means():
    assert all(len(cause.value.split()) > 3 for cause in Cause)


def test_explanation_prints_itself():
    found = why(lamina.ones(2))
    assert isinstance(found, Explanation)
    assert repr(found) == str(found)
    assert found.notes[0][0] is found.places[0]


@pytest.mark.parametrize("value", [None, [1.0], "x", 3])
def test_what_is_no_tensor(value):
    with pytest.raises(errors.ArgumentTypeError, match="explains a Tensor"):
        why(value)


def test_grad_that_is_none_points_to_its_owner():
    w = lamina.ones(2, requires_grad=True)
    with pytest.raises(errors.ArgumentTypeError, match=r"why\(w\)"):
        why(w.grad)


def test_zeroed_gradient_counts_no_earlier_pass():
    w = lamina.ones(2, requires_grad=True)
    (w * 2).sum().backward()
    (w * 2).sum().backward()
    w.grad.zero_()
    (w * 2).sum().backward()
    assert why(w).cause is Cause.FINE


def test_detached_alias_on_purpose_is_no_fault():
    w = lamina.ones(2, requires_grad=True)
    h = (w * 2).detach().requires_grad_()
    (h * 3).sum().backward()
    assert why(h).cause is Cause.FINE


def test_data_change_after_backward_is_no_fault():
    w = lamina.ones(2, requires_grad=True)
    (w * w).sum().backward()
    w.data -= 0.1 * w.grad
    assert why(w).cause is Cause.FINE


def test_retained_non_leaf_is_fine():
    w = lamina.ones(2, requires_grad=True)
    h = w * 2
    h.retain_grad()
    assert why(h).cause is Cause.FINE


def test_records_keep_no_tensor_alive():
    import weakref

    w = lamina.ones(2, requires_grad=True)
    h = w * 2
    _ = h.detach(), h.argmax()
    h.sum().backward()
    gone = weakref.ref(h), weakref.ref(w)
    del h, w
    assert [reference() for reference in gone] == [None, None]


def test_records_are_bounded():
    w = lamina.ones(2, requires_grad=True)
    for _ in range(100):
        w.sum().backward()
        _ = w.detach()
    assert len(records.passes) <= records.REMEMBERED_PASSES
    assert len(records.cuts) <= records.REMEMBERED_CUTS


def test_records_are_not_copied_or_pickled():
    import copy
    import pickle

    w = lamina.nn.Parameter(lamina.ones(2))
    w.requires_grad_(False)
    w.requires_grad_()
    (w * 2).sum().backward()
    lin = lamina.nn.Linear(2, 2)
    lin.weight = lamina.nn.Parameter(lamina.ones(2, 2))
    for value in (w, lin):
        copy.deepcopy(value)
        pickle.loads(pickle.dumps(value))
    assert not records.PRIVATE & set(vars(copy.deepcopy(w)))


def test_the_first_write_with_a_history_is_the_one_that_made_a_leaf_computed():
    base = lamina.zeros(4, 4)
    value = lamina.ones(2, requires_grad=True)
    base[0, :2] = value
    base[1].add_(1)

    answer = lamina.why(base)

    assert answer.places[0].expression == "base[0, :2] = value"
    assert "`value.detach()`" in " ".join(answer.help)
