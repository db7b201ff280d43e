"""Layers, initialisers and optimizers side by side with the real PyTorch, from one seed."""

from __future__ import annotations

import pytest

import lamina

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

Namespace = object


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


# Name of the layer -> arguments, shape of the input (or "integers").
LAYERS = [
    ("Linear", (4, 3), {}, (2, 4)),
    ("Linear", (4, 3), {"bias": False}, (4,)),
    ("Identity", (), {}, (2, 4)),
    ("ReLU", (), {}, (2, 4)),
    ("ReLU6", (), {}, (2, 4)),
    ("Hardtanh", (-0.5, 0.7), {}, (2, 4)),
    ("LeakyReLU", (0.2,), {}, (2, 4)),
    ("ELU", (0.7,), {}, (2, 4)),
    ("SELU", (), {}, (2, 4)),
    ("CELU", (0.7,), {}, (2, 4)),
    ("GELU", (), {}, (2, 4)),
    ("GELU", ("tanh",), {}, (2, 4)),
    ("SiLU", (), {}, (2, 4)),
    ("Mish", (), {}, (2, 4)),
    ("Hardswish", (), {}, (2, 4)),
    ("Hardsigmoid", (), {}, (2, 4)),
    ("Sigmoid", (), {}, (2, 4)),
    ("LogSigmoid", (), {}, (2, 4)),
    ("Tanh", (), {}, (2, 4)),
    ("Softplus", (2.0, 1.0), {}, (2, 4)),
    ("Softsign", (), {}, (2, 4)),
    ("Tanhshrink", (), {}, (2, 4)),
    ("Hardshrink", (0.3,), {}, (2, 4)),
    ("Softshrink", (0.3,), {}, (2, 4)),
    ("Threshold", (0.1, 20.0), {}, (2, 4)),
    ("GLU", (), {}, (2, 4)),
    ("PReLU", (4,), {}, (2, 4, 3)),
    ("Softmax", (1,), {}, (2, 4)),
    ("LogSoftmax", (1,), {}, (2, 4)),
    ("Softmin", (1,), {}, (2, 4)),
    ("Softmax2d", (), {}, (2, 3, 4, 4)),
    ("Flatten", (), {}, (2, 3, 4)),
    ("Unflatten", (1, (2, 2)), {}, (2, 4)),
    ("Embedding", (10, 3), {}, "integers"),
    ("Embedding", (10, 3), {"padding_idx": -3}, "integers"),
    ("LayerNorm", (4,), {}, (2, 3, 4)),
    ("LayerNorm", ((3, 4),), {"bias": False}, (2, 3, 4)),
    ("LayerNorm", (4,), {"elementwise_affine": False}, (2, 3, 4)),
    ("RMSNorm", (4,), {}, (2, 3, 4)),
    ("GroupNorm", (2, 6), {}, (2, 6, 4)),
    ("BatchNorm1d", (4,), {}, (5, 4)),
    ("BatchNorm1d", (4,), {"momentum": None}, (5, 4, 3)),
    ("BatchNorm2d", (4,), {"affine": False}, (5, 4, 3, 2)),
    ("BatchNorm3d", (2,), {"track_running_stats": False}, (2, 2, 3, 2, 2)),
    ("InstanceNorm2d", (3,), {"affine": True, "track_running_stats": True}, (2, 3, 4, 4)),
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1}, (2, 4, 9)),
    ("Conv2d", (4, 6, (3, 2)), {"groups": 2, "dilation": (1, 2)}, (2, 4, 7, 6)),
    ("Conv2d", (4, 6, 3), {"padding": "same", "bias": False}, (2, 4, 7, 6)),
    ("Conv2d", (2, 3, 3), {"padding": 1, "padding_mode": "reflect"}, (2, 2, 5, 5)),
    ("Conv2d", (2, 3, 3), {"padding": (1, 2), "padding_mode": "circular"}, (2, 2, 5, 5)),
    ("Conv3d", (2, 3, 2), {}, (1, 2, 3, 4, 4)),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2}, (2, 4, 5)),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "output_padding": 1, "groups": 2}, (2, 4, 5, 5)),
    ("ConvTranspose3d", (2, 3, 2), {}, (1, 2, 3, 3, 3)),
    ("MaxPool1d", (2,), {}, (2, 3, 9)),
    ("MaxPool2d", (3, 2, 1), {"ceil_mode": True}, (2, 3, 9, 8)),
    ("MaxPool3d", (2,), {}, (1, 2, 4, 4, 4)),
    ("AvgPool1d", (2,), {}, (2, 3, 9)),
    ("AvgPool2d", (3, 2, 1), {"count_include_pad": False}, (2, 3, 9, 8)),
    ("AvgPool3d", (2,), {}, (1, 2, 4, 4, 4)),
    ("AdaptiveAvgPool1d", (3,), {}, (2, 3, 7)),
    ("AdaptiveAvgPool2d", ((None, 3),), {}, (2, 3, 7, 7)),
    ("AdaptiveMaxPool2d", (2,), {}, (2, 3, 7, 7)),
    ("RNN", (4, 5), {"num_layers": 2, "nonlinearity": "relu"}, (6, 2, 4)),
    ("RNN", (4, 5), {"bidirectional": True, "bias": False}, (6, 4)),
    ("GRU", (4, 5), {"num_layers": 2, "batch_first": True, "bidirectional": True}, (2, 6, 4)),
    ("LSTM", (4, 5), {"num_layers": 2, "batch_first": True}, (2, 6, 4)),
    ("LSTM", (4, 5), {"proj_size": 3, "bidirectional": True}, (6, 2, 4)),
    ("RNNCell", (4, 5), {}, (2, 4)),
    ("GRUCell", (4, 5), {"bias": False}, (4,)),
    ("LSTMCell", (4, 5), {}, (2, 4)),
    ("Dropout", (0.3,), {}, (2, 4)),
    ("Dropout2d", (0.3,), {}, (2, 4, 3, 3)),
]


