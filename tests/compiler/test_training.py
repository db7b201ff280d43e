"""Whole training steps, compiled, train as eager ones do."""

import numpy as np
import pytest

import lamina
import lamina.nn.functional as F
from lamina import nn
from lamina.compiler import compile


class _Both:
    """Muon for the matrices and Adam for the rest, as Muon is used."""

    def __init__(self, params):
        self.muon = lamina.optim.Muon([p for p in params if p.dim() == 2], lr=1e-2)
        self.rest = lamina.optim.Adam([p for p in params if p.dim() != 2], lr=1e-2)

    def zero_grad(self):
        self.muon.zero_grad()
        self.rest.zero_grad()

    def step(self):
        self.muon.step()
        self.rest.step()


OPTIMIZERS = {
    "sgd": lambda p: lamina.optim.SGD(p, lr=0.1),
    "momentum": lambda p: lamina.optim.SGD(
        p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01
    ),
    "adam": lambda p: lamina.optim.Adam(p, lr=1e-2),
    "amsgrad": lambda p: lamina.optim.Adam(p, lr=1e-2, amsgrad=True, weight_decay=0.01),
    "adamw": lambda p: lamina.optim.AdamW(p, lr=1e-2),
    "adagrad": lambda p: lamina.optim.Adagrad(p, lr=1e-2, lr_decay=0.1),
    "adadelta": lambda p: lamina.optim.Adadelta(p, lr=0.5, eps=1e-3, weight_decay=0.01),
    "adamax": lambda p: lamina.optim.Adamax(p, lr=1e-2),
    "rmsprop": lambda p: lamina.optim.RMSprop(p, lr=1e-3, maximize=True),
    "centered": lambda p: lamina.optim.RMSprop(
        p, lr=1e-3, alpha=0.9, eps=1e-2, centered=True, momentum=0.5
    ),
    "rprop": lambda p: lamina.optim.Rprop(p, lr=1e-3, step_sizes=(1e-4, 1e-2)),
    "asgd": lambda p: lamina.optim.ASGD(p, lr=0.1, lambd=0.01, t0=5),
    "nadam": lambda p: lamina.optim.NAdam(
        p, lr=1e-2, weight_decay=0.01, decoupled_weight_decay=True
    ),
    "radam": lambda p: lamina.optim.RAdam(p, lr=1e-2),
    "adafactor": lambda p: lamina.optim.Adafactor(p, lr=1e-2, weight_decay=0.01),
    "muon": lambda p: _Both(list(p)),
}  # fmt: skip


