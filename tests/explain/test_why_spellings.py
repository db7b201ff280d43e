"""`why`, for the same causes in many spellings: functions, modules, loops, lambdas, aliases."""

import pytest

from lamina.explain import Cause, why
from tests.explain.test_why import program

# What it is, the cause, what is asked about, the expression at fault, a part of the first repair.
CASES = [
    ("hook zeroes", Cause.REPLACED_BY_HOOK, "w", "lambda g: torch.zeros_like(g)",
     "a hook that returns nothing leaves", """
        w = torch.ones(2, requires_grad=True)
        w.register_hook(lambda g: torch.zeros_like(g))
        (w * 3).sum().backward()
     """),
    ("hook only prints", Cause.FINE, "w", "(w * 3).sum().backward()",
     "", """
        def look(g):
            g.norm()
        w = torch.ones(2, requires_grad=True)
        w.register_hook(look)
        (w * 3).sum().backward()
     """),
    ("a hook after accumulation clears it", Cause.CLEARED, "w", "p.grad = None",
     "`if w.grad is not None`", """
        w = torch.ones(2, requires_grad=True)
        def clear(p):
            p.grad = None
        w.register_post_accumulate_grad_hook(clear)
        (w * 3).sum().backward()
     """),
    ("frozen by loop", Cause.FROZEN, "model[0].weight", "p.requires_grad = False",
     "`model[0].weight.requires_grad_()`", """
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        for p in model[0].parameters():
            p.requires_grad = False
        model(torch.ones(1, 2)).sum().backward()
     """),
    ("frozen by module requires_grad_", Cause.FROZEN, "model[0].weight",
     "model[0].requires_grad_(False)",
     "`model[0].weight.requires_grad_()`", """
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        model[0].requires_grad_(False)
     """),
    ("Parameter(requires_grad=False)", Cause.NEVER_REQUIRED, "p",
     "nn.Parameter(torch.ones(2), requires_grad=False)",
     "`p.requires_grad_()`", """
        p = nn.Parameter(torch.ones(2), requires_grad=False)
     """),
    ("no_grad decorator", Cause.NOT_RECORDED, "y", "x * w",
     "compute it outside no_grad, where", """
        w = torch.ones(2, requires_grad=True)
        @torch.no_grad()
        def f(x):
            return x * w
        y = f(torch.ones(2))
     """),
    ("inference decorator", Cause.INFERENCE_TENSOR, "y", "lin(x)",
     "`y.clone()`", """
        lin = nn.Linear(2, 2)
        @torch.inference_mode()
        def predict(x):
            return lin(x)
        y = predict(torch.ones(1, 2))
     """),
    ("moved method chain multi-line", Cause.MOVED_AFTER_REQUIRES_GRAD, "w",
     "torch.randn(3, requires_grad=True).double()",
     "`torch.randn(3).double().requires_grad_()`", """
        w = (
            torch.randn(
                3, requires_grad=True
            )
            .double()
        )
     """),
    ("list comprehension of non-leafs", Cause.NON_LEAF_NOT_RETAINED, "ws[1]",
     "torch.randn(2, requires_grad=True) * 0.1",
     "`(torch.randn(2) * 0.1).requires_grad_()`", """
        ws = [torch.randn(2, requires_grad=True) * 0.1 for _ in range(3)]
        sum(w.sum() for w in ws).backward()
     """),
    ("lambda computed", Cause.NON_LEAF_NOT_RETAINED, "y", "t * 2",
     "`y.retain_grad()`", """
        x = torch.ones(2, requires_grad=True)
        f = lambda t: t * 2
        y = f(x)
        y.sum().backward()
     """),
    ("a sum of items", Cause.CONVERTED_TO_PYTHON, "w", "(w * x).sum().item()",
     "`(w * x).sum()`", """
        w = torch.ones(2, requires_grad=True)
        total = 0.0
        for x in (1.0, 2.0):
            total += (w * x).sum().item()
        loss = torch.tensor(total, requires_grad=True)
        loss.backward()
     """),
    ("numpy round trip", Cause.CONVERTED_TO_PYTHON, "y", "torch.tensor(np.exp(w.detach().numpy()))",
     "`w`", """
        import numpy as np
        w = torch.ones(2, requires_grad=True)
        y = torch.tensor(np.exp(w.detach().numpy()))
     """),
    ("tolist", Cause.CONVERTED_TO_PYTHON, "y", "torch.tensor(w.tolist())",
     "`w`", """
        w = torch.ones(2, requires_grad=True)
        y = torch.tensor(w.tolist())
     """),
    ("float() in a list", Cause.CONVERTED_TO_PYTHON, "y", "torch.tensor([float(w), 2.0])",
     "keep the elements tensors, and put", """
        w = torch.ones((), requires_grad=True)
        y = torch.tensor([float(w), 2.0])
     """),
    ("detach in module forward", Cause.DETACHED, "net.a.weight", "self.a(x).detach()",
     "`self.a(x)`", """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
                self.b = nn.Linear(2, 1)
            def forward(self, x):
                h = self.a(x).detach()
                return self.b(h)
        net = Net()
        net(torch.ones(1, 2)).sum().backward()
     """),
    ("no_grad in forward", Cause.NOT_RECORDED, "net.a.weight", "self.a(x)",
     "compute it outside no_grad, where", """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
                self.b = nn.Linear(2, 1)
            def forward(self, x):
                with torch.no_grad():
                    h = self.a(x)
                return self.b(h)
        net = Net()
        net(torch.ones(1, 2)).sum().backward()
     """),
    ("unused branch param", Cause.NOT_REACHED, "net.b.weight",
     "net(torch.ones(1, 2)).sum().backward()",
     "`net.b.weight`", """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 1)
                self.b = nn.Linear(2, 1)
            def forward(self, x):
                return self.a(x)
        net = Net()
        net(torch.ones(1, 2)).sum().backward()
     """),
    ("argmax loss", Cause.NOT_DIFFERENTIABLE, "lin.weight", "scores.argmax(1)",
     "for a choice that can be learned,", """
        lin = nn.Linear(2, 2)
        scores = lin(torch.ones(3, 2))
        acc = (scores.argmax(1) == torch.tensor([0, 1, 0])).float().mean()
        acc.requires_grad_()
        acc.backward()
     """),
    ("model.zero_grad", Cause.CLEARED, "lin.weight", "lin.zero_grad()",
     "read the gradient before zero_grad();", """
        lin = nn.Linear(2, 1)
        lin(torch.ones(1, 2)).sum().backward()
        lin.zero_grad()
     """),
    ("no zero_grad in the loop", Cause.ACCUMULATED, "lin.weight", "loss.backward()",
     "`optimizer.zero_grad()`", """
        lin = nn.Linear(2, 1)
        opt = torch.optim.SGD(lin.parameters(), lr=0.1)
        for step in range(2):
            loss = lin(torch.ones(1, 2)).sum()
            loss.backward()
            opt.step()
     """),
    ("int cast method chain", Cause.INTEGER_DTYPE, "y", "(x * 2).int()",
     "stay in floating point where a", """
        x = torch.tensor([1.5], requires_grad=True)
        y = (x * 2).int()
     """),
    ("in-place on zeros", Cause.LEAF_LOST, "out", "out[i] = w[i] * 2",
     "`(w[i] * 2).detach()`", """
        w = torch.ones(3, requires_grad=True)
        out = torch.zeros(3)
        for i in range(3):
            out[i] = w[i] * 2
     """),
    ("a layer replaced", Cause.OPTIMIZER_LACKS_PARAMETER, "net.fc.weight", "nn.Linear(2, 2)",
     "`add_param_group({'params': [net.fc.weight]})`", """
        net = nn.Module()
        net.fc = nn.Linear(2, 2)
        net.head = nn.Linear(2, 1)
        opt = torch.optim.Adam(net.parameters())
        net.fc = nn.Linear(2, 2)
        net.head(net.fc(torch.ones(1, 2))).sum().backward()
        opt.step()
     """),
    ("param group subset", Cause.OPTIMIZER_LACKS_PARAMETER, "net[1].weight", "nn.Linear(2, 1)",
     "`add_param_group({'params': [net[1].weight]})`", """
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        opt = torch.optim.SGD(net[0].parameters(), lr=0.1)
        net(torch.ones(1, 2)).sum().backward()
        opt.step()
     """),
    ("async", Cause.NON_LEAF_NOT_RETAINED, "y", "t * 2",
     "`y.retain_grad()`", """
        import asyncio
        x = torch.ones(2, requires_grad=True)
        async def f(t):
            await asyncio.sleep(0)
            return t * 2
        async def main():
            y = await f(x)
            y.sum().backward()
            return y
        y = asyncio.run(main())
     """),
    ("an attribute, over several lines", Cause.NON_LEAF_NOT_RETAINED, "m.h",
     "torch.relu(self.w * 2)",
     "`m.h.retain_grad()`", """
        class M:
            def __init__(self):
                self.w = torch.ones(2, requires_grad=True)
            def run(self):
                self.h = torch.relu(
                    self.w
                    * 2
                )
                return self.h.sum()
        m = M()
        m.run().backward()
     """),
    ("a running loss", Cause.GRAPH_CARRIED_OVER, "total", "total + loss",
     "`total + loss.item()`", """
        lin = nn.Linear(2, 1)
        total = 0
        for _ in range(3):
            loss = lin(torch.ones(1, 2)).mean()
            loss.backward()
            total = total + loss
     """),
    ("autograd.grad result", Cause.NOT_RECORDED, "g", "torch.autograd.grad((w ** 2).sum(), w)",
     "`torch.autograd.grad((w ** 2).sum(), w, create_graph=True)`", """
        w = torch.ones(2, requires_grad=True)
        g = torch.autograd.grad((w ** 2).sum(), w)[0]
     """),
    ("plain list of params in module", Cause.PARAMETER_NOT_REGISTERED, "net.scales[0]",
     "self.scales = [nn.Parameter(torch.ones(1)) for _ in range(2)]",
     "`self.scales = nn.ParameterList([nn.Parameter(torch.ones(1)) for _ in range(2)])`", """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scales = [nn.Parameter(torch.ones(1)) for _ in range(2)]
        net = Net()
     """),
    ("multiplied by zero", Cause.ZERO_GRADIENT, "a", "(a * mask).sum().backward()",
     "look at what follows it: a mask or", """
        a = torch.ones(2, requires_grad=True)
        mask = torch.zeros(2)
        (a * mask).sum().backward()
     """),
    ("used, but not by the loss", Cause.NOT_REACHED, "b", "loss.backward()",
     "`b`", """
        a = torch.ones(2, requires_grad=True)
        b = torch.ones(2, requires_grad=True)
        c = b * 2
        loss = (a * 2).sum()
        loss.backward()
     """),
    ("set_grad_enabled as a context", Cause.NOT_RECORDED, "y", "w * 2",
     "compute it outside", """
        w = torch.ones(2, requires_grad=True)
        train = False
        with torch.set_grad_enabled(train):
            y = w * 2
     """),
    ("detach_", Cause.DETACHED, "y", "y.detach_()",
     "`y.detach_()`", """
        w = torch.ones(2, requires_grad=True)
        y = w * 2
        y.detach_()
     """),
    ("hook upstream zero", Cause.REPLACED_BY_HOOK, "w", "lambda g: g * 0",
     "a hook that returns nothing leaves", """
        w = torch.ones(2, requires_grad=True)
        h = w * 2
        h.register_hook(lambda g: g * 0)
        loss = h.sum()
        loss.backward()
     """),
    ("hook upstream zero, root gone", Cause.ZERO_GRADIENT, "w", "h.sum().backward()",
     "`mul`", """
        w = torch.ones(2, requires_grad=True)
        h = w * 2
        h.register_hook(lambda g: g * 0)
        h.sum().backward()
     """),
    ("hook method", Cause.REPLACED_BY_HOOK, "net.w", "def halve(self, g)",
     "a hook that returns nothing leaves", """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(2))
                self.w.register_hook(self.halve)
            def halve(self, g):
                return g / 2
            def forward(self, x):
                return (self.w * x).sum()
        net = Net()
        net(torch.ones(2)).backward()
     """),
    ("hook removed", Cause.FINE, "w", "(w * 3).sum().backward()",
     "", """
        w = torch.ones(2, requires_grad=True)
        handle = w.register_hook(lambda g: g * 2)
        handle.remove()
        (w * 3).sum().backward()
     """),
    ("zeros set by optimizer", Cause.CLEARED, "w", "opt.zero_grad(set_to_none=False)",
     "read the gradient before it is", """
        w = torch.ones(2, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        (w * 3).sum().backward()
        opt.zero_grad(set_to_none=False)
     """),
    ("float list", Cause.CONVERTED_TO_PYTHON, "y", "torch.tensor([float(w), 2.0])",
     "keep the elements tensors, and put", """
        w = torch.ones((), requires_grad=True)
        y = torch.tensor([float(w), 2.0])
     """),
    ("float loss", Cause.CONVERTED_TO_PYTHON, "w", "float(w * 2)",
     "`w * 2`", """
        w = torch.ones((), requires_grad=True)
        value = float(w * 2)
        loss = torch.tensor(value, requires_grad=True)
        loss.backward()
     """),
    ("losses append", Cause.CONVERTED_TO_PYTHON, "w", "(w * x).sum().item()",
     "`(w * x).sum()`", """
        w = torch.ones(2, requires_grad=True)
        losses = []
        for x in (1.0, 2.0):
            losses.append((w * x).sum().item())
        loss = torch.tensor(sum(losses) / len(losses), requires_grad=True)
        loss.backward()
     """),
    ("append of tensors is fine", Cause.FINE, "w", "loss.backward()",
     "", """
        w = torch.ones(2, requires_grad=True)
        losses = []
        for x in (1.0, 2.0):
            losses.append((w * x).sum())
        loss = torch.stack(losses).mean()
        loss.backward()
     """),
    ("a loop over time with one pass", Cause.NON_LEAF_NOT_RETAINED, "h",
     "cell(torch.ones(1, 2), h)",
     "`h.retain_grad()`", """
        cell = nn.RNNCell(2, 2)
        h = torch.zeros(1, 2)
        for _ in range(4):
            h = cell(torch.ones(1, 2), h)
        h.sum().backward()
     """),
    ("chain long", Cause.NON_LEAF_NOT_RETAINED, "loss", "h.mean()",
     "`loss.retain_grad()`", """
        w = torch.ones(2, requires_grad=True)
        b = torch.ones(2, requires_grad=True)
        x = torch.ones(2)
        h = w * x
        h = h + b
        h = torch.relu(h)
        h = h.exp()
        h = h / 2
        h = h.log()
        loss = h.mean()
     """),
    ("chain model", Cause.NON_LEAF_NOT_RETAINED, "loss", "((out - y) ** 2).mean()",
     "`loss.retain_grad()`", """
        model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
        x, y = torch.ones(3, 2), torch.zeros(3, 1)
        out = model(x)
        loss = ((out - y) ** 2).mean()
     """),
    ("param no grad in module", Cause.NEVER_REQUIRED, "net.scale",
     "nn.Parameter(torch.ones(3), requires_grad=False)",
     "`self.scale.requires_grad_()`", """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(
                    torch.ones(3),
                    requires_grad=False,
                )
        net = Net()
     """),
    ("frozen in loop by name", Cause.FROZEN, "net.body.weight", "p.requires_grad_(False)",
     "`net.body.weight.requires_grad_()`", """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(2, 2)
                self.head = nn.Linear(2, 1)
            def forward(self, x):
                return self.head(self.body(x))
        net = Net()
        for name, p in net.named_parameters():
            if not name.startswith("head"):
                p.requires_grad_(False)
        net(torch.ones(1, 2)).sum().backward()
     """),
    ("all frozen loss", Cause.FROZEN, "loss", "net.requires_grad_(False)",
     "`requires_grad_(True)`", """
        net = nn.Linear(2, 1)
        net.requires_grad_(False)
        loss = net(torch.ones(1, 2)).sum()
     """),
    ("a subclass of no_grad", Cause.NOT_RECORDED, "loss", "m(x)",
     "compute it outside no_grad, where", """
        net = nn.Linear(2, 1)
        class quiet(torch.no_grad):
            pass
        def evaluate(m, x):
            with quiet():
                return m(x).sum()
        loss = evaluate(net, torch.ones(1, 2))
     """),
    ("nested function closure", Cause.NON_LEAF_NOT_RETAINED, "y", "x * scale",
     "`y.retain_grad()`", """
        def make():
            scale = torch.ones(1, requires_grad=True)
            def apply(x):
                return x * scale
            return apply
        y = make()(torch.ones(2))
        y.sum().backward()
     """),
    ("map and lambda", Cause.NON_LEAF_NOT_RETAINED, "ys[0]", "w * k",
     "`ys[0].retain_grad()`", """
        w = torch.ones(2, requires_grad=True)
        ys = list(map(lambda k: w * k, range(1, 3)))
        sum(y.sum() for y in ys).backward()
     """),
    ("dict of params not moved", Cause.MOVED_AFTER_REQUIRES_GRAD, "params['w']",
     "torch.randn(2, requires_grad=True).to(torch.float64)",
     "`torch.randn(2).to(torch.float64).requires_grad_()`", """
        params = {name: torch.randn(2, requires_grad=True).to(torch.float64) for name in ("w", "b")}
     """),
    ("walrus", Cause.NON_LEAF_NOT_RETAINED, "h", "w * 2",
     "`h.retain_grad()`", """
        w = torch.ones(2, requires_grad=True)
        if (h := w * 2).sum() > 0:
            h.sum().backward()
     """),
    ("requires_grad_ again, on what is not used", Cause.NOT_REACHED, "w", "loss.backward()",
     "`w`", """
        w = nn.Parameter(torch.ones(2))
        v = torch.ones(2, requires_grad=True)
        loss = (v * 2).sum()
        w.requires_grad_()
        loss.backward()
     """),
    ("a position that was read out", Cause.NEVER_REQUIRED, "t", "torch.tensor(data[i])",
     "requires_grad=True", """
        data = [1.0, 2.0]
        i = torch.tensor([1]).item()
        t = torch.tensor(data[i])
     """),
    ("requires_grad_ after the computation", Cause.NOT_REACHED, "x", "x.requires_grad_()",
     "`x.requires_grad_()`", """
        x = torch.ones(2)
        w = torch.ones(2, requires_grad=True)
        loss = (x * w).sum()
        x.requires_grad_()
        loss.backward()
     """),
    ("conditional expression", Cause.DETACHED, "y", "(w * 2).detach()",
     "`w * 2`", """
        w = torch.ones(2, requires_grad=True)
        train = False
        y = w * 2 if train else (w * 2).detach()
     """),
    ("data chain", Cause.DETACHED, "y", "w.data",
     "`w`", """
        w = torch.ones(2, requires_grad=True)
        y = w.data.clone() * 3
     """),
    ("clone detach order", Cause.DETACHED, "y", "w.clone().detach()",
     "`w.clone()`", """
        w = torch.ones(2, requires_grad=True)
        y = w.clone().detach()
     """),
    ("numpy, by way of a name", Cause.CONVERTED_TO_PYTHON, "y", "w.detach().cpu().numpy()",
     "`w`", """
        import numpy as np
        w = torch.ones(2, requires_grad=True)
        a = w.detach().cpu().numpy()
        a = a * 2
        y = torch.from_numpy(a)
     """),
    ("generator expression", Cause.NON_LEAF_NOT_RETAINED, "total", "sum(w.sum() for w in ws)",
     "`total.retain_grad()`", """
        ws = [torch.ones(1, requires_grad=True) for _ in range(3)]
        total = sum(w.sum() for w in ws)
        total.backward()
     """),
    ("class without module, alias of param", Cause.FINE, "p",
     "lin(torch.ones(1, 2)).sum().backward()",
     "", """
        lin = nn.Linear(2, 1)
        p = lin.weight
        lin(torch.ones(1, 2)).sum().backward()
     """),
    ("module replaced in optimizer", Cause.OPTIMIZER_LACKS_PARAMETER, "model.head.weight",
     "nn.Linear(2, 3)",
     "`add_param_group({'params': [model.head.weight]})`", """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(2, 2)
                self.head = nn.Linear(2, 2)
            def forward(self, x):
                return self.head(self.body(x))
        model = Net()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        setattr(model, "head", nn.Linear(2, 3))
        model(torch.ones(1, 2)).sum().backward()
        opt.step()
     """),
    ("a weight replaced by its half", Cause.OPTIMIZER_LACKS_PARAMETER, "model.weight",
     "model.weight = nn.Parameter(model.weight / 2)",
     "`with torch.no_grad(): model.weight.copy_(...)`", """
        model = nn.Linear(2, 2)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        model.weight = nn.Parameter(model.weight / 2)
        model(torch.ones(1, 2)).sum().backward()
        opt.step()
     """),
    ("index put", Cause.LEAF_LOST, "table", "table[0].copy_(row)",
     "`row.detach()`", """
        row = torch.ones(3, requires_grad=True)
        table = torch.zeros(2, 3)
        table[0].copy_(row)
     """),
    ("clamp inactive", Cause.ZERO_GRADIENT, "w", "w.clamp(0, 1).sum().backward()",
     "look at what follows it: a mask or", """
        w = torch.tensor([5.0, 6.0], requires_grad=True)
        w.clamp(0, 1).sum().backward()
     """),
    ("autograd.grad only", Cause.BACKWARD_NOT_RUN, "w", "torch.autograd.grad((p ** 2).sum(), p)",
     "`(p ** 2).sum().backward()`", """
        w = torch.ones(2, requires_grad=True)
        def slope(p):
            return torch.autograd.grad(
                (p ** 2).sum(),
                p,
            )[0]
        s = slope(w)
     """),
    ("async no_grad", Cause.NOT_RECORDED, "y", "w * 2",
     "compute it outside no_grad, where", """
        import asyncio
        w = torch.ones(2, requires_grad=True)
        async def infer():
            with torch.no_grad():
                return w * 2
        y = asyncio.run(infer())
     """),
    ("long of float param", Cause.INTEGER_DTYPE, "idx", "(pos * 2).round().long()",
     "stay in floating point where a", """
        pos = nn.Parameter(torch.tensor([1.2]))
        table = torch.ones(4, 2, requires_grad=True)
        idx = (pos * 2).round().long()
        out = table[idx]
     """),
    ("sort indices", Cause.INTEGER_DTYPE, "i", "x.sort()",
     "`.values`", """
        x = torch.randn(3, requires_grad=True)
        v, i = x.sort()
     """),
    ("deepcopied model's params", Cause.BACKWARD_NOT_RUN, "twin.weight", "copy.deepcopy(lin)",
     "`if twin.weight.grad is not None`", """
        import copy
        lin = nn.Linear(2, 1)
        twin = copy.deepcopy(lin)
        opt = torch.optim.SGD(twin.parameters(), lr=0.1)
        lin(torch.ones(1, 2)).sum().backward()
     """),
    ("state dict tensor", Cause.DETACHED, "w", "lin.state_dict()",
     "use the tensor or the parameter", """
        lin = nn.Linear(2, 1)
        w = lin.state_dict()["weight"]
     """),
    ("a step of meta-learning", Cause.NON_LEAF_NOT_RETAINED, "w2", "w - 0.1 * g",
     "`w2.retain_grad()`", """
        w = torch.ones(2, requires_grad=True)
        (g,) = torch.autograd.grad((w * w).sum(), w, create_graph=True)
        w2 = w - 0.1 * g
        w2.sum().backward()
     """),
]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "cause", "asked", "culprit", "repair", "source"),
    CASES,
    ids=[case[0] for case in CASES],
)
def test_cause_place_and_repair(title, cause, asked, culprit, repair, source):
    found = eval(f"why({asked})", program(source) | {"why": why})
    assert found.cause is cause
    assert found.places[0].expression == culprit
    assert repair in "\n".join(found.help)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_carets_cover_the_expression(case):
    found = eval(f"why({case[2]})", program(case[5]) | {"why": why})
    for place in found.places:
        first = place.text.split("\n")[0]
        marked = first[place.start : place.end]
        shown = place.expression if "\n" not in place.text else place.expression[: len(marked)]
        assert marked.rstrip("(").strip() == shown.rstrip("(").strip()


