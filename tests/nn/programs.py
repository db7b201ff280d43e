"""Small programs about modules, which answer the same in PyTorch and Lamina.

Each takes the library and returns plain data: tensors become lists of rounded numbers.
"""

import copy
import pickle
import warnings

PROGRAMS = {}


def program(function):
    """Add a function to the table."""
    PROGRAMS[function.__name__] = function
    return function


def plain(value):
    """Tensors, and what holds them, as data that JSON keeps."""
    if hasattr(value, "detach"):
        return plain(value.detach().tolist())
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list | set | type({}.keys())):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.5g}") + 0.0  # no negative zeros
    return value if isinstance(value, str | int | None) else repr(value)


def answer(name, torch):
    """What a program answers, with its warnings (their classes)."""
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = plain(PROGRAMS[name](torch))
    return [result, sorted(warning.category.__name__ for warning in caught)]


def close(found, expected):
    """Whether two answers are the same, numbers within rounding."""
    if isinstance(expected, float) and isinstance(found, int | float):
        near = abs(found - expected) <= 2e-4 * max(1.0, abs(expected))
        return near or found == expected or (found != found and expected != expected)
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(close(found[k], expected[k]) for k in found)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    return found == expected


def raised(function, *arguments):
    """The class that PyTorch raises for a call, and nothing of its words."""
    try:
        function(*arguments)
    except Exception as error:
        bases = (AssertionError, AttributeError, IndexError, KeyError, NotImplementedError)
        bases += (TypeError, ValueError, RuntimeError)
        known = (base.__name__ for base in bases if isinstance(error, base))
        return next(known, type(error).__name__)
    return "nothing"


def trained(torch, layer, x, steps=3):
    """Outputs of some steps of plain descent."""
    outputs = []
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        out = layer(x)
        outputs.append(out)
        (out * out).sum().backward()
        optimizer.step()
    return outputs


def symmetric(torch):
    """A parametrization that can be undone."""

    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    return Symmetric()


def doubled(torch):
    """A parametrization that cannot."""

    class Doubled(torch.nn.Module):
        def forward(self, x):
            return x * 2

    return Doubled()


# -- parametrizations ------------------------------------------------------------------------


@program
def parametrize_a_weight(torch):
    P = torch.nn.utils.parametrize
    layer = torch.nn.Linear(3, 3)
    P.register_parametrization(layer, "weight", symmetric(torch))
    before = [layer.weight, layer.parametrizations.weight.original]
    layer.weight = torch.ones(3, 3)
    x = torch.randn(2, 3)
    return [
        before,
        repr(layer),
        type(layer).__name__,
        list(layer.state_dict()),
        [name for name, _ in layer.named_parameters()],
        layer.weight,
        trained(torch, layer, x),
        [P.is_parametrized(layer), P.is_parametrized(layer, "bias")],
        P.type_before_parametrizations(layer).__name__,
    ]


@program
def parametrize_twice_and_remove(torch):
    P = torch.nn.utils.parametrize
    layer = torch.nn.Linear(3, 3)
    P.register_parametrization(layer, "weight", symmetric(torch))
    P.register_parametrization(layer, "weight", doubled(torch))
    P.register_parametrization(layer, "bias", doubled(torch))
    results = [layer.weight, repr(layer), raised(lambda: setattr(layer, "weight", layer.weight))]
    P.remove_parametrizations(layer, "weight")
    results += [layer.weight, type(layer).__name__, list(layer.state_dict())]
    P.remove_parametrizations(layer, "bias", leave_parametrized=False)
    return [*results, layer.bias, type(layer).__name__, list(layer.state_dict())]


