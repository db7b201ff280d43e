"""Every optimizer with many settings, step by step beside PyTorch's."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import lamina

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

COMMON = [{}, {"maximize": True}]
DECAY = [{"weight_decay": 0.1}]
APART = [{"weight_decay": 0.1, "decoupled_weight_decay": True}]
SETTINGS = {
    "SGD": [
        *COMMON,
        *DECAY,
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True},
    ],
    "Adam": [
        *COMMON,
        *DECAY,
        *APART,
        {"lr": 0.1, "betas": (0.7, 0.8), "eps": 1e-3},
        {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1, "maximize": True},
    ],
    "AdamW": [*COMMON, {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True}],
    "Adagrad": [
        *COMMON,
        *DECAY,
        {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3},
    ],
    "Adadelta": [*COMMON, *DECAY, {"lr": 0.5, "rho": 0.7, "eps": 1e-3}],
    "Adamax": [*COMMON, *DECAY, {"lr": 0.1, "betas": (0.5, 0.6), "eps": 1e-3}],
    "RMSprop": [
        *COMMON,
        *DECAY,
        {"lr": 0.1, "alpha": 0.7, "eps": 1e-3},
        {"momentum": 0.9},
        {"centered": True, "eps": 1e-2},
        {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "maximize": True, "eps": 1e-2},
    ],
    "Rprop": [*COMMON, {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.05, 0.2)}],
    "ASGD": [*COMMON, *DECAY, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 10}],
    "NAdam": [*COMMON, *DECAY, *APART, {"lr": 0.1, "betas": (0.5, 0.6), "momentum_decay": 0.1}],
    "RAdam": [*COMMON, *DECAY, *APART, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}],
    "Adafactor": [
        *COMMON,
        *DECAY,
        {"lr": 0.5, "beta2_decay": -0.3, "eps": (1e-3, 0.1), "d": 2.0},
    ],
}
CASES = [(name, settings) for name, found in SETTINGS.items() for settings in found]
IDS = [f"{name}-{','.join(map(str, settings))}" for name, settings in CASES]
SHAPES = [(4, 3), (2, 3, 4), (5,), ()]
STEPS = 30
cases = pytest.mark.parametrize(("name", "settings"), CASES, ids=IDS)


def gradients(kind, count=STEPS):
    """Gradients that change their signs, and are zero at times."""
    rng = np.random.default_rng(0)
    for k in range(count):
        given = [np.asarray(rng.standard_normal(shape) + 0.3).astype(kind) for shape in SHAPES]
        if k % 7 == 3:
            given[2][:2] = 0
        yield given


def parameters(module, kind):
    rng = np.random.default_rng(1)
    values = [np.asarray(rng.standard_normal(shape)).astype(kind) for shape in SHAPES]
    return [module.tensor(value, requires_grad=True) for value in values]


def stepped(module, optimizer, params, found):
    for given in found:
        for param, grad in zip(params, given, strict=True):
            param.grad = module.tensor(grad)
        optimizer.step()


def as_numbers(value):
    """A state of either library: arrays instead of tensors."""
    if isinstance(value, dict):
        return {key: as_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_numbers(item) for item in value]
    return value.detach().numpy() if hasattr(value, "detach") else value


def assert_same(ours, theirs, tolerance, path=""):
    assert type(ours) is type(theirs), path
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), path
        for key, value in theirs.items():
            assert_same(ours[key], value, tolerance, f"{path}[{key!r}]")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), path
        for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, tolerance, f"{path}[{k}]")
    elif isinstance(theirs, np.ndarray | float):
        if isinstance(theirs, np.ndarray):
            assert ours.dtype == theirs.dtype, path
            assert ours.shape == theirs.shape, path
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=path)
    else:
        assert ours == theirs, path


def tolerance_for(kind):
    return 1e-12 if kind == "float64" else 3e-6


@pytest.mark.parametrize("kind", ["float32", "float64"])
@cases
def test_thirty_steps(name, settings, kind):
    """Parameters, the state, the groups and the repr are PyTorch's."""
    pairs = []
    for module in (lamina, torch):
        params = parameters(module, kind)
        optimizer = getattr(module.optim, name)(params, **settings)
        stepped(module, optimizer, params, gradients(kind))
        pairs.append((params, optimizer))
    (ours, our_optimizer), (theirs, their_optimizer) = pairs
    tolerance = tolerance_for(kind)
    assert_same(as_numbers(ours), as_numbers(theirs), tolerance)
    states = [as_numbers(optimizer.state_dict()) for optimizer in (our_optimizer, their_optimizer)]
    assert_same(*states, tolerance)
    assert repr(our_optimizer) == repr(their_optimizer)
    assert [p._version for p in ours] == [p._version for p in theirs]


