"""What may change between two calls of a compiled function: programs in three parts.

`setup` runs once, `result` is what the function returns for the tensor `x`, `change` runs between
two calls, and `undo` at the end. `h` is an empty list, for what must be taken off again.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """One change, and the function that depends on what it changes."""

    name: str
    setup: str
    result: str
    change: str
    undo: str = ""


LINEAR = "m = nn.Linear(3, 3)"
TWO = "m = nn.Sequential(nn.Linear(3, 3), nn.Tanh())"
HOOKS = "H = torch.nn.modules.module"
OFF = "h[0].remove()"

LIBRARY = [
    Change("forward hook on all", f"{TWO}; {HOOKS}", "m(x)",
           "h.append(H.register_module_forward_hook(lambda mod, a, o: o * 2))", OFF),
    Change("forward pre-hook on all", f"{TWO}; {HOOKS}", "m(x)",
           "h.append(H.register_module_forward_pre_hook(lambda mod, a: (a[0] * 2,)))", OFF),
    Change("backward hook on all", f"{TWO}; {HOOKS}", "m(x)",
           "h.append(H.register_module_full_backward_hook(lambda mod, i, o: (i[0] * 2,)))", OFF),
    Change("backward pre-hook on all", f"{TWO}; {HOOKS}", "m(x)",
           "h.append(H.register_module_full_backward_pre_hook(lambda mod, o: (o[0] * 2,)))", OFF),
    Change("hook on all taken off",
           f"{LINEAR}; {HOOKS}; h.append(H.register_module_forward_hook(lambda m, a, o: -o))",
           "m(x)", OFF),
    Change("registration hook", HOOKS, "x * nn.Linear(3, 2, bias=False).weight.shape[0]",
           "h.append(H.register_module_parameter_registration_hook("
           "lambda m, n, p: nn.Parameter(torch.ones(7, 3))))", OFF),
    Change("hook on one module", LINEAR, "m(x)",
           "m.register_full_backward_hook(lambda mod, i, o: (i[0] * 2,))"),
    Change("hook on a tensor", "w = torch.ones(3, requires_grad=True)", "x * w",
           "w.register_hook(lambda g: g * 3)"),
    Change("default dtype", "", "x.sum() + torch.ones(3) * torch.tensor(0.1)",
           "torch.set_default_dtype(torch.float64)", "torch.set_default_dtype(torch.float32)"),
    Change("default device", "", "(x * 2, torch.ones(3) * 2)", "torch.set_default_device('meta')",
           "torch.set_default_device(None)"),
    Change("grad mode", "w = torch.ones(3, requires_grad=True)", "x * w",
           "torch.set_grad_enabled(False)", "torch.set_grad_enabled(True)"),
    Change("grad mode, asked", "", "x * (2 if torch.is_grad_enabled() else 3)",
           "torch.set_grad_enabled(False)", "torch.set_grad_enabled(True)"),
    Change("anomaly mode, asked", "", "x * (2 if torch.is_anomaly_enabled() else 3)",
           "torch.autograd.set_detect_anomaly(True)", "torch.autograd.set_detect_anomaly(False)"),
    Change("deterministic", "", "x * torch.are_deterministic_algorithms_enabled()",
           "torch.use_deterministic_algorithms(True)", "torch.use_deterministic_algorithms(False)"),
    Change("threads", "n = torch.get_num_threads()", "x * torch.get_num_threads()",
           "torch.set_num_threads(n + 1)", "torch.set_num_threads(n)"),
    Change("precision", "", "x * len(torch.get_float32_matmul_precision())",
           "torch.set_float32_matmul_precision('medium')",
           "torch.set_float32_matmul_precision('highest')"),
    Change("switch of a backend", "old = torch.backends.cudnn.benchmark",
           "x * (1 + torch.backends.cudnn.benchmark)",
           "torch.backends.cudnn.benchmark = not old", "torch.backends.cudnn.benchmark = old"),
    Change("training of a child", "m = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).eval()",
           "m(x)", "m[1].train()"),
    Change("training of F.dropout", "m = nn.Dropout(0.5).eval()", "F.dropout(x, 0.5, m.training)",
           "m.train()"),
    Change("seed", "", "x + torch.rand(3)", "torch.manual_seed(5)"),
    Change("seed, asked", "", "x * (torch.initial_seed() % 7 + 1)", "torch.manual_seed(12)"),
    Change("state of the generator", "", "x + torch.rand(3)",
           "torch.set_rng_state(torch.Generator().manual_seed(9).get_state())"),
    Change("seed of a generator", "g = torch.Generator().manual_seed(3)",
           "x + torch.rand(3, generator=g)", "g.manual_seed(7)"),
    Change("fork_rng inside", """
        def forked(x):
            with torch.random.fork_rng():
                torch.manual_seed(4)
                y = x * torch.rand(3)
            return y + torch.rand(3)
        """, "forked(x)", ""),
    Change("fork_rng outside", "", "x + torch.rand(3)",
           "h.append(torch.random.fork_rng()); h[0].__enter__(); torch.manual_seed(9)",
           "h[0].__exit__(None, None, None)"),
    Change("parameter", LINEAR, "m(x)", "m.weight = nn.Parameter(torch.ones(3, 3))"),
    Change("parameter of another shape", LINEAR, "x @ m.weight.T",
           "m.weight = nn.Parameter(torch.ones(5, 3))"),
    Change("bias removed", LINEAR, "m(x)", "m.bias = None"),
    Change("child", TWO, "m(x)", "m[1] = nn.ReLU()"),
    Change("child added", TWO, "m(x)", "m.append(nn.ReLU())"),
    Change("buffer", "m = nn.BatchNorm1d(3).eval()", "m(x)", "m.running_mean = torch.ones(3)"),
    Change("setting of a layer", "m = nn.LeakyReLU(0.1)", "m(x - 1)", "m.negative_slope = 0.5"),
    Change("attribute of a module", f"{LINEAR}; m.scale = 2", "m(x) * m.scale", "m.scale = 3"),
    Change("attribute added", LINEAR, "x * getattr(m, 'scale', 1)", "m.scale = 3"),
    Change("parametrization", f"{LINEAR}; p = nn.Tanh()", "m(x)",
           "nn.utils.parametrize.register_parametrization(m, 'weight', p)"),
    Change("parametrization removed",
           f"{LINEAR}; nn.utils.parametrize.register_parametrization(m, 'weight', nn.Tanh())",
           "m(x)", "nn.utils.parametrize.remove_parametrizations(m, 'weight')"),
    Change("forward of one module", LINEAR, "m(x)", "m.forward = lambda x: x * 5"),
    Change("forward of a class of layers", f"{LINEAR}; old = nn.Linear.forward", "m(x)",
           "nn.Linear.forward = lambda self, x: x * 5", "nn.Linear.forward = old"),
    Change("class of a module", "m = nn.Tanh()", "m(x)", "m.__class__ = nn.Sigmoid"),
    Change("requires_grad", LINEAR, "m(x)", "m.bias.requires_grad_(False)"),
    Change("data of another shape", LINEAR, "x @ m.weight.T",
           "m.weight.grad = None; m.weight.data = torch.ones(5, 3)"),
    Change("data of another dtype", LINEAR, "x.to(m.weight.dtype) @ m.weight", "m.double()"),
    Change("transposed in place", "w = torch.arange(9.0).reshape(3, 3)", "x @ w", "w.t_()"),
    Change("attribute of a tensor", "w = torch.ones(3); w.s = 2", "x * w * w.s", "w.s = 5"),
]  # fmt: skip

STEP = """
    m = nn.Linear(3, 3)
    extra = nn.Parameter(torch.ones(3))
    o = torch.optim.{optimizer}
    def step(x):
        o.zero_grad()
        loss = (m(x.detach()) * extra).pow(2).sum()
        loss.backward()
        o.step()
        return loss.detach(), m.weight.detach().clone(), extra.detach().clone()
    """
SGD = STEP.format(optimizer="SGD(m.parameters(), lr=0.1, momentum=0.9)")
ADAM = STEP.format(optimizer="AdamW(m.parameters(), lr=0.1)")
DOUBLE = "lambda *_: [p.grad.mul_(2) for p in m.parameters()] and None"

OPTIMIZERS = [
    Change("lr", SGD, "step(x)", "o.param_groups[0]['lr'] = 0.5"),
    Change("momentum", SGD, "step(x)", "o.param_groups[0]['momentum'] = 0.1"),
    Change("betas", ADAM, "step(x)", "o.param_groups[0]['betas'] = (0.5, 0.6)"),
    Change("group added", SGD, "step(x)", "o.add_param_group({'params': [extra], 'lr': 0.3})"),
    Change("parameter added", SGD, "step(x)", "o.param_groups[0]['params'].append(extra)"),
    Change("parameter removed", ADAM, "step(x)", "o.param_groups[0]['params'].pop()"),
    Change("state cleared", SGD, "step(x)", "o.state.clear()"),
    Change("state loaded", SGD, "step(x)", """
        saved = copy.deepcopy(o.state_dict())
        saved['state'][0]['momentum_buffer'].fill_(1)
        o.load_state_dict(saved)
        """),
    Change("hook before the step", SGD, "step(x)", f"o.register_step_pre_hook({DOUBLE})"),
    Change("hook before all steps", SGD, "step(x)",
           "h.append(torch.optim.optimizer.register_optimizer_step_pre_hook("
           f"{DOUBLE}))", OFF),
    Change("gradient dropped", SGD, "step(x)", "m.weight.grad = None"),
]  # fmt: skip

PYTHON = [
    Change("global", "s = 2", "x * s", "s = 3"),
    Change("variable of a closure", """
        def make():
            s = 2
            def inner(x):
                return x * s
            def put(value):
                nonlocal s
                s = value
            return inner, put
        inner, put = make()
        """, "inner(x)", "put(3)"),
    Change("function", "def g(x):\n    return x * 2", "g(x)", "g = lambda x: x * 3"),
    Change("code of a function", "def g(x):\n    return x * 2", "g(x)",
           "g.__code__ = (lambda x: x * 3).__code__"),
    Change("default value", "def g(x, s=2):\n    return x * s", "g(x)", "g.__defaults__ = (5,)"),
    Change("attribute of a function", "def g(x):\n    return x * g.s\ng.s = 2", "g(x)", "g.s = 5"),
    Change("keywords of a partial", "p = functools.partial(torch.add, other=2)", "p(x)",
           "p.keywords['other'] = 5"),
    Change("key of a dict", "d = {'a': 2}", "x * d['a']", "d['a'] = 3"),
    Change("key renamed", "d = {'a': 2}", "x * (3 if 'b' in d else 5)", "d['b'] = d.pop('a')"),
    Change("key that is a tuple", "d = {(1, 2): 2}", "x * d[1, 2]", "d[1, 2] = 3"),
    Change("counter", "d = collections.Counter('aab')", "x * d['a']", "d.update('a')"),
    Change("nested list", "d = {'a': [1, [2]]}", "x * d['a'][1][0]", "d['a'][1][0] = 5"),
    Change("order of a list", "d = [1, 2, 3]", "x * d[0]", "d.reverse()"),
    Change("set", "d = {1, 2}", "x * len(d)", "d.add(9)"),
    Change("deque", "d = collections.deque([2])", "x * d[0]", "d.appendleft(5)"),
    Change("subclass of dict", "class D(dict):\n    pass\nd = D(a=2)\nd.s = 3", "x * d['a'] * d.s",
           "d.s = 5"),
    Change("bytearray", "d = bytearray([2])", "x * d[0]", "d[0] = 5"),
    Change("values of an array, read", "a = np.array([2.0])", "x * float(a[0])", "a[0] = 9"),
    Change("values of an array, as a tensor", "a = np.ones(3, np.float32)",
           "x * torch.from_numpy(a)", "a[0] = 9"),
    Change("a large array", "a = np.ones((64, 64), np.float32)", "x @ torch.from_numpy(a[:3, :3])",
           "a.fill(3)"),
    Change("weak reference", "class C:\n    v = 2\nc = C()\nr = weakref.ref(c)", "x * r().v",
           "c.v = 5"),
    Change("context variable", "v = contextvars.ContextVar('v', default=2)", "x * v.get()",
           "v.set(5)"),
    Change("attribute of a class", "class C:\n    s = 2\nc = C()", "x * c.s", "C.s = 5"),
    Change("attribute of a class, by its name", "class C:\n    s = 2", "x * C.s", "C.s = 5"),
    Change("inherited attribute", "class B:\n    s = 2\nclass C(B):\n    pass\nc = C()", "x * c.s",
           "B.s = 5"),
    Change("attribute that hides an inherited one",
           "class B:\n    s = 2\nclass C(B):\n    pass\nc = C()", "x * c.s", "C.s = 5"),
    Change("method", "class C:\n    def g(self, x):\n        return x * 2\nc = C()", "c.g(x)",
           "C.g = lambda self, x: x * 7"),
    Change("class method", "class C:\n    v = 2\n    @classmethod\n    def g(cls, x):\n"
           "        return x * cls.v", "C.g(x)", "C.v = 5"),
    Change("what a property reads", "n = [2]\nclass C:\n    @property\n    def v(self):\n"
           "        return n[0]\nc = C()", "x * c.v", "n[0] = 3"),
    Change("what __getattr__ reads", "d = {'v': 2}\nclass C:\n    def __getattr__(self, name):\n"
           "        return d[name]\nc = C()", "x * c.v", "d['v'] = 3"),
    Change("descriptor", "class D:\n    v = 2\n    def __get__(self, owner, kind):\n"
           "        return self.v\nd = D()\nclass C:\n    v = d\nc = C()", "x * c.v", "d.v = 6"),
    Change("what forward reads", "s = 2\nclass M(nn.Module):\n    def forward(self, x):\n"
           "        return x * s\nm = M()", "m(x)", "s = 5"),
    Change("forward of a class", "class M(nn.Module):\n    def forward(self, x):\n"
           "        return x * 2\nm = M()", "m(x)", "M.forward = lambda self, x: x * 5"),
    Change("slot", "class C:\n    __slots__ = ('v',)\nc = C()\nc.v = 2", "x * c.v", "c.v = 3"),
    Change("namespace", "c = types.SimpleNamespace(v=2)", "x * c.v", "c.v = 3"),
    Change("enum member", "E = enum.Enum('E', 'A B')\nc = [E.A]", "x * (2 if c[0] is E.A else 3)",
           "c[0] = E.B"),
    Change("module's number", "k = types.ModuleType('k')\nk.v = 2", "x * k.v", "k.v = 5"),
    Change("module's function", "k = types.ModuleType('k')\nk.g = lambda x: x * 2", "k.g(x)",
           "k.g = lambda x: x * 5"),
    Change("module's dict", "k = types.ModuleType('k')\nk.d = {'v': 2}", "x * k.d['v']",
           "k.d['v'] = 5"),
    Change("random.Random", "g = random.Random(0)", "x * g.random()", ""),
    Change("NumPy's generator", "g = np.random.default_rng(0)", "x * float(g.random())", ""),
    Change("next item", "i = iter(range(2, 20))", "x * next(i)", ""),
    Change("next item of a generator", "i = (k * k for k in range(2, 20))", "x * next(i)", ""),
]  # fmt: skip