@program
def parametrize_by_two_tensors(torch):
    class Product(torch.nn.Module):
        def forward(self, a, b):
            return a * b

        def right_inverse(self, x):
            return x, torch.ones_like(x)

    P = torch.nn.utils.parametrize
    layer = torch.nn.Linear(2, 2)
    P.register_parametrization(layer, "weight", Product())
    layer.weight = torch.full((2, 2), 3.0)
    parts = layer.parametrizations.weight
    results = [list(layer.state_dict()), parts.ntensors, parts.is_tensor, layer.weight]
    results.append(raised(lambda: P.remove_parametrizations(layer, "weight", False)))
    P.remove_parametrizations(layer, "weight")
    return [*results, layer.weight, layer.weight.is_leaf]


@program
def parametrize_a_buffer_and_copy(torch):
    P = torch.nn.utils.parametrize
    layer = torch.nn.BatchNorm1d(2)
    P.register_parametrization(layer, "running_var", doubled(torch))
    results = [list(layer.state_dict()), layer.running_var, raised(lambda: pickle.dumps(layer))]
    twin = copy.deepcopy(layer)
    P.remove_parametrizations(twin, "running_var")
    return [*results, twin.running_var, list(twin.state_dict()), P.is_parametrized(layer)]


@program
def parametrize_with_a_cache(torch):
    P = torch.nn.utils.parametrize
    layer = P.register_parametrization(torch.nn.Linear(2, 2), "weight", doubled(torch))
    with P.cached():
        inside = [layer.weight is layer.weight]
        with P.cached():
            first = layer.weight
        inside.append(first is layer.weight)
    return [*inside, layer.weight is layer.weight]


@program
def what_parametrizations_refuse(torch):
    def module(function, inverse=None):
        members = {"forward": lambda self, x: function(x)}
        if inverse is not None:
            members["right_inverse"] = lambda self, x: inverse(x)
        return type("Made", (torch.nn.Module,), members)()

    P = torch.nn.utils.parametrize

    def put(*args, name="weight", **kwargs):
        layer = torch.nn.Linear(3, 3)
        return raised(lambda: P.register_parametrization(layer, name, module(*args), **kwargs))

    return [
        put(lambda x: x[:2]),
        put(lambda x: x[:2], unsafe=True),
        put(lambda x: 3),
        put(lambda x: x.double()),
        put(lambda x: x, lambda x: 3),
        put(lambda x: x, lambda x: x.double()),
        put(lambda x: x.sum() + torch.zeros(3, 3), lambda x: x.sum()),
        put(lambda x: x, name="nothing"),
        raised(lambda: P.remove_parametrizations(torch.nn.Linear(2, 2), "weight")),
    ]


@program
def transfer_parametrizations(torch):
    P = torch.nn.utils.parametrize
    one = P.register_parametrization(torch.nn.Linear(2, 2), "weight", doubled(torch))
    other = P.transfer_parametrizations_and_params(one, torch.nn.Linear(2, 2))
    return [one.weight, other.weight, repr(other)]


