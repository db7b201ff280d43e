"""Schedules: what recorded traces do not show."""

import pytest

import lamina as torch
from lamina.optim import lr_scheduler as schedules
from lamina.optim import swa_utils
from lamina.optim.swa_utils import SWALR


@pytest.fixture
def optimizer():
    return torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)


def rates(optimizer, scheduler, count):
    found = []
    for _ in range(count):
        optimizer.step()
        scheduler.step()
        found.append(optimizer.param_groups[0]["lr"])
    return found


def test_one_function_for_each_group(optimizer):
    optimizer.add_param_group({"params": [torch.ones(1, requires_grad=True)], "lr": 2.0})
    scheduler = schedules.LambdaLR(optimizer, [lambda e: e + 1, lambda e: 1.0])
    rates(optimizer, scheduler, 2)
    assert scheduler.get_last_lr() == [3.0, 2.0]
    with pytest.raises(ValueError, match="one value for each group"):
        schedules.LambdaLR(optimizer, [lambda e: 1.0])


def test_sequence_of_schedules(optimizer):
    scheduler = schedules.SequentialLR(
        optimizer,
        [schedules.ConstantLR(optimizer, 0.5, 10), schedules.ExponentialLR(optimizer, 0.5)],
        milestones=[2],
    )
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert rates(optimizer, scheduler, 4) == [0.5, 1.0, 0.5, 0.25]


def test_chain_of_schedules(optimizer):
    scheduler = schedules.ChainedScheduler(
        [schedules.ConstantLR(optimizer, 0.5, 2), schedules.ExponentialLR(optimizer, 0.5)]
    )
    assert rates(optimizer, scheduler, 3) == [0.25, 0.25, 0.125]


def test_plateau(optimizer):
    scheduler = schedules.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, min_lr=0.2)
    seen = []
    for loss in [5.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0]:
        scheduler.step(torch.tensor(loss))
        seen.append(optimizer.param_groups[0]["lr"])
    assert seen == [1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.2]


def test_plateau_of_a_maximum_with_cooldown(optimizer):
    scheduler = schedules.ReduceLROnPlateau(
        optimizer, mode="max", factor=0.5, patience=0, cooldown=2, threshold_mode="abs"
    )
    for score in [1.0, 1.0, 1.0, 1.0]:
        scheduler.step(score)
    assert scheduler.get_last_lr() == [0.5]
    assert not scheduler.in_cooldown


def test_state_can_be_saved_and_loaded(optimizer):
    scheduler = schedules.StepLR(optimizer, 2)
    rates(optimizer, scheduler, 3)
    other = schedules.StepLR(optimizer, 7)
    other.load_state_dict(scheduler.state_dict())
    assert other.step_size == 2
    assert other.last_epoch == 3


def test_state_of_nested_schedules(optimizer):
    def build():
        parts = [schedules.ConstantLR(optimizer, 0.5, 3), schedules.ExponentialLR(optimizer, 0.5)]
        return schedules.SequentialLR(optimizer, parts, [2])

    scheduler, other = build(), build()
    rates(optimizer, scheduler, 3)
    other.load_state_dict(scheduler.state_dict())
    assert other._schedulers[1].last_epoch == scheduler._schedulers[1].last_epoch


def test_jump_to_an_epoch(optimizer):
    scheduler = schedules.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        scheduler.step(3)
    assert scheduler.get_last_lr() == [0.125]


def test_a_tensor_rate_is_changed_in_place():
    lr = torch.tensor(1.0)
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=lr)
    scheduler = schedules.ExponentialLR(optimizer, 0.5)
    rates(optimizer, scheduler, 2)
    assert lr.item() == 0.25
    assert optimizer.param_groups[0]["lr"] is lr


def test_wrong_order_warns(optimizer):
    scheduler = schedules.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match=r"before `optimizer.step\(\)`"):
        scheduler.step()