def made(library, name, args, kwargs):
    library.manual_seed(3)
    return getattr(library.nn, name)(*args, **kwargs)


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS)
def test_layer(name, args, kwargs, shape):
    """First weights, repr, output, gradients and evaluation mode are PyTorch's."""
    ours, theirs = made(lamina, name, args, kwargs), made(torch, name, args, kwargs)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        assert_close(ours.state_dict()[key], value, 1e-6)

    if shape == "integers":
        values = torch.tensor([[1, 7, 7], [0, 9, 2]])
        x_ours, x_theirs = lamina.tensor(values.tolist()), values
    else:
        torch.manual_seed(5)
        values = torch.randn(shape)
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


LOSSES = [
    ("MSELoss", {}, "same"),
    ("MSELoss", {"reduction": "none"}, "same"),
    ("L1Loss", {"reduction": "sum"}, "same"),
    ("SmoothL1Loss", {"beta": 0.5}, "same"),
    ("HuberLoss", {"delta": 0.5}, "same"),
    ("KLDivLoss", {"reduction": "batchmean"}, "probabilities"),
    ("BCELoss", {}, "binary"),
    ("BCEWithLogitsLoss", {}, "probabilities"),
    ("CrossEntropyLoss", {"label_smoothing": 0.1, "ignore_index": 2}, "classes"),
    ("CrossEntropyLoss", {}, "probabilities"),
    ("NLLLoss", {"reduction": "sum"}, "classes"),
]


@pytest.mark.parametrize(("name", "kwargs", "target"), LOSSES)
def test_loss(name, kwargs, target):
    """A loss and its gradient are PyTorch's."""
    torch.manual_seed(2)
    x = torch.randn(4, 3)
    if target == "binary":
        x = x.sigmoid()
    y = {
        "same": torch.randn(4, 3),
        "probabilities": torch.rand(4, 3).softmax(1),
        "binary": torch.rand(4, 3),
        "classes": torch.tensor([0, 2, 1, 1]),
    }[target]
    results = []
    for library in (lamina, torch):
        x_here = library.tensor(x.tolist(), requires_grad=True)
        y_here = library.tensor(y.tolist())
        module = getattr(library.nn, name)(**kwargs)
        loss = module(x_here, y_here)
        loss.sum().backward()
        results.append((loss, x_here.grad))
    assert_close(*results)
    assert repr(getattr(lamina.nn, name)(**kwargs)) == repr(getattr(torch.nn, name)(**kwargs))


INITS = [
    ("uniform_", (-1.0, 2.0), (5, 4)),
    ("normal_", (1.0, 2.0), (5, 4)),
    ("trunc_normal_", (), (5, 4)),
    ("trunc_normal_", (0.0, 1.0, 1.5, 3.0), (5, 4)),
    ("constant_", (0.5,), (5, 4)),
    ("ones_", (), (5, 4)),
    ("zeros_", (), (5, 4)),
    ("eye_", (), (5, 4)),
    ("dirac_", (2,), (4, 3, 3)),
    ("xavier_uniform_", (0.5,), (5, 4, 3)),
    ("xavier_normal_", (), (5, 4)),
    ("kaiming_uniform_", (0.2, "fan_out"), (5, 4)),
    ("kaiming_normal_", (0, "fan_in", "relu"), (5, 4)),
    ("orthogonal_", (2.0,), (3, 5)),
    ("orthogonal_", (), (5, 3)),
    ("sparse_", (0.4,), (5, 4)),
]


@pytest.mark.parametrize(("name", "args", "shape"), INITS)
def test_init(name, args, shape):
    """An initialiser draws PyTorch's numbers."""
    results = []
    for library in (lamina, torch):
        library.manual_seed(11)
        results.append(getattr(library.nn.init, name)(library.empty(shape), *args))
    assert_close(*results)


OPTIMIZERS = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.1}),
    ("SGD", {"lr": 1e-5, "maximize": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "betas": (0.5, 0.9), "eps": 1e-3}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "maximize": True, "amsgrad": True}),
]


def trained(library, name, settings, steps=100):
    """Parameters and optimizer after some steps on a small problem."""
    library.manual_seed(1)
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


@pytest.mark.parametrize(("name", "settings"), OPTIMIZERS)
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
