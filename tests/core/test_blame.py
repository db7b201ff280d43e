"""Errors about tensors and graphs: class, phrase, the place that is to blame, and the repair."""

import linecache
import textwrap
import warnings

import pytest

import lamina
from lamina import errors


def error_of(source, name="<program>"):
    """Run a program that ends in an error; the error, which finds the program's source."""
    source = textwrap.dedent(source).strip("\n") + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace = {"torch": lamina, "nn": lamina.nn, "F": lamina.nn.functional}
    try:
        exec(compile(source, name, "exec"), namespace)
    except errors.LaminaError as error:
        return error
    finally:
        lamina.set_grad_enabled(True)
    raise AssertionError("no error")


# Class, program, phrase of PyTorch's, expressions at fault in order, a part of the help.
CASES = [
    # leaves
    (errors.NotALeafFlag, """
        y = torch.ones(2, requires_grad=True) * 2
        y.requires_grad = False
     """, "you can only change requires_grad flags of leaf variables",
     ["y.requires_grad = False", "torch.ones(2, requires_grad=True) * 2"], "`y = y.detach()`"),
    (errors.RequiresGradDtype, "torch.tensor([1], requires_grad=True)",
     "Only Tensors of floating point and complex dtype can require gradients",
     ["torch.tensor([1], requires_grad=True)"], "1.0"),
    (errors.RequiresGradDtype, "torch.arange(3).requires_grad_()",
     "only Tensors of floating point dtype can require gradients",
     ["torch.arange(3).requires_grad_()"], "float()"),
    (errors.InferenceTensorError, """
        with torch.inference_mode():
            t = torch.ones(2)
        t.requires_grad_()
     """, "Setting requires_grad=True on inference tensor",
     ["t.requires_grad_()", "torch.ones(2)"], "`t.clone()`"),
    (errors.NonLeafOptimized, """
        w = torch.ones(2, requires_grad=True) * 0.1
        torch.optim.SGD([w], lr=0.1)
     """, "can't optimize a non-leaf Tensor",
     ["torch.ones(2, requires_grad=True) * 0.1", "torch.optim.SGD([w], lr=0.1)"],
     "`(torch.ones(2) * 0.1).requires_grad_()`"),
    (errors.NonLeafOptimized, """
        w = torch.ones(2, requires_grad=True)
        torch.optim.SGD([w.double()], lr=0.1)
     """, "can't optimize a non-leaf Tensor", ["w.double()"], "pass `[w]`"),
    (errors.RetainGradRefused, """
        t = torch.ones(2)
        t.retain_grad()
     """, "can't retain_grad on Tensor that has requires_grad=False",
     ["t.retain_grad()", "torch.ones(2)"], "`t.requires_grad_()`"),
    (errors.HookRefused, """
        t = torch.ones(2)
        t.register_hook(print)
     """, "doesn't require gradient", ["t.register_hook(print)", "torch.ones(2)"],
     "`t.requires_grad_()`"),
    (errors.HookRefused, """
        w = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            t = w * 2
        t.register_hook(print)
     """, "doesn't require gradient",
     ["t.register_hook(print)", "w * 2", "with torch.no_grad()"], "outside no_grad"),
    (errors.DeepcopyOfNonLeaf, """
        import copy
        t = torch.ones(2, requires_grad=True) * 2
        copy.deepcopy(t)
     """, "created explicitly by the user",
     ["torch.ones(2, requires_grad=True) * 2", "copy.deepcopy(t)"], "`t.detach()`"),
    (errors.NumpyOfRequiringTensor, """
        x = torch.ones(2, requires_grad=True)
        (x * 2).numpy()
     """, "Can't call numpy() on Tensor that requires grad", ["(x * 2).numpy()", "x * 2"],
     "`(x * 2).detach().numpy()`"),
    (errors.NotAParameter, """
        lin = nn.Linear(2, 1)
        lin.weight = torch.zeros(1, 2)
     """, "cannot assign 'torch.FloatTensor' as parameter 'weight'",
     ["lin.weight = torch.zeros(1, 2)", "nn.Linear(2, 1)"],
     "`lin.weight = nn.Parameter(torch.zeros(1, 2))`"),
    # gradients that are assigned
    (errors.GradAssignmentMismatch, """
        p = torch.zeros(4, requires_grad=True)
        p.grad = torch.ones(1, 4)
     """, "assign a gradient of size", ["p.grad = torch.ones(1, 4)"], "`torch.ones_like(p)`"),
    (errors.GradAssignmentMismatch, """
        p = torch.zeros(4, requires_grad=True)
        p.grad = torch.ones(4, dtype=torch.float64)
     """, "assign a gradient with dtype", ["p.grad = torch.ones(4, dtype=torch.float64)"],
     "`.to(p.dtype)`"),
    (errors.GradNotATensor, """
        p = torch.zeros(4, requires_grad=True)
        p.grad = 1.0
     """, "expected to be a Tensor or None", ["p.grad = 1.0"],
     "`p.grad = torch.full_like(p, 1.0)`"),
    (errors.DataMismatch, """
        p = torch.zeros(4, requires_grad=True)
        p.data = torch.ones(4, dtype=torch.int64)
     """, "must be floating point or complex dtype", ["p.data = torch.ones(4, dtype=torch.int64)"],
     "convert"),
    # optimizers without parameters
    (errors.EmptyParameterList, """
        params = nn.Linear(2, 2).parameters()
        n = sum(p.numel() for p in params)
        torch.optim.SGD(params, lr=0.1)
     """, "empty parameter list",
     ["(p.numel() for p in params)", "torch.optim.SGD(params, lr=0.1)"],
     "`params = list(nn.Linear(2, 2).parameters())`"),
    (errors.EmptyParameterList, """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.zeros(3, requires_grad=True)
        torch.optim.SGD(Net().parameters(), lr=0.1)
     """, "empty parameter list", ["torch.zeros(3, requires_grad=True)"],
     "`self.w = nn.Parameter(torch.zeros(3))`"),
    (errors.EmptyParameterList, """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = [nn.Linear(1, 1)]
        torch.optim.SGD(Net().parameters(), lr=0.1)
     """, "empty parameter list", ["self.parts = [nn.Linear(1, 1)]"], "nn.ModuleList"),
    (errors.EmptyParameterList, """
        m = nn.Linear(1, 1)
        m.requires_grad_(False)
        torch.optim.SGD(filter(lambda p: p.requires_grad, m.parameters()), lr=0.1)
     """, "all 2 parameters of Linear are frozen", ["m.requires_grad_(False)"],
     "requires_grad_(True)"),
    (errors.EmptyParameterList, "torch.optim.SGD([], lr=0.1)", "empty parameter list",
     ["torch.optim.SGD([], lr=0.1)"], "model.parameters()"),
    # changes in place
    (errors.SavedValueModified, """
        h = torch.ones(2, requires_grad=True).exp()
        h += 1
        h.sum().backward()
     """, "modified by an inplace operation",
     ["h += 1", "torch.ones(2, requires_grad=True).exp()"], "`h = h + 1`"),
    (errors.SavedValueModified, """
        h = torch.ones(3, requires_grad=True).sigmoid()
        h[1:] = 7.0
        h.sum().backward()
     """, "is at version 1; expected version 0", ["h[1:] = 7.0"], "`h = h.clone()`"),
    (errors.SavedValueModified, """
        h = torch.ones(3, requires_grad=True).sigmoid()
        h.detach().zero_()
        h.sum().backward()
     """, "modified by an inplace operation", ["h.detach().zero_()"], "`h.detach().clone()`"),
    (errors.SavedValueModified, """
        d = torch.ones(1, requires_grad=True)
        g = torch.ones(1, requires_grad=True)
        opt = torch.optim.SGD([d], lr=0.1)
        loss = (d * g).sum()
        d.grad = torch.ones(1)
        opt.step()
        loss.backward()
     """, "modified by an inplace operation", ["opt.step()", "d * g"], "forward pass again"),
    (errors.LeafModified, """
        w = torch.ones(2, requires_grad=True)
        w -= 0.1
     """, "a leaf Variable that requires grad", ["w -= 0.1", "torch.ones(2, requires_grad=True)"],
     "`w = w - 0.1`"),
    (errors.LeafModified, """
        w = torch.ones(2, requires_grad=True)
        F.relu(w, inplace=True)
     """, "used in an in-place operation", ["F.relu(w, inplace=True)"], "`F.relu(w)`"),
    (errors.ViewOfLeafModified, """
        w = torch.ones(2, requires_grad=True)
        w[0] = 5.0
     """, "a view of a leaf Variable that requires grad", ["w[0] = 5.0"], "no_grad"),
    (errors.MultiViewModified, """
        y = torch.ones(2, 2, requires_grad=True) * 1
        for row in y:
            row.mul_(3)
     """, "output of a function that returns multiple views", ["row.mul_(3)", "for row in y"],
     "`y[i]`"),
    (errors.NoGradViewModified, """
        y = torch.ones(4, requires_grad=True) * 2
        with torch.no_grad():
            v = y.view(2, 2)
        v.mul_(3)
     """, "created in no_grad mode", ["v.mul_(3)", "y.view(2, 2)"], "outside no_grad"),
    (errors.OverlappingWrite, """
        wide = torch.ones(2, 1).expand(2, 3)
        wide.sub_(1)
     """, "refers to a single memory location", ["wide.sub_(1)", "torch.ones(2, 1).expand(2, 3)"],
     "`wide = wide.clone()`"),
    (errors.OutWithGrad, """
        x = torch.ones(2, requires_grad=True)
        buf = torch.zeros(2)
        torch.add(x, 1, out=buf)
     """, "out=... arguments don't support automatic differentiation",
     ["torch.add(x, 1, out=buf)", "torch.ones(2, requires_grad=True)"], "`buf = torch.add(x, 1)`"),
    (errors.WriteShapeMismatch, """
        a = torch.ones(3)
        a += torch.ones(2, 3)
     """, "doesn't match the broadcast shape", ["a += torch.ones(2, 3)"], "out of place"),
    (errors.CastRefused, """
        n = torch.ones(2, dtype=torch.int64)
        n += 0.5
     """, "result type Float can't be cast to the desired output type Long", ["n += 0.5"],
     "`n = n.to("),
    (errors.InferenceTensorError, """
        w = torch.ones(1, requires_grad=True)
        with torch.inference_mode():
            f = torch.ones(1) * 2
        w * f
     """, "Inference tensors cannot be saved for backward", ["torch.ones(1) * 2", "w * f"],
     "`f.clone()`"),
    # backward passes
    (errors.NoGraph, """
        x = torch.ones(2)
        loss = (x * 3).sum()
        loss.backward()
     """, "does not require grad and does not have a grad_fn",
     ["torch.ones(2)", "(x * 3).sum()", "loss.backward()"], "`x.requires_grad_()`"),
    (errors.NoGraph, """
        w = torch.ones(2, requires_grad=True)
        y = w * 2
        y.data.sum().backward()
     """, "does not require grad", ["y.data"], "`y` itself instead of `y.data`"),
    (errors.NoGraph, """
        lin = nn.Linear(2, 1)
        lin.requires_grad_(False)
        lin(torch.ones(1, 2)).sum().backward()
     """, "frozen", ["lin.requires_grad_(False)"], "requires_grad_(True)"),
    (errors.GraphFreed, """
        x = torch.ones(2, requires_grad=True)
        y = (x * x).sum()
        y.backward()
        y.backward()
     """, "Trying to backward through the graph a second time",
     ["y.backward()", "y.backward()", "x * x"], "`y.backward(retain_graph=True)`"),
    (errors.GraphFreed, """
        w = torch.ones(2, requires_grad=True)
        h = torch.ones(2)
        for _ in range(2):
            h = torch.tanh(w * h)
            h.sum().backward()
     """, "an earlier iteration", ["w * h", "h.sum().backward()"], "`h = h.detach()`"),
    (errors.NonScalarRoot, """
        x = torch.ones(3, requires_grad=True)
        (x * x).backward()
     """, "grad can be implicitly created only for scalar outputs", ["(x * x).backward()", "x * x"],
     "`(x * x).sum().backward()`"),
    (errors.GradShapeMismatch, """
        y = torch.ones(2, requires_grad=True) * 2
        y.backward(torch.ones(2, 1))
     """, "Mismatch in shape", ["y.backward(torch.ones(2, 1))"], "reshape([2])"),
    (errors.UnusedInput, """
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0, requires_grad=True)
        y = a * a
        torch.autograd.grad(y, [a, b])
     """, "appears to not have been used in the graph",
     ["torch.autograd.grad(y, [a, b])", "torch.tensor(3.0, requires_grad=True)", "a * a"],
     "`torch.autograd.grad(y, [a, b], allow_unused=True)`"),
    (errors.UnusedInput, """
        x = torch.ones(3, requires_grad=True)
        y = (x * x).sum()
        torch.autograd.grad(y, x[1])
     """, "appears to not have been used in the graph",
     ["torch.autograd.grad(y, x[1])", "x[1]"], "`torch.autograd.grad(y, x)`"),
    (errors.NoGraph, """
        x = torch.ones(3)
        w = torch.ones(3, requires_grad=True)
        torch.autograd.grad((x * w).sum(), x)
     """, "does not require grad", ["torch.autograd.grad((x * w).sum(), x)", "torch.ones(3)"],
     "`x.requires_grad_()`"),
    # calls
    (errors.ShapeMismatch, """
        a = torch.ones(3)
        b = torch.ones(4)
        a + b
     """, "must match the size of tensor b (4)", ["a + b", "torch.ones(3)", "torch.ones(4)"],
     "broadcast"),
    (errors.MatmulShapeMismatch, """
        a = torch.ones(2, 3)
        a @ a
     """, "cannot be multiplied (2x3 and 2x3)", ["a @ a"], "`a @ a.T`"),
    (errors.ArgumentTypeError, "torch.exp('x')", "must be Tensor, not str", ["torch.exp('x')"],
     "torch.as_tensor"),
    (errors.DimensionOutOfRange, "torch.ones(3).sum(dim=1)", "Dimension out of range",
     ["torch.ones(3).sum(dim=1)"], ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "source", "phrase", "places", "repair"),
    CASES,
    ids=[f"{case[0].__name__}-{k}" for k, case in enumerate(CASES)],
)
def test_class_phrase_places_and_repair(kind, source, phrase, places, repair):
    error = error_of(source)
    assert type(error) is kind
    assert phrase in str(error).splitlines()[0]
    assert [place.expression for place in error.places][: len(places)] == places
    assert any(repair in line for line in error.help) or not repair
    assert f"[{kind.code}]" in str(error)


