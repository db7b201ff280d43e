"""Optimizers and schedules against PyTorch's recorded answers."""

import ast
import json
from pathlib import Path

import pytest

import lamina as torch
from lamina.optim import lr_scheduler


def recorded(path):
    return json.loads((Path(__file__).parents[1] / path).read_text(encoding="utf-8"))


RECORDED = recorded("nn/recorded_nn.json")
OPTIMIZERS = RECORDED["optimizers"] + recorded("optim/recorded_optim.json")["optimizers"]


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def assert_close(found, expected, tolerance=1e-6):
    wanted = torch.tensor(expected).to(dtype=found.dtype)
    assert torch.allclose(found.detach(), wanted, rtol=tolerance, atol=tolerance)


@named(OPTIMIZERS)
def test_hundred_steps(case):
    """After 100 steps, parameters, state, layout and repr are PyTorch's."""
    torch.manual_seed(1)
    parameters = [torch.randn(7, 5), torch.randn(3), torch.tensor(0.5)]
    w, b, single = (p.requires_grad_() for p in parameters)
    settings = ast.literal_eval(case["settings"])
    optimizer = getattr(torch.optim, case["name"])([w, b, single], **settings)
    for _ in range(100):
        optimizer.zero_grad()
        ((w.abs() ** 3).sum() + 3 * (b * b).sum() + (single - 2) ** 2).backward()
        optimizer.step()
    for parameter, expected in zip(parameters, case["parameters"], strict=True):
        assert_close(parameter, expected)
    assert repr(optimizer) == case["repr"]
    state = optimizer.state_dict()
    assert repr(state["param_groups"]) == case["param_groups"]
    assert len(state["state"]) == len(case["state"])
    for entry, expected in zip(state["state"].values(), case["state"], strict=True):
        assert list(entry) == list(expected)
        for name, value in expected.items():
            if value is not None:
                assert_close(entry[name], value, 1e-5)


@named(RECORDED["schedules"])
def test_schedule(case):
    """Rates and momentum of 20 epochs are PyTorch's."""
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.5, momentum=0.9)
    kwargs = ast.literal_eval(case["kwargs"])
    scheduler = getattr(lr_scheduler, case["name"])(
        optimizer, *ast.literal_eval(case["args"]), **kwargs
    )
    for lr, momentum in case["trace"]:
        optimizer.step()
        scheduler.step()
        group = optimizer.param_groups[0]
        assert group["lr"] == pytest.approx(lr, rel=1e-6, abs=1e-12)
        assert group["momentum"] == pytest.approx(momentum, rel=1e-6)