@program
def parametrizations_weight_norm(torch):
    results = []
    for dim in (0, 1, None):
        layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2), dim=dim)
        results += [repr(layer), layer.state_dict(), trained(torch, layer, torch.randn(4, 3))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    new = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    return [*results, old.weight, new.weight]


@program
def parametrizations_spectral_norm(torch):
    results = []
    make = torch.nn.utils.parametrizations.spectral_norm
    for layer, x in (
        (torch.nn.Linear(3, 4), torch.randn(4, 3)),
        (torch.nn.ConvTranspose2d(2, 3, 2), torch.randn(1, 2, 3, 3)),
    ):
        made = make(layer, n_power_iterations=2)
        results += [made.state_dict(), trained(torch, made, x), made.eval()(x)]
    return [*results, raised(lambda: make(torch.nn.ReLU())), list(made.state_dict())]


@program
def parametrizations_orthogonal(torch):
    results = []
    make = torch.nn.utils.parametrizations.orthogonal
    for sizes in ((3, 3), (4, 2), (2, 4)):
        for kind in ("matrix_exp", "cayley", "householder", None):
            layer = torch.nn.Linear(*sizes)
            torch.nn.init.orthogonal_(layer.weight)
            make(layer, orthogonal_map=kind)
            results.append([layer.weight, trained(torch, layer, torch.randn(2, sizes[0]), 2)])
    layer = make(torch.nn.Linear(4, 3), orthogonal_map="householder", use_trivialization=False)
    weight = layer.weight.detach()
    layer.weight = weight
    results += [list(layer.state_dict()), torch.allclose(layer.weight, weight, atol=1e-5)]
    bad = make(torch.nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=False)
    return [
        *results,
        raised(lambda: setattr(bad, "weight", torch.eye(3))),
        raised(lambda: make(torch.nn.Linear(2, 2), "bias")),
        raised(lambda: make(torch.nn.Linear(2, 2), orthogonal_map="other")),
        raised(lambda: setattr(layer, "weight", torch.eye(2))),
    ]


# -- the older hooks -------------------------------------------------------------------------


@program
def old_weight_norm(torch):
    utils = torch.nn.utils
    layer = utils.weight_norm(torch.nn.Linear(3, 2), dim=1)
    results = [layer.state_dict(), trained(torch, layer, torch.randn(4, 3))]
    results.append(raised(lambda: utils.weight_norm(layer)))
    utils.remove_weight_norm(layer)
    results += [list(layer.state_dict()), layer.weight]
    return [*results, raised(lambda: utils.remove_weight_norm(layer))]


@program
def old_spectral_norm(torch):
    utils = torch.nn.utils
    layer = utils.spectral_norm(torch.nn.Linear(3, 2), n_power_iterations=2)
    results = [layer.state_dict(), layer.weight, trained(torch, layer, torch.randn(4, 3))]
    results += [layer.eval()(torch.ones(3)), raised(lambda: utils.spectral_norm(layer))]
    utils.remove_spectral_norm(layer)
    results += [list(layer.state_dict()), layer.weight]
    return [*results, raised(lambda: utils.remove_spectral_norm(layer))]


# -- fusion, making, pruning -----------------------------------------------------------------


def _with_averages(torch, norm):
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 1.5)
    if norm.affine:
        torch.nn.init.normal_(norm.weight)
        torch.nn.init.normal_(norm.bias)
    return norm.eval()


@program
def fuse_batch_norm(torch):
    nn, utils = torch.nn, torch.nn.utils
    conv = nn.Conv2d(2, 4, 3, bias=False, groups=2).eval()
    norm = _with_averages(torch, nn.BatchNorm2d(4))
    transposed = nn.ConvTranspose1d(2, 3, 2).eval()
    plain_norm = _with_averages(torch, nn.BatchNorm1d(3, affine=False))
    linear = nn.Linear(2, 3).eval()
    fused = utils.fuse_conv_bn_eval(conv, norm)
    return [
        fused.state_dict(),
        repr(fused),
        utils.fuse_conv_bn_eval(transposed, plain_norm, transpose=True).state_dict(),
        utils.fuse_linear_bn_eval(linear, _with_averages(torch, nn.BatchNorm1d(3))).state_dict(),
        raised(lambda: utils.fuse_conv_bn_eval(conv.train(), norm)),
        raised(lambda: utils.fuse_linear_bn_eval(linear, nn.BatchNorm1d(4).eval())),
    ]


@program
def skip_the_first_values(torch):
    skip = torch.nn.utils.skip_init
    before = torch.rand(1)
    torch.manual_seed(0)
    layer = skip(torch.nn.Linear, 3, 2, bias=False)
    same = torch.rand(1) == before
    return [repr(layer), str(layer.weight.device), same, raised(lambda: skip(torch.nn.ReLU))]


@program
def prune_a_weight(torch):
    prune = torch.nn.utils.prune
    layer = torch.nn.Linear(4, 6)
    prune.l1_unstructured(layer, "weight", 5)
    results = [layer.state_dict(), layer.weight, prune.is_pruned(layer)]
    prune.ln_structured(layer, "weight", 0.5, n=2, dim=0)
    prune.random_unstructured(layer, "weight", 2)
    results += [layer.weight_mask, trained(torch, layer, torch.randn(2, 4))]
    prune.remove(layer, "weight")
    results += [list(layer.state_dict()), layer.weight, prune.is_pruned(layer)]
    return [*results, raised(lambda: prune.remove(layer, "weight"))]


