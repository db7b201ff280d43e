"""Layers, initialisers and optimizers side by side with the real PyTorch, from one seed."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import lamina

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

# The cases are those recorded for the tests without PyTorch; here with other inputs.
RECORDED = json.loads(
    (Path(__file__).parents[1] / "nn" / "recorded_nn.json").read_text(encoding="utf-8")
)


def cases(chapter, *fields):
    """Cases of one chapter as tuples of some fields, literals evaluated."""
    literal = {"args", "kwargs", "settings"}
    values = [
        tuple(ast.literal_eval(c[f]) if f in literal else c[f] for f in fields)
        for c in RECORDED[chapter]
    ]
    return pytest.mark.parametrize(fields, values, ids=[c["name"] for c in RECORDED[chapter]])


def numbers(tensor):
    """The values of a tensor of either library."""
    return tensor.detach().numpy()


def assert_close(ours, theirs, tolerance=1e-5):
    """Compare two results of any nesting of tuples."""
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_close(one, other, tolerance)
        return
    assert tuple(ours.shape) == tuple(theirs.shape)
    torch.testing.assert_close(
        torch.tensor(numbers(ours)), theirs.detach(), rtol=tolerance, atol=tolerance
    )


def made(library, name, args, kwargs):
    library.manual_seed(3)
    return getattr(library.nn, name)(*args, **kwargs)


@pytest.mark.filterwarnings("ignore:LSTM with projections")  # PyTorch's own, about speed
@cases("layers", "name", "args", "kwargs", "input")
def test_layer(name, args, kwargs, input):
    """First weights, repr, output, gradients and evaluation mode are PyTorch's."""
    ours, theirs = made(lamina, name, args, kwargs), made(torch, name, args, kwargs)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        assert_close(ours.state_dict()[key], value, 1e-6)

    values = torch.tensor(input)
    if not values.is_floating_point():
        x_ours, x_theirs = lamina.tensor(input), values
    else:
        torch.manual_seed(13)
        values = torch.randn(values.shape)
        x_theirs = values.clone().requires_grad_()
        x_ours = lamina.tensor(values.tolist(), requires_grad=True)
    lamina.manual_seed(7)
    out_ours = ours(x_ours)
    torch.manual_seed(7)
    out_theirs = theirs(x_theirs)
    assert_close(out_ours, out_theirs)

    def loss(out):
        first = out[0] if isinstance(out, tuple) else out
        return (first * first).sum() if first.requires_grad else None

    if loss(out_theirs) is not None:
        loss(out_ours).backward()
        loss(out_theirs).backward()
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert_close(one.grad, other.grad, 1e-4)
        if x_theirs.grad is not None:
            assert_close(x_ours.grad, x_theirs.grad, 1e-4)
    assert_close(ours.eval()(x_ours), theirs.eval()(x_theirs))


@cases("losses", "name", "kwargs", "input", "target")
def test_loss(name, kwargs, input, target):
    """A loss and its gradient are PyTorch's."""
    results = []
    for library in (lamina, torch):
        x_here = library.tensor(input, requires_grad=True)
        y_here = library.tensor(target)
        module = getattr(library.nn, name)(**kwargs)
        loss = module(x_here, y_here)
        loss.sum().backward()
        results.append((loss, x_here.grad))
    assert_close(*results)
    assert repr(getattr(lamina.nn, name)(**kwargs)) == repr(getattr(torch.nn, name)(**kwargs))


@cases("initializers", "name", "args", "shape")
def test_init(name, args, shape):
    """An initialiser draws PyTorch's numbers."""
    results = []
    for library in (lamina, torch):
        library.manual_seed(12)
        results.append(getattr(library.nn.init, name)(library.empty(shape), *args))
    assert_close(*results)


def trained(library, name, settings, steps=100):
    """Parameters and optimizer after some steps on a small problem."""
    library.manual_seed(2)
    w = library.randn(7, 5).requires_grad_()
    b = library.randn(3).requires_grad_()
    single = library.tensor(0.5, requires_grad=True)
    optimizer = getattr(library.optim, name)([w, b, single], **settings)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (w.abs() ** 3).sum() + 3 * (b * b).sum() + (single - 2) ** 2
        loss.backward()
        optimizer.step()
    return [w, b, single], optimizer