def moved(module, value):
    """A state with tensors of one library in the place of the other's."""
    if isinstance(value, dict):
        return {key: moved(module, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(moved(module, item) for item in value)
    return module.tensor(value.numpy().copy()) if hasattr(value, "numpy") else value


@pytest.mark.parametrize("is_ours", [True, False], ids=["to PyTorch", "from PyTorch"])
@cases
def test_a_state_goes_on_in_the_other_library(name, settings, is_ours):
    """Half of the steps in one library, the rest in the other."""
    first, second = (lamina, torch) if is_ours else (torch, lamina)
    found = list(gradients("float64"))
    params = parameters(first, "float64")
    optimizer = getattr(first.optim, name)(params, **settings)
    stepped(first, optimizer, params, found[:15])

    # Loading casts all but "step" to the parameter's dtype, so both start from a loaded state.
    twins = []
    for module in (first, second):
        copies = [module.tensor(p.detach().numpy().copy(), requires_grad=True) for p in params]
        twin = getattr(module.optim, name)(copies)
        twin.load_state_dict(moved(module, optimizer.state_dict()))
        stepped(module, twin, copies, found[15:])
        twins.append((as_numbers(copies), as_numbers(twin.state_dict())))
    assert_same(*[list(values) for values, _ in twins], 1e-12)
    assert_same(*[state for _, state in twins], 1e-12)


COMPLEX = sorted(set(SETTINGS) - {"Adafactor"})


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_parameters(name):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((11, 3)) + 1j * rng.standard_normal((11, 3))
    results = []
    for module in (lamina, torch):
        param = module.tensor(values[0], requires_grad=True)
        optimizer = getattr(module.optim, name)([param], lr=0.05)
        for value in values[1:]:
            param.grad = module.tensor(value)
            optimizer.step()
        results.append(as_numbers([param, optimizer.state_dict()["state"]]))
    assert_same(*results, 1e-12)


def double_backward(module, name):
    """The gradient of a loss after a differentiable step, for the gradient of that step."""
    param = module.tensor([1.0, -2.0, 0.5], dtype=module.float64, requires_grad=True)
    weight = module.tensor([0.3, 0.7, -0.2], dtype=module.float64, requires_grad=True)
    moving = param.clone()
    optimizer = getattr(module.optim, name)([moving], lr=0.1, differentiable=True)
    for _ in range(2):
        moving.grad = (weight * weight).clone()
        optimizer.step()
    (moving**2).sum().backward()
    return as_numbers([param.grad, weight.grad])


@pytest.mark.parametrize("name", [n for n in SETTINGS if n != "Adafactor"])
def test_a_differentiable_step(name):
    outcomes = []
    for module in (lamina, torch):
        try:
            outcomes.append(double_backward(module, name))
        except RuntimeError as error:
            outcomes.append("modified by an inplace operation" in str(error))
    assert_same(*outcomes, 1e-5)  # PyTorch corrects biases in float32 then


MUON = [
    {},
    {"nesterov": False, "momentum": 0.5, "weight_decay": 0.0},
    {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw"},
    {"lr": 0.1, "ns_steps": 3, "ns_coefficients": (2.0, -1.5, 0.5)},
]


@pytest.mark.parametrize("settings", MUON)
def test_muon(settings):
    """Within what bfloat16 can tell."""
    rng = np.random.default_rng(0)
    found = [[rng.standard_normal(s).astype("float32") for s in ((6, 4), (3, 8))] for _ in range(5)]
    results = []
    for module in (lamina, torch):
        params = [module.zeros(6, 4, requires_grad=True), module.zeros(3, 8, requires_grad=True)]
        optimizer = module.optim.Muon(params, **settings)
        stepped(module, optimizer, params, found)
        results.append((as_numbers(params), as_numbers(optimizer.state_dict())))
        scale = 5 * settings.get("lr", 1e-3)
    assert_same(*[list(params) for params, _ in results], 2e-2 * scale)
    assert_same(*[state for _, state in results], 1e-6)


LBFGS = [
    {},
    {"lr": 0.1, "max_iter": 5, "history_size": 3},
    {"line_search_fn": "strong_wolfe"},
    {"lr": 0.5, "max_iter": 7, "line_search_fn": "strong_wolfe", "history_size": 2},
    {"max_iter": 10, "max_eval": 4, "line_search_fn": "strong_wolfe"},
]


def rosenbrock(module, settings, steps):
    """Rosenbrock's valley in six dimensions, in two parameters."""
    x = module.tensor([-1.2, 1.0, -0.5], dtype=module.float64, requires_grad=True)
    y = module.tensor([[0.8, 2.0, -1.0]], dtype=module.float64, requires_grad=True)
    optimizer = module.optim.LBFGS([x, y], **settings)
    losses = []

    def closure():
        optimizer.zero_grad()
        z = module.cat([x, y.reshape(-1)])
        loss = (100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        losses.append(optimizer.step(closure).item())
    return losses, as_numbers([x, y]), as_numbers(optimizer.state_dict())


@pytest.mark.parametrize("settings", LBFGS)
def test_lbfgs(settings):
    """The way down, iteration by iteration; what it ends in is compared more loosely."""
    steps = 1 if settings == {} else 4  # without a search it flies off, and roundings grow
    for ours, theirs in zip(
        rosenbrock(lamina, settings, steps), rosenbrock(torch, settings, steps), strict=True
    ):
        assert_same(ours, theirs, 1e-6)


WRONG = [
    ("SGD", {"lr": -1.0}),
    ("SGD", {"momentum": -1.0}),
    ("SGD", {"weight_decay": -1.0}),
    ("Adam", {"eps": -1.0}),
    ("Adam", {"betas": (0.9, 1.0)}),
    ("Adagrad", {"lr_decay": -1.0}),
    ("Adagrad", {"initial_accumulator_value": -1.0}),
    ("Adagrad", {"fused": True, "differentiable": True}),
    ("Adagrad", {"fused": True, "foreach": True}),
    ("SGD", {"fused": True, "foreach": True}),
    ("AdamW", {"fused": True, "differentiable": True}),
    ("Adadelta", {"rho": 1.5}),
    ("Adamax", {"betas": (1.0, 0.9)}),
    ("RMSprop", {"alpha": -1.0}),
    ("RMSprop", {"momentum": -1.0}),
    ("Rprop", {"etas": (1.0, 1.2)}),
    ("ASGD", {"weight_decay": -1.0}),
    ("NAdam", {"momentum_decay": -1.0}),
    ("RAdam", {"lr": -1.0}),
    ("Adafactor", {"lr": -1.0}),
    ("Adafactor", {"d": 0.5}),
    ("Adafactor", {"beta2_decay": 0.5}),
    ("Adafactor", {"eps": (-1.0, 0.1)}),
    ("Adafactor", {"eps": (None, -0.1)}),
    ("Adafactor", {"weight_decay": -1.0}),
    ("Muon", {}),
    ("Muon", {"momentum": -1.0}),
    ("Muon", {"weight_decay": -1.0}),
    ("Muon", {"adjust_lr_fn": "other"}),
    ("SparseAdam", {"lr": 0.0}),
    ("SparseAdam", {"eps": 0.0}),
    ("SparseAdam", {"betas": (1.0, 0.5)}),
    ("LBFGS", {"lr": -1.0}),
    ("LBFGS", {"groups": 2}),
]


@pytest.mark.parametrize(("name", "settings"), WRONG)
def test_wrong_settings(name, settings):
    """The class of the error, and its message, are PyTorch's."""
    raised = []
    for module in (lamina, torch):
        rest = copy.copy(settings)
        groups = [{"params": [module.ones(2)]} for _ in range(rest.pop("groups", 1))]
        with pytest.raises(Exception, match=r".") as caught:
            getattr(module.optim, name)(groups, **rest)
        raised.append(caught.value)
    assert isinstance(raised[0], type(raised[1]))
    assert str(raised[1]) in str(raised[0])


def test_sparse_adam_refuses_dense_gradients():
    for module in (lamina, torch):
        w = module.ones(2, requires_grad=True)
        w.grad = module.ones(2)
        optimizer = module.optim.SparseAdam([w])
        with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
            optimizer.step()
