"""Updates of whole arrays give what the formulas give, on every way."""

import numpy as np
import pytest

import lamina
from lamina.codegen import fused
from lamina.codegen.later import is_available
from lamina.optim import (
    ASGD,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
    elementwise,
)

MAKERS = [
    lambda params: SGD(params, lr=0.1),
    lambda params: SGD(params, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.01),
    lambda params: SGD(params, lr=0.1, momentum=0.9, nesterov=True),
    lambda params: Adam(params, lr=0.01),
    lambda params: Adam(params, lr=0.01, amsgrad=True, weight_decay=0.1),
    lambda params: AdamW(params, lr=0.01),
    lambda params: Adagrad(params, lr=0.1, weight_decay=0.1),
    lambda params: Adadelta(params, eps=1e-3),
    lambda params: Adamax(params, lr=0.1),
    lambda params: RMSprop(params, lr=0.1, maximize=True),
    lambda params: RMSprop(params, lr=0.1, centered=True, momentum=0.9, eps=0.1),
    lambda params: Rprop(params, lr=0.1),
    lambda params: ASGD(params, lr=0.1, lambd=0.1, t0=2),
    lambda params: NAdam(params, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True),
    lambda params: RAdam(params, lr=0.1, betas=(0.9, 0.7)),
]
SIZES = [3, 1023, 1024, 20_000, 70_001]


def steps(make, params, gradients):
    """The values of some parameters after a step for each list of gradients."""
    optimizer = make(params)
    for found in gradients:
        for param, gradient in zip(params, found, strict=True):
            param.grad = lamina.tensor(gradient)
        optimizer.step()
    return [param.detach().numpy().copy() for param in params]


def example(kind):
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(size).astype(kind) for size in SIZES]
    gradients = [[rng.standard_normal(size).astype(kind) for size in SIZES] for _ in range(4)]
    return values, gradients


def fresh(values):
    return [lamina.tensor(value.copy()).requires_grad_() for value in values]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_whole_arrays_give_what_operations_on_tensors_give(make, kind, monkeypatch):
    values, gradients = example(kind)
    params = fresh(values)
    views = [param[:] for param in params]  # of a view's base each operation is made by itself
    with lamina.no_grad():
        shown = [view.detach()[:] for view in views]
    expected = steps(make, [s.requires_grad_() for s in shown], gradients)
    monkeypatch.setattr(fused, "WORK_BEFORE", 0)
    actual = steps(make, fresh(values), gradients)
    digits = 1e-5 if kind == np.float32 else 1e-12
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=digits, atol=digits)


@pytest.mark.skipif(not is_available(), reason="needs llvmlite")
@pytest.mark.parametrize("make", MAKERS)
def test_a_step_is_one_loop_of_machine_code(make, monkeypatch):
    """Decay of weights and climbing included."""
    monkeypatch.setattr(fused, "WORK_BEFORE", 0)
    elementwise.update_for.cache_clear()
    made = []
    real = elementwise.Update

    def update(*args):
        made.append(real(*args))
        return made[-1]

    monkeypatch.setattr(elementwise, "Update", update)
    values, gradients = example(np.float32)
    steps(make, fresh(values), gradients)
    elementwise.update_for.cache_clear()
    (loops,) = [update.loop._loops for update in made]
    assert all(loops.values())


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
@pytest.mark.parametrize("make", [MAKERS[0], MAKERS[1], MAKERS[3]])
def test_a_parameter_that_stands_there_twice_is_updated_twice(make, monkeypatch):
    monkeypatch.setattr(fused, "WORK_BEFORE", 0)
    values, gradients = example(np.float32)
    (once,) = steps(make, fresh(values[-1:]), [[g[-1]] for g in gradients for _ in "12"])
    (param,) = fresh(values[-1:])
    optimizer = make([param, param])
    for found in gradients:
        param.grad = lamina.tensor(found[-1])
        optimizer.step()
    np.testing.assert_allclose(param.detach().numpy(), once, rtol=1e-5, atol=1e-6)


def test_each_step_counts_as_a_change():
    (param,) = fresh([np.ones(2000, np.float32)])
    optimizer = Adam([param])
    param.grad = lamina.ones(2000)
    before = param._version
    optimizer.step()
    assert param._version == before + 1