def test_reading_grad_of_a_non_leaf_warns_with_place_and_repair():
    w = lamina.ones(2, requires_grad=True)
    h = w * 2
    with pytest.warns(errors.NonLeafGradWarning, match="not a leaf Tensor") as log:
        assert h.grad is None
    (entry,) = log
    assert entry.message.places[0].expression == "w * 2"
    assert "`h.retain_grad()`" in entry.message.help[0]
    assert "`w.grad`" in entry.message.help[0]


def test_failing_change_in_place_changes_nothing():
    w = lamina.ones(2, requires_grad=True)
    with pytest.raises(errors.LeafModified):
        w += 1
    assert w.tolist() == [1.0, 1.0]
    assert w._version == 0


def test_error_without_source_still_says_what_and_why():
    namespace = {"torch": lamina}
    with pytest.raises(errors.NoGraph, match="does not require grad") as caught:
        exec(compile("torch.ones(2).sum().backward()", "<nowhere>", "exec"), namespace)
    assert "<nowhere>:1" in str(caught.value)


def test_explaining_never_raises_on_odd_programs():
    lines = ["x = torch.ones(2, requires_grad=True)", "y = (x", "  * 2)", "y.backward()"]
    error = error_of("\n".join(lines))
    assert error.places[0].expression == "y.backward()"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "help:" in str(error)