HISTORY = """
    w = torch.ones(2, requires_grad=True)
    h = w * 2
    h = torch.relu(h)
    for _ in range(3):
        h = h + 1
    h = h.exp()
    h = h / 2
    h = h.log()
    loss = h.mean()
"""


def test_a_computed_tensor_tells_how_it_came_about():
    found = eval("why(loss)", program(HISTORY) | {"why": why})
    assert [step.place.expression for step in found.steps] == [
        "w * 2", "torch.relu(h)", "h + 1", "h.exp()", "h / 2", "h.log()", "h.mean()",
    ]  # fmt: skip
    assert [step.times for step in found.steps] == [1, 1, 3, 1, 1, 1, 1]
    assert [step.name for step in found.steps] == ["h"] * 6 + ["loss"]
    assert found.history == (
        "it came about from `w` by: `h = w * 2`, `h = torch.relu(h)`, `h = h + 1` (3 times), "
        "2 more, `h = h.log()`, `loss = h.mean()`"
    )
    assert found.history in str(found)


def test_a_short_history_is_told_by_the_places():
    found = eval(
        "why(h)", program("w = torch.ones(2, requires_grad=True)\nh = w * 2") | {"why": why}
    )
    assert len(found.steps) == 1
    assert found.history == ""


def test_a_leaf_has_no_history():
    found = eval("why(w)", program("w = torch.ones(2, requires_grad=True)") | {"why": why})
    assert found.steps == ()
