"""Every schedule, and averages of models, beside PyTorch's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lamina

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

SCHEDULES = {
    "lambda": lambda L, o: L.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)]),
    "multiplicative": lambda L, o: L.MultiplicativeLR(o, lambda e: 0.9),
    "step": lambda L, o: L.StepLR(o, 3, 0.5),
    "milestones": lambda L, o: L.MultiStepLR(o, [2, 5, 5], 0.5),
    "exponential": lambda L, o: L.ExponentialLR(o, 0.9),
    "constant": lambda L, o: L.ConstantLR(o, 0.5, 4),
    "linear": lambda L, o: L.LinearLR(o, 0.25, 0.75, 4),
    "polynomial": lambda L, o: L.PolynomialLR(o, 6, 2.0),
    "cosine": lambda L, o: L.CosineAnnealingLR(o, 4, 0.1),
    "restarts": lambda L, o: L.CosineAnnealingWarmRestarts(o, 3, 2, 0.1),
    "one cycle": lambda L, o: L.OneCycleLR(o, [1.0, 2.0], total_steps=20),
    "three phases": lambda L, o: L.OneCycleLR(
        o, 1.0, epochs=4, steps_per_epoch=5, three_phase=True, anneal_strategy="linear"
    ),
    "triangular": lambda L, o: L.CyclicLR(o, 0.1, [1.0, 2.0], 3, 2),
    "triangular2": lambda L, o: L.CyclicLR(o, [0.1, 0.2], 1.0, 2, mode="triangular2"),
    "exp_range": lambda L, o: L.CyclicLR(
        o, 0.1, 1.0, 3, mode="exp_range", gamma=0.9, cycle_momentum=False
    ),
    "own scale": lambda L, o: L.CyclicLR(
        o, 0.1, 1.0, 3, scale_fn=lambda x: 1 / (1 + x), scale_mode="iterations"
    ),
    "sequence": lambda L, o: L.SequentialLR(
        o, [L.LinearLR(o, 0.1, 1.0, 3), L.CosineAnnealingLR(o, 6), L.ExponentialLR(o, 0.5)], [3, 7]
    ),
    "nested": lambda L, o: L.SequentialLR(
        o,
        [
            L.SequentialLR(o, [L.ExponentialLR(o, 0.5), L.StepLR(o, 2)], [2]),
            L.ConstantLR(o, 0.5, 2),
        ],
        [5],
    ),
    "chain": lambda L, o: L.ChainedScheduler([L.ConstantLR(o, 0.5, 3), L.ExponentialLR(o, 0.9)]),
}
METRICS = [5.0, 4.0, 4.0, 4.0, 3.9999, 4.0, 4.0, 3.0, 3.0, 3.0, 3.0, 3.0]
PLATEAUS = [
    {"patience": 1},
    {"patience": 0, "cooldown": 2, "factor": 0.5, "min_lr": [0.2, 0.1]},
    {"mode": "max", "patience": 1, "threshold": 0.5, "threshold_mode": "abs"},
]


def optimizer(module):
    groups = [{"params": [module.ones(1, requires_grad=True)]} for _ in range(2)]
    groups[1]["lr"] = 0.5
    return module.optim.SGD(groups, lr=1.0, momentum=0.9)


def numbers(made):
    return [[group["lr"], group["momentum"]] for group in made.param_groups]


def plain(value):
    """A state without what belongs to one library or one object: functions."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return "function" if callable(value) else value


def trace(module, build, steps=14):
    made = optimizer(module)
    schedule = build(module.optim.lr_scheduler, made)
    found = [numbers(made)]
    for _ in range(steps):
        made.step()
        schedule.step()
        assert schedule.get_last_lr() == [group["lr"] for group in made.param_groups]
        found.append(numbers(made))
    return found, plain(schedule.state_dict()), schedule


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.filterwarnings("ignore:Detected call of")  # both say so of the schedules inside
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_and_state(name):
    """Rates and momentum of both groups, and the saved state with its keys in order."""
    ours, theirs = trace(lamina, SCHEDULES[name]), trace(torch, SCHEDULES[name])
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12, atol=1e-15)
    assert repr(ours[1]) == repr(theirs[1])
    if name not in ("sequence", "nested", "chain"):
        ours[2].step(5)
        theirs[2].step(5)
        np.testing.assert_allclose(ours[2].get_last_lr(), theirs[2].get_last_lr(), rtol=1e-12)


RESUMED = {
    "lambda": lambda L, o, e: L.LambdaLR(o, lambda k: 0.9**k, last_epoch=e),
    "multiplicative": lambda L, o, e: L.MultiplicativeLR(o, lambda k: 0.9, last_epoch=e),
    "step": lambda L, o, e: L.StepLR(o, 3, 0.5, last_epoch=e),
    "milestones": lambda L, o, e: L.MultiStepLR(o, [2, 6], 0.5, last_epoch=e),
    "exponential": lambda L, o, e: L.ExponentialLR(o, 0.9, last_epoch=e),
    "constant": lambda L, o, e: L.ConstantLR(o, 0.5, 6, last_epoch=e),
    "linear": lambda L, o, e: L.LinearLR(o, 0.25, 0.75, 8, last_epoch=e),
    "polynomial": lambda L, o, e: L.PolynomialLR(o, 9, 2.0, last_epoch=e),
    "cosine": lambda L, o, e: L.CosineAnnealingLR(o, 4, 0.1, last_epoch=e),
    "restarts": lambda L, o, e: L.CosineAnnealingWarmRestarts(o, 3, 2, 0.1, last_epoch=e),
    "cyclic": lambda L, o, e: L.CyclicLR(o, 0.1, 1.0, 3, last_epoch=e, cycle_momentum=False),
}