def test_resuming_needs_the_first_rate(optimizer):
    with pytest.raises(KeyError, match="initial_lr"):
        schedules.StepLR(optimizer, 1, last_epoch=3)


def test_only_optimizers_have_rates():
    with pytest.raises(TypeError, match="list is not an Optimizer"):
        schedules.StepLR([], 1)


@pytest.mark.parametrize(
    "build",
    [
        lambda o: schedules.ConstantLR(o, 2.0),
        lambda o: schedules.LinearLR(o, 0.0),
        lambda o: schedules.LinearLR(o, 1.0, 2.0),
        lambda o: schedules.OneCycleLR(o, 1.0),
        lambda o: schedules.OneCycleLR(o, 1.0, total_steps=0),
        lambda o: schedules.OneCycleLR(o, 1.0, total_steps=5, pct_start=2.0),
        lambda o: schedules.ReduceLROnPlateau(o, factor=1.0),
        lambda o: schedules.ReduceLROnPlateau(o, mode="best"),
        lambda o: schedules.SequentialLR(o, [schedules.StepLR(o, 1)], [3]),
        lambda o: schedules.SequentialLR(o, [], []),
        lambda o: schedules.CosineAnnealingWarmRestarts(o, 0),
        lambda o: schedules.CyclicLR(o, 0.1, 1.0, mode="square"),
        lambda o: schedules.CyclicLR(torch.optim.Rprop([torch.ones(1)]), 0.1, 1.0),
        lambda o: SWALR(o, 0.1, anneal_strategy="square"),
        lambda o: SWALR(o, 0.1, anneal_epochs=-1),
        lambda o: swa_utils.get_ema_avg_fn(1.5),
    ],
)
def test_bad_settings(optimizer, build):
    with pytest.raises(ValueError, match=r"."):
        build(optimizer)


def test_too_many_steps_of_one_cycle(optimizer):
    scheduler = schedules.OneCycleLR(optimizer, 1.0, total_steps=2, cycle_momentum=False)
    rates(optimizer, scheduler, 2)
    with pytest.raises(ValueError, match="Tried to step 3 times"):
        scheduler.step()


def test_cycles_up_and_down(optimizer):
    scheduler = schedules.CyclicLR(optimizer, 1.0, 3.0, 2, mode="triangular2", cycle_momentum=False)
    assert rates(optimizer, scheduler, 8) == [2.0, 3.0, 2.0, 1.0, 1.5, 2.0, 1.5, 1.0]


def test_get_lr_is_not_what_one_asks(optimizer):
    scheduler = schedules.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()


def test_a_step_that_was_replaced_is_said(optimizer):
    scheduler = schedules.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        scheduler.step()


def test_a_schedule_of_ones_own(optimizer):
    """A subclass as people write them, with the closed form that jumps ask for."""

    class Halving(schedules._LRScheduler):
        def get_lr(self):
            return [
                group["lr"] * (0.5 if self.last_epoch else 1) for group in optimizer.param_groups
            ]

        def _get_closed_form_lr(self):
            return [base * 0.5**self.last_epoch for base in self.base_lrs]

    scheduler = Halving(optimizer)
    assert rates(optimizer, scheduler, 2) == [0.5, 0.25]
    with pytest.warns(UserWarning, match="epoch parameter"):
        scheduler.step(4)
    assert scheduler.get_last_lr() == [0.0625]


def test_an_average_of_models_is_saved_with_its_count():
    model = torch.nn.Linear(2, 1)
    average = swa_utils.AveragedModel(model)
    average.update_parameters(model)
    average.update_parameters(model)
    twin = swa_utils.AveragedModel(torch.nn.Linear(2, 1))
    twin.load_state_dict(average.state_dict())
    assert twin.n_averaged.item() == 2
    assert torch.equal(twin.module.weight, model.weight)
    with pytest.raises(AssertionError, match="Only one of"):
        swa_utils.AveragedModel(
            model, avg_fn=lambda *a: a[0], multi_avg_fn=swa_utils.get_ema_multi_avg_fn()
        )