@program
def prune_in_other_ways(torch):
    prune, results = torch.nn.utils.prune, []
    for function, arguments in (
        (prune.identity, ()),
        (prune.random_structured, (1, 1)),
        (prune.ln_structured, (2, float("inf"), -1)),
        (prune.custom_from_mask, (torch.eye(4)[:3],)),
    ):
        layer = function(torch.nn.Linear(4, 3), "weight", *arguments)
        results += [layer.weight_mask, layer.weight]
    layers = [torch.nn.Linear(3, 2), torch.nn.Linear(2, 4)]
    pairs = [(layer, "weight") for layer in layers]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.4)
    results += [layer.weight for layer in layers]
    method = prune.L1Unstructured(amount=2)
    results.append(method.prune(torch.tensor([3.0, -1.0, 2.0, 0.5])))
    linear = torch.nn.Linear(2, 2)
    return [
        *results,
        raised(lambda: prune.l1_unstructured(linear, "weight", 1.5)),
        raised(lambda: prune.l1_unstructured(linear, "weight", 9)),
        raised(lambda: prune.l1_unstructured(linear, "weight", "a")),
        raised(lambda: prune.ln_structured(linear, "bias", 1, 2, 0)),
        raised(lambda: prune.ln_structured(linear, "weight", 1, 2, 5)),
        raised(lambda: prune.global_unstructured(pairs, prune.LnStructured, amount=1, n=2)),
    ]


# -- clipping, and parameters as a vector ----------------------------------------------------


def _with_gradients(torch):
    parameters = [torch.ones(2, 2, requires_grad=True), torch.ones(3, requires_grad=True)]
    parameters[0].grad = torch.tensor([[3.0, -4.0], [0.0, 1.0]])
    return [*parameters, torch.ones(1, requires_grad=True)]


@program
def clip_gradients(torch):
    utils, results = torch.nn.utils, []
    for norm in (2, 1.0, 0.5, float("inf"), 0):
        parameters = _with_gradients(torch)
        parameters[1].grad = torch.tensor([0.5, -2.0, 6.0])
        total = utils.clip_grad_norm_(parameters, 2.0, norm_type=norm)
        results += [total, parameters[0].grad, parameters[1].grad]
    parameters = _with_gradients(torch)
    utils.clip_grad_value_(parameters, 1.5)
    results += [parameters[0].grad, parameters[1].grad is None]
    one = _with_gradients(torch)[0]
    results += [utils.clip_grad_norm_(one, 100.0), one.grad, utils.clip_grad_norm_([], 1.0)]
    results += [utils.get_total_norm([torch.ones(2), torch.ones(2, 2)], 1.0)]
    utils.clip_grads_with_norm_([one], 1.0, torch.tensor(10.0))
    results += [one.grad, utils.clip_grad_norm_((p for p in [one]), 0.1)]
    results += [utils.clip_grad_norm(one, 1.0)]
    one.grad[0, 0] = float("nan")
    results += [raised(lambda: utils.clip_grad_norm_(one, 1.0, error_if_nonfinite=True))]
    return [*results, utils.clip_grad_norm_(one, 1.0).isnan(), one.grad.isnan().all()]


@program
def parameters_as_a_vector(torch):
    utils, layer = torch.nn.utils, torch.nn.Linear(2, 2)
    vector = utils.parameters_to_vector(layer.parameters())
    weight = layer.weight
    utils.vector_to_parameters(torch.arange(6.0), layer.parameters())
    return [
        vector.shape[0],
        vector.requires_grad,
        layer.weight is weight,
        layer.weight,
        layer.bias,
        raised(lambda: utils.vector_to_parameters([1.0], layer.parameters())),
    ]