@pytest.mark.parametrize("name", RESUMED)
def test_a_schedule_resumed_at_an_epoch(name):
    """With the rates of another run in the groups, as after loading an optimizer's state."""
    outcomes = []
    for module in (lamina, torch):
        made = optimizer(module)
        for group in made.param_groups:
            group.update(initial_lr=group["lr"], lr=group["lr"] * 0.4)
        schedule = RESUMED[name](module.optim.lr_scheduler, made, 4)
        found = [numbers(made)]
        for _ in range(5):
            made.step()
            schedule.step()
            found.append(numbers(made))
        outcomes.append(found)
    np.testing.assert_allclose(*outcomes, rtol=1e-12)


@pytest.mark.parametrize("settings", PLATEAUS)
def test_plateau(settings):
    outcomes = []
    for module in (lamina, torch):
        made = optimizer(module)
        schedule = module.optim.lr_scheduler.ReduceLROnPlateau(made, **settings)
        found = []
        for metric in METRICS:
            schedule.step(metric)
            found.append((numbers(made), schedule.num_bad_epochs, schedule.best))
        outcomes.append(repr((found, schedule.state_dict())))
    assert outcomes[0] == outcomes[1]


@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("name", sorted(set(SCHEDULES) - {"lambda", "multiplicative"}))
@pytest.mark.parametrize("is_ours", [True, False], ids=["to PyTorch", "from PyTorch"])
def test_a_state_goes_on_in_the_other_library(name, is_ours):
    first, second = (lamina, torch) if is_ours else (torch, lamina)
    _, _, saved = trace(first, SCHEDULES[name], 6)
    made = optimizer(second)
    schedule = SCHEDULES[name](second.optim.lr_scheduler, made)
    schedule.load_state_dict(saved.state_dict())
    for group, (lr, momentum) in zip(made.param_groups, numbers(saved.optimizer), strict=True):
        group.update(lr=lr, momentum=momentum)
    for _ in range(6):
        for each in (saved, schedule):
            each.optimizer.step()
            each.step()
    np.testing.assert_allclose(numbers(made), numbers(saved.optimizer), rtol=1e-12)


def warned(module):
    """The warnings of wrong uses, by their first words."""
    L = module.optim.lr_scheduler
    found = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schedule = L.StepLR(optimizer(module), 2)
        schedule.step()
        schedule.get_lr()
        schedule.step(3)
        made = optimizer(module)
        schedule = L.StepLR(made, 2)
        made.step = lambda: None
        schedule.step()
        for warning in caught:
            assert warning.category is UserWarning
            assert module is torch or warning.filename == __file__
            found.append(str(warning.message)[:60])
    return found


def test_warnings():
    assert warned(lamina) == warned(torch)


AVERAGES = {
    "mean": lambda U: {},
    "mean of buffers": lambda U: {"use_buffers": True},
    "ema": lambda U: {"multi_avg_fn": U.get_ema_multi_avg_fn(0.7), "use_buffers": True},
    "ema one by one": lambda U: {"avg_fn": U.get_ema_avg_fn(0.7)},
    "swa one by one": lambda U: {"avg_fn": U.get_swa_avg_fn()},
}


def averaged(module, settings):
    nn, utils = module.nn, module.optim.swa_utils
    module.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).double()
    average = utils.AveragedModel(model, **settings(utils))
    made = module.optim.SGD(model.parameters(), lr=0.1)
    rng = np.random.default_rng(0)
    batches = [module.tensor(rng.standard_normal((5, 3))) for _ in range(6)]
    for batch in batches:
        made.zero_grad()
        model(batch).square().mean().backward()
        made.step()
        average.update_parameters(model)
    states = [average.state_dict()]
    states = [{k: v.numpy().copy() for k, v in state.items()} for state in states]
    utils.update_bn([(batch, 0) for batch in batches], average)
    states.append({k: v.numpy().copy() for k, v in average.state_dict().items()})
    return states


@pytest.mark.parametrize("name", AVERAGES)
def test_averaged_model(name):
    for ours, theirs in zip(
        averaged(lamina, AVERAGES[name]), averaged(torch, AVERAGES[name]), strict=True
    ):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            np.testing.assert_allclose(ours[key], value, rtol=1e-6, atol=1e-7, err_msg=key)
            assert ours[key].dtype == value.dtype


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 5])
def test_swa_rates(strategy, epochs):
    outcomes = []
    for module in (lamina, torch):
        made = optimizer(module)
        schedule = module.optim.swa_utils.SWALR(made, [0.05, 0.1], epochs, strategy)
        found = []
        for _ in range(8):
            made.step()
            schedule.step()
            found.append(numbers(made))
        outcomes.append((found, repr(plain(schedule.state_dict()))))
    np.testing.assert_allclose(outcomes[0][0], outcomes[1][0], rtol=1e-12)
    assert outcomes[0][1] == outcomes[1][1]