@cases("optimizers", "name", "settings")
def test_optimizer(name, settings):
    """After 100 steps, parameters and state are PyTorch's to 1e-6; the layout is its own."""
    ours, our_optimizer = trained(lamina, name, settings)
    theirs, their_optimizer = trained(torch, name, settings)
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other, 1e-6)
    our_state, their_state = our_optimizer.state_dict(), their_optimizer.state_dict()
    assert our_state["param_groups"] == their_state["param_groups"]
    assert repr(our_optimizer) == repr(their_optimizer)
    assert list(our_state["state"]) == list(their_state["state"])
    for key, values in their_state["state"].items():
        assert list(our_state["state"][key]) == list(values)
        for entry, value in values.items():
            if isinstance(value, torch.Tensor):
                assert_close(our_state["state"][key][entry], value, 1e-5)


SCHEDULES = [
    ("StepLR", (3,), {}),
    ("MultiStepLR", ([3, 3, 7],), {}),
    ("ExponentialLR", (0.9,), {}),
    ("CosineAnnealingLR", (5, 0.01), {}),
    ("LinearLR", (), {}),
    ("ConstantLR", (), {}),
    ("PolynomialLR", (7, 2.0), {}),
    ("OneCycleLR", (1.0,), {"total_steps": 30}),
    ("OneCycleLR", (1.0,), {"epochs": 3, "steps_per_epoch": 10, "three_phase": True}),
    ("LambdaLR", (lambda epoch: 0.9**epoch,), {}),
    ("MultiplicativeLR", (lambda epoch: 0.95,), {}),
    ("CosineAnnealingWarmRestarts", (3, 2), {}),
    (
        "SequentialLR",
        lambda s, o: ([s.LinearLR(o, total_iters=4), s.CosineAnnealingLR(o, 10)], [5]),
        {},
    ),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), SCHEDULES)
@pytest.mark.parametrize("optimizer", [("SGD", {"momentum": 0.9}), ("Adam", {})])
def test_schedule(name, args, kwargs, optimizer):
    """A schedule's rates (and momentum) over 25 epochs are PyTorch's, exactly."""
    traces = []
    for library in (lamina, torch):
        schedulers = library.optim.lr_scheduler
        kind, settings = optimizer
        w = library.ones(1, requires_grad=True)
        made_optimizer = getattr(library.optim, kind)([w], lr=0.5, **settings)
        values = args(schedulers, made_optimizer) if callable(args) else args
        schedule = getattr(schedulers, name)(made_optimizer, *values, **kwargs)
        trace = []
        for _ in range(25):
            made_optimizer.step()
            schedule.step()
            group = made_optimizer.param_groups[0]
            trace.append((group["lr"], group.get("momentum"), group.get("betas")))
            assert schedule.get_last_lr() == [group["lr"]]
        traces.append(trace)
    assert traces[0] == traces[1]


def recurrent(library, name, options, x, lengths):
    """A layer with its weights from seed 3, and what it gives for an input."""
    layer = made(library, name, (24, 72), options)
    given = x
    if lengths is not None:
        given = library.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    output, state = layer(given)
    return layer, [output.data, *(state if isinstance(state, tuple) else (state,))]


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("lengths", [None, [3, 20, 11, 20, 1, 8, 20]])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("LSTM", {}),
        ("LSTM", {"num_layers": 2, "bidirectional": True, "bias": False}),
        ("LSTM", {"bidirectional": True, "proj_size": 10}),
        ("GRU", {"num_layers": 2, "bidirectional": True}),
        ("GRU", {"bias": False}),
        ("RNN", {"bidirectional": True}),
        ("RNN", {"nonlinearity": "relu"}),
    ],
)
def test_recurrent_layers_of_some_size(name, options, lengths):
    """Large enough for machine code: values, and the gradients of input and weights."""
    values = torch.randn(20, 7, 24, generator=torch.Generator().manual_seed(5))
    found = []
    for library in (lamina, torch):
        x = library.tensor(values.numpy(), requires_grad=True)
        layer, made_by = recurrent(library, name, options, x, lengths)
        sum((part * part).sum() for part in made_by).backward()
        found.append([*made_by, x.grad, *(parameter.grad for parameter in layer.parameters())])
    for ours, theirs in zip(*found, strict=True):
        assert_close(ours, theirs, 2e-5 * max(1.0, float(theirs.detach().abs().max())))
