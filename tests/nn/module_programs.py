"""Programs about `Module` itself; part of the table of `programs`."""

import copy
import pickle
from collections import OrderedDict

from nn.programs import program, raised


def net(torch):
    """A module with a bit of everything."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 3)
            self.scale = nn.Parameter(torch.ones(1))
            self.register_parameter("absent", None)
            self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
            self.register_buffer("hidden", torch.ones(2), persistent=False)
            self.inner = nn.Sequential(OrderedDict(act=nn.ReLU(), norm=nn.BatchNorm1d(3)))
            self.tied = self.first

        def forward(self, x):
            return self.inner(self.tied(self.first.weight.new_ones(4, 2) * x)) * self.scale

    return Net()


@program
def names_and_order(torch):
    module = net(torch)
    return [
        repr(module),
        [name for name, _ in module.named_parameters()],
        [name for name, _ in module.named_parameters(remove_duplicate=False)],
        [name for name, _ in module.named_parameters("prefix", recurse=False)],
        [name for name, _ in module.named_buffers()],
        [name for name, _ in module.named_modules()],
        [name for name, _ in module.named_modules(remove_duplicate=False)],
        [name for name, _ in module.named_children()],
        len(list(module.modules())),
        len(list(module.children())),
        list(module.state_dict()),
        list(module.state_dict(prefix="p.")),
        {key: value["version"] for key, value in module.state_dict()._metadata.items()},
        [name for name in dir(module) if "first" in name or "hidden" in name or "absent" in name],
        str(type(module.state_dict()).__mro__[-3].__name__),
        repr(module.inner.state_dict())[:40],
    ]


@program
def state_is_shared_unless_copied(torch):
    layer = torch.nn.Linear(1, 1)
    state = layer.state_dict()
    kept = layer.state_dict(keep_vars=True)
    with torch.no_grad():
        layer.weight.fill_(7)
    target = OrderedDict()
    found = layer.state_dict(destination=target, prefix="x.")
    return [
        state["weight"],
        state["weight"].requires_grad,
        kept["weight"] is layer.weight,
        found is target,
        list(target),
    ]


@program
def hooks_on_states(torch):
    layer, seen = torch.nn.Sequential(torch.nn.Linear(2, 1)), []
    layer.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(["pre", prefix, keep]))
    handle = layer.register_state_dict_post_hook(
        lambda m, state, prefix, metadata: seen.append(["post", list(state), prefix])
    )
    layer[0].register_load_state_dict_pre_hook(
        lambda m, state, prefix, metadata, strict, missing, unexpected, errors: seen.append(
            ["load", sorted(state), prefix, metadata, strict, missing, unexpected, errors]
        )
    )
    layer.register_load_state_dict_post_hook(
        lambda m, keys: (seen.append(["loaded", list(keys)]), keys.missing_keys.clear())[2:] or None
    )
    state = layer.state_dict()
    del state["0.bias"]
    answer = layer.load_state_dict(state)
    handle.remove()
    layer.state_dict()
    return [seen, repr(answer), layer.load_state_dict(state, strict=False).missing_keys]


@program
def loading_what_does_not_fit(torch):
    layer = torch.nn.Linear(2, 3)

    def load(state, **kwargs):
        try:
            return repr(layer.load_state_dict(state, **kwargs))
        except RuntimeError as error:
            text = str(error)
            words = ("Error(s) in loading state_dict for Linear", 'Missing key(s) in state_dict: "')
            words += ('Unexpected key(s) in state_dict: "foo"', "size mismatch for weight")
            return [word in text for word in words]

    return [
        load({"weight": torch.ones(3, 3), "foo": torch.ones(1)}),
        load({"weight": torch.ones(3, 2), "foo": torch.ones(1)}, strict=False),
        load({"weight": torch.ones(2, 2)}, strict=False),
        load({"weight": 3, "bias": torch.ones(3)}),
        layer.bias,
        raised(lambda: layer.load_state_dict([1])),
    ]


@program
def loading_by_assignment(torch):
    layer = torch.nn.BatchNorm1d(2).double()
    layer.weight.requires_grad_(False)
    state = {key: value.clone() + 1 for key, value in torch.nn.BatchNorm1d(2).state_dict().items()}
    given = state["bias"]
    layer.load_state_dict(state, assign=True)
    return [
        str(layer.weight.dtype),
        layer.weight.requires_grad,
        layer.bias.requires_grad,
        layer.bias.data_ptr() == given.data_ptr(),
        isinstance(layer.bias, torch.nn.Parameter),
        layer.running_mean is state["running_mean"],
        layer.running_var,
        raised(lambda: layer.load_state_dict(state | {"bias": torch.ones(3)}, assign=True)),
    ]


@program
def extra_state(torch):
    class Counting(torch.nn.Linear):
        calls = 0

        def get_extra_state(self):
            return {"calls": self.calls}

        def set_extra_state(self, state):
            self.calls = state["calls"]

    one, other = Counting(1, 1), Counting(1, 1)
    one.calls = 5
    state = one.state_dict()
    keys = list(state)
    other.load_state_dict(state)
    del state["_extra_state"]
    return [
        keys,
        other.calls,
        raised(lambda: other.load_state_dict(state)),
        other.load_state_dict(state, strict=False).missing_keys,
        torch.nn.Linear(1, 1).load_state_dict(one.state_dict(), strict=False).unexpected_keys,
    ]


@program
def converting(torch):
    def kinds(module):
        return [str(tensor.dtype) for tensor in module.state_dict().values()]

    module = net(torch)
    scale, weight = module.scale, module.first.weight
    results = [
        kinds(module.double()),
        module.scale is scale,
        module.first.weight is weight,
        kinds(module.half()),
        kinds(module.to(torch.bfloat16)),
        kinds(module.to("cpu", torch.float32, True)),
        kinds(module.to(torch.ones(1, dtype=torch.float64))),
        kinds(module.type(torch.float16)),
        kinds(module.type(dst_type="torch.DoubleTensor")),
        kinds(module.float().cpu()),
        str(module.to_empty(device="meta").scale.device),
        str(module.to_empty(device="cpu", recurse=False).scale.device),
        str(module.first.weight.device),
        raised(lambda: module.to(torch.int32)),
        raised(lambda: module.to("nowhere")),
        raised(lambda: net(torch).to_empty(device="meta").to("cpu")),
    ]
    module = net(torch)
    (module(1.0)).sum().backward()
    module.double()
    return [*results, str(module.first.weight.grad.dtype), str(module.hidden.dtype)]


@program
def flags_and_gradients(torch):
    module = net(torch)
    results = [module.training, module.eval().training, module.inner.norm.training]
    results += [module.train() is module, module.inner.norm.training]
    module(1.0).sum().backward()
    module.zero_grad(set_to_none=False)
    results += [module.scale.grad]
    module.zero_grad()
    results += [module.scale.grad is None]
    module.requires_grad_(False)
    return [
        *results,
        [p.requires_grad for p in module.parameters()],
        raised(lambda: module.train("yes")),
        module.apply(lambda m: m.register_buffer("seen", torch.ones(1))).inner.act.seen,
    ]


@program
def looking_up(torch):
    module = net(torch)
    results = []
    for name in ("", "first", "first.weight", "inner.norm.running_mean", "scale", "nothing.x"):
        for method in ("get_parameter", "get_buffer", "get_submodule"):
            results.append(raised(getattr(module, method), name))
    module.set_submodule("inner.act", torch.nn.Tanh())
    module.set_submodule("extra", torch.nn.Identity())
    return [
        *results,
        repr(module.inner),
        repr(module.extra),
        raised(lambda: module.set_submodule("", torch.nn.Tanh())),
        raised(lambda: module.set_submodule("new", torch.nn.Tanh(), strict=True)),
        raised(lambda: module.set_submodule("scale", torch.nn.Tanh())),
        raised(lambda: module.set_submodule("a.b", torch.nn.Tanh())),
    ]


@program
def assigning(torch):
    nn = torch.nn
    module = net(torch)

    def put(name, value):
        return raised(lambda: setattr(module, name, value))

    results = [
        put("scale", torch.ones(1)),
        put("scale", None),
        put("scale", nn.Parameter(torch.zeros(2))),
        put("first", 3),
        put("first", nn.ReLU()),
        put("count", 3),
        put("count", torch.ones(2)),
        put("count", None),
        put("plain", 5),
        put("plain", nn.Parameter(torch.ones(1))),
        put("hidden", nn.Parameter(torch.ones(1))),
        put("inner", nn.Parameter(torch.ones(1))),
        put("kept", nn.Buffer(torch.ones(1))),
        put("loose", nn.Buffer(torch.ones(1), persistent=False)),
    ]
    del module.tied
    return [
        *results,
        [name for name, _ in module.named_parameters()],
        [name for name, _ in module.named_buffers()],
        [name for name, _ in module.named_children()],
        list(module.state_dict()),
        raised(lambda: module.tied),
        raised(lambda: delattr(module, "tied")),
        raised(lambda: module.register_parameter("a.b", None)),
        raised(lambda: module.register_parameter("", None)),
        raised(lambda: module.register_parameter(3, None)),
        raised(lambda: module.register_parameter("forward", None)),
        raised(lambda: module.register_parameter("x", torch.ones(1))),
        raised(lambda: module.register_parameter("x", nn.Parameter(torch.ones(1)) * 2)),
        raised(lambda: module.register_buffer("plain", torch.ones(1))),
        raised(lambda: module.register_buffer("y", 3)),
        raised(lambda: module.add_module("y", 3)),
        raised(lambda: module.add_module("y", nn.ReLU)),
        raised(lambda: nn.Module()(1)),
        raised(lambda: nn.Module(3)),
    ]


@program
def before_the_base_is_initialized(torch):
    class Early(torch.nn.Module):
        def __init__(self, value):
            self.value = value

    return [
        raised(lambda: Early(torch.nn.Parameter(torch.ones(1)))),
        raised(lambda: Early(torch.nn.ReLU())),
        raised(lambda: Early(torch.ones(1))),
        raised(lambda: Early(3)),
    ]


@program
def hooks_around_forward(torch):
    layer, seen = torch.nn.Linear(2, 2), []
    torch.nn.init.ones_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    layer.register_forward_pre_hook(lambda m, args: seen.append("pre"))
    layer.register_forward_pre_hook(lambda m, args: (args[0] + 1,), prepend=True)
    layer.register_forward_pre_hook(lambda m, args, kwargs: (args, kwargs), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, out: seen.append(args[0]))
    handle = layer.register_forward_hook(lambda m, args, kwargs, out: out * 2, with_kwargs=True)
    layer.register_full_backward_pre_hook(lambda m, grads: seen.append(grads))
    layer.register_full_backward_hook(lambda m, into, out: (into[0] * 10,))
    x = torch.ones(1, 2, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    handle.remove()
    always = []
    layer.register_forward_hook(lambda m, args, out: always.append(out is None), always_call=True)
    return [
        y,
        x.grad,
        seen,
        layer(x),
        raised(lambda: layer(torch.ones(1, 3))),
        always,
        layer.register_forward_pre_hook(lambda m, args: None).id >= 0,
    ]


@program
def copies_and_pickles(torch):
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.2))
    module.register_buffer("b", torch.ones(1))
    twin, back = copy.deepcopy(module), pickle.loads(pickle.dumps(module))
    with torch.no_grad():
        module[0].weight.zero_()
    shallow = copy.copy(module)
    return [
        bool(twin[0].weight.abs().sum() > 0),
        torch.equal(twin[0].weight, back[0].weight),
        shallow[0] is module[0],
        repr(back),
        list(back.state_dict()),
        twin[0].weight.requires_grad,
    ]


@program
def containers(torch):
    nn = torch.nn
    row = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    row.append(nn.Linear(2, 3)).insert(1, nn.Tanh())
    row.extend([nn.Identity()])
    listed = nn.ModuleList([nn.ReLU(), nn.Linear(1, 1)]) + nn.ModuleList([nn.Tanh()])
    listed += [nn.Tanh(), nn.Tanh()]
    named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    named.update({"c": nn.Tanh(), "a": nn.Sigmoid()})
    weights = nn.ParameterList([torch.ones(1), torch.zeros(2)])
    weights.append(nn.Parameter(torch.ones(3)))
    table = nn.ParameterDict({"x": torch.ones(1)})
    table["y"] = nn.Parameter(torch.ones(2))
    joined = nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())
    return [
        repr(row),
        repr(row[1:3]),
        repr(row[-1]),
        len(row),
        repr(row.pop(0)),
        repr(listed),
        repr(listed[1:]),
        repr(named),
        list(named.keys()),
        [repr(v) for v in named.values()],
        repr(named.pop("b")),
        "b" in named,
        repr(weights),
        repr(table),
        list(table.keys()),
        [name for name, _ in table.named_parameters()],
        repr(joined),
        repr(joined * 2),
        repr(nn.Sequential()),
        repr(nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])),
        raised(lambda: row[9]),
        raised(lambda: named["zzz"]),
        raised(lambda: listed("x")),
        raised(lambda: nn.ModuleList([3])),
        raised(lambda: row.append(3)),
    ]


@program
def initializers(torch):
    init, results = torch.nn.init, []
    for name in ("uniform", "normal", "xavier_uniform", "xavier_normal", "kaiming_uniform"):
        results.append(getattr(init, name)(torch.empty(3, 4)))
    results.append(init.constant(torch.empty(2), 3.0))
    results.append(init.eye(torch.empty(2, 3)))
    return [
        *results,
        init.sparse(torch.empty(4, 3), 0.5),
        init.dirac(torch.empty(2, 2, 3)),
        init.kaiming_normal(torch.empty(3, 4)),
        init.orthogonal(torch.empty(3, 3)),
        init._calculate_fan_in_and_fan_out(torch.empty(2, 3, 5)),
        init._calculate_correct_fan(torch.empty(2, 3), "fan_out"),
        raised(lambda: init.eye_(torch.empty(2))),
        raised(lambda: init.dirac_(torch.empty(2))),
        raised(lambda: init.kaiming_uniform_(torch.empty(2, 2), mode="x")),
        raised(lambda: init.orthogonal_(torch.empty(2))),
        raised(lambda: init.sparse_(torch.empty(2), 0.1)),
        init.kaiming_uniform_(torch.empty(0, 2)),
    ]


@program
def gradients_of_convolutions(torch):
    grad, results = torch.nn.grad, []
    for dims in (1, 2, 3):
        x, weight = torch.randn(2, 4, *[5] * dims), torch.randn(6, 2, *[3] * dims)
        settings = {"stride": 2, "padding": 1, "groups": 2}
        output = getattr(torch.nn.functional, f"conv{dims}d")(x, weight, **settings)
        g = torch.randn(output.shape)
        into = getattr(grad, f"conv{dims}d_input")(x.shape, weight, g, **settings)
        of_weight = getattr(grad, f"conv{dims}d_weight")(x, weight.shape, g, **settings)
        results += [into.sum(), into.abs().max(), of_weight.sum(), of_weight.abs().max()]
    return results


@program
def calls_with_other_tensors(torch):
    layer = torch.nn.Linear(2, 1)
    call = torch.nn.utils.stateless.functional_call
    other = {"weight": torch.ones(1, 2)}
    return [
        call(layer, other, torch.ones(2)) - layer.bias,
        call(layer, {}, (torch.ones(2),)) - layer(torch.ones(2)),
        raised(lambda: call(layer, other, torch.ones(2), strict=True)),
    ]