class Regularized(nn.Module):
    """Layers with state of their own: running statistics, random masks, an embedding."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.layers = nn.Sequential(
            nn.Linear(8, 16, bias=False),
            nn.BatchNorm1d(16),
            nn.Dropout(0.3),
            nn.GELU(),
            nn.LayerNorm(16),
        )
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        return self.out(self.layers(self.embedding(x)))


def trained(make_model, make_optimizer, batches, is_compiled, change=None):
    """The losses of some steps, the model and the step."""
    lamina.manual_seed(3)
    model = make_model()
    optimizer = make_optimizer(model.parameters())

    def step(x, t):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), t)
        loss.backward()
        optimizer.step()
        return loss

    run = compile(step, fullgraph=True) if is_compiled else step
    losses = []
    for k, (x, t) in enumerate(batches):
        if change is not None:
            change(k, model, optimizer)
        losses.append(run(x, t).item())
    return losses, model, run


def mlp():
    return nn.Sequential(
        nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)
    )


class Recurrent(nn.Module):
    """Sequences of ten steps, through two layers of one kind, and a head on the last state."""

    def __init__(self, kind):
        super().__init__()
        self.layers = kind(6, 16, num_layers=2, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        states, _ = self.layers(x)
        return self.head(states[:, -1])


@pytest.fixture
def batches():
    lamina.manual_seed(0)
    return [(lamina.randn(12, 8), lamina.randint(0, 4, (12,))) for _ in range(20)]


def same_training(make_model, make_optimizer, batches, change=None, tolerance=2e-5):
    eager, model, _ = trained(make_model, make_optimizer, batches, False, change)
    losses, twin, run = trained(make_model, make_optimizer, batches, True, change)
    np.testing.assert_allclose(losses, eager, rtol=tolerance, atol=tolerance / 20)
    for (name, a), (_, b) in zip(
        model.state_dict().items(), twin.state_dict().items(), strict=True
    ):
        np.testing.assert_allclose(
            b.numpy(), a.numpy(), rtol=10 * tolerance, atol=tolerance, err_msg=name
        )
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        np.testing.assert_allclose(
            b.grad.numpy(), a.grad.numpy(), rtol=100 * tolerance, atol=tolerance
        )
        assert a._version == b._version
    return run


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_twenty_steps(name, batches):
    # A rounding may turn out otherwise in Muon's bfloat16.
    run = same_training(mlp, OPTIMIZERS[name], batches, tolerance=1e-3 if name == "muon" else 2e-5)
    assert len(run.programs) == 1


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_networks(kind):
    lamina.manual_seed(0)
    batches = [(lamina.randn(5, 10, 6), lamina.randint(0, 4, (5,))) for _ in range(6)]
    same_training(lambda: Recurrent(kind), OPTIMIZERS["adam"], batches)


def test_random_masks_and_running_statistics(batches):
    tokens = [(lamina.randint(0, 20, (12,)), t) for _, t in batches]
    run = same_training(Regularized, OPTIMIZERS["adamw"], tokens)
    assert len(run.programs) == 1


def test_a_learning_rate_is_read_at_each_call(batches):
    def halve(k, model, optimizer):
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (k + 1)

    run = same_training(mlp, OPTIMIZERS["momentum"], batches, halve)
    assert len(run.programs) == 1


def test_another_setting_makes_another_program(batches):
    def calm(k, model, optimizer):
        if k == 10:
            optimizer.param_groups[0]["momentum"] = 0.5

    run = same_training(mlp, OPTIMIZERS["momentum"], batches, calm)
    assert len(run.programs) == 2
    assert "'momentum'] was 0.9, is 0.5" in run.splits[0]


def test_evaluation_is_another_program(batches):
    tokens = [(lamina.randint(0, 20, (12,)), t) for _, t in batches]

    def switch(k, model, optimizer):
        model.train(k % 4 != 3)

    run = same_training(Regularized, OPTIMIZERS["sgd"], tokens, switch)
    assert len(run.programs) == 2
    assert "training was" in str(run.explain())


def test_replaced_data_is_seen(batches):
    def replace(k, model, optimizer):
        if k == 7:
            model[0].weight.data = model[0].weight.data * 0.5

    run = same_training(mlp, OPTIMIZERS["adam"], batches, replace)
    assert len(run.programs) == 1


def test_gradients_can_accumulate_over_calls(batches):
    def losses(is_compiled):
        lamina.manual_seed(3)
        model = mlp()

        def accumulate(x, t):
            F.cross_entropy(model(x), t).backward()

        run = compile(accumulate, fullgraph=True) if is_compiled else accumulate
        for x, t in batches[:5]:
            run(x, t)
        return [p.grad.numpy() for p in model.parameters()]

    for a, b in zip(losses(True), losses(False), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_scheduler_outside_and_a_new_batch_size(batches):
    lamina.manual_seed(3)
    model = mlp()
    optimizer = lamina.optim.SGD(model.parameters(), lr=0.1)
    scheduler = lamina.optim.lr_scheduler.StepLR(optimizer, 2)

    @compile(fullgraph=True)
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    for size in (4, 4, 4, 3, 4, 3):
        step(batches[0][0][:size])
        scheduler.step()
    assert len(step.programs) == 2
    assert "had shape [4, 8], has [3, 8]" in step.splits[0]


def test_the_returned_loss_says_that_its_graph_is_used_up(batches):
    _, _, run = trained(mlp, OPTIMIZERS["sgd"], batches[:3], True)
    loss = run(*batches[0])
    assert loss.requires_grad
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()
