"""What an optimizer remembers from step to step never changes what a step does."""

import copy
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina.codegen import fused
from lamina.optim import SGD, lineup
from tests.optim.test_updates import MAKERS

SHAPES = [(3, 2), (4,), (), (1, 5)]


def made(make):
    rng = np.random.default_rng(1)
    params = [lamina.tensor(rng.standard_normal(shape)).requires_grad_() for shape in SHAPES]
    return params, make(params)


def other_lr(params, optimizer):
    optimizer.param_groups[0]["lr"] *= 0.5


def other_dtype_of_settings(params, optimizer):
    optimizer.param_groups[0]["lr"] = lamina.tensor(0.01, dtype=lamina.float64)


def other_weight_decay(params, optimizer):
    optimizer.param_groups[0]["weight_decay"] = 0.25


def uphill(params, optimizer):
    optimizer.param_groups[0]["maximize"] = not optimizer.param_groups[0]["maximize"]


def no_gradient(params, optimizer):
    params[1].grad = None


def transposed_gradient(params, optimizer):
    params[0].grad = params[0].grad.t().contiguous().t()


def other_memory(params, optimizer):
    params[0].data = params[0].detach() * 2


def other_values(params, optimizer):
    with lamina.no_grad():
        params[3].mul_(0.5)


def loaded(params, optimizer):
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def clock_put_back(params, optimizer):
    for known in optimizer.state.values():
        if "step" in known:
            known["step"].data.fill_(1)
            break


def all_clocks_put_back(params, optimizer):
    for known in optimizer.state.values():
        if "step" in known:
            known["step"].zero_()


def state_forgotten(params, optimizer):
    optimizer.state.pop(params[0], None)


def state_replaced(params, optimizer):
    for known in optimizer.state.values():
        for name, value in known.items():
            known[name] = value.clone()


def reordered(params, optimizer):
    optimizer.param_groups[0]["params"].reverse()


def fewer(params, optimizer):
    if len(optimizer.param_groups[0]["params"]) > 1:
        optimizer.state.pop(optimizer.param_groups[0]["params"].pop(), None)


def nothing(params, optimizer):
    pass


EVENTS = [
    other_lr, other_dtype_of_settings, other_weight_decay, uphill, no_gradient,
    transposed_gradient, other_memory, other_values, loaded, clock_put_back, all_clocks_put_back,
    state_forgotten, state_replaced, reordered, fewer, nothing,
]  # fmt: skip


def history(make, events):
    """All values and counts of changes after each step, each preceded by an event."""
    params, optimizer = made(make)
    rng = np.random.default_rng(2)
    seen = []
    for event in events:
        for param in params:
            param.grad = lamina.tensor(rng.standard_normal(param.shape))
        event(params, optimizer)
        optimizer.step()
        for param in params:
            seen.append((param.detach().numpy().tobytes(), param._version))
            known = optimizer.state.get(param, {})
            seen += [(name, v.numpy().tobytes(), v._version) for name, v in known.items()]
    return seen


@pytest.mark.parametrize("make", MAKERS)
@settings(max_examples=12, deadline=None)
@given(events=st.lists(st.sampled_from(EVENTS), min_size=3, max_size=12))
def test_steps_do_the_same_without_memory(make, events):
    events = [nothing, nothing, *events, nothing]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused, "WORK_BEFORE", 100)
        remembering = history(make, events)
        patch.setattr(lineup, "MOST_ELEMENTS", -1)
        assert remembering == history(make, events)


@pytest.mark.parametrize("make", MAKERS)
def test_the_next_step_uses_what_was_remembered(make):
    params, optimizer = made(make)
    for _ in range(3):
        for param in params:
            param.grad = lamina.ones_like(param)
        optimizer.step()
    assert optimizer._lineups.of(optimizer.param_groups[0]).has_run


def test_a_changing_program_is_not_remembered_for_ever():
    params, optimizer = made(lambda params: SGD(params, lr=0.1))
    for k in range(2 * lineup.MOST_WASTED):
        for param in params:
            param.grad = lamina.ones_like(param)
        params[k % 4].grad = None
        optimizer.step()
    assert optimizer._lineups.of(optimizer.param_groups[0]) is None


def test_an_optimizer_that_is_copied_remembers_nothing_of_the_first():
    params, optimizer = made(lambda params: SGD(params, lr=0.1, momentum=0.9))
    for param in params:
        param.grad = lamina.ones_like(param)
    optimizer.step()
    twin = copy.deepcopy(optimizer)
    before = [param.detach().clone() for param in params]
    for param in twin.param_groups[0]["params"]:
        param.grad = lamina.ones_like(param)
    twin.step()
    assert all(lamina.equal(a, b) for a, b in zip(params, before, strict=True))


def test_changes_inside_a_step_are_seen_by_backward():
    params, optimizer = made(lambda params: SGD(params, lr=0.1))
    for _ in range(2):
        loss = sum((param * param).sum() for param in params)
        for param in params:
            param.grad = lamina.ones_like(param)
        optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_two_threads_may_step_at_once():
    """Only one of them finds the tables free; the other does it step by step."""
    params, optimizer = made(lambda params: SGD(params, lr=0.0))
    for param in params:
        param.grad = lamina.ones_like(param)
    optimizer.step()
    before = [param.detach().clone() for param in params]
    remembered = optimizer._lineups.of(optimizer.param_groups[0])
    with remembered._lock:
        thread = threading.Thread(target=optimizer.step)
        thread.start()
        thread.join()
    assert all(lamina.equal(a, b) for a, b in zip(params, before, strict=True))
    assert all(param._version == 2 for param in params)
