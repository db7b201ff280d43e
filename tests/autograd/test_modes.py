"""Modes: recording on and off, inference, anomaly; contexts, decorators, threads, old names."""

from __future__ import annotations

import threading

import pytest

import lamina
from lamina.autograd import anomaly_mode

from .recording import Cases, raises, warns

case = Cases(__file__)


@case
def contexts_nest(torch):
    on = torch.is_grad_enabled
    found = [on()]
    with torch.no_grad():
        found.append(on())
        with torch.enable_grad():
            found.append(on())
            with torch.set_grad_enabled(False):
                found.append(on())
            found.append(on())
        found.append(on())
    found.append(on())
    return found


@case
def contexts_end_with_errors(torch):
    def fail():
        with torch.no_grad(), torch.inference_mode():
            raise KeyError("x")

    return raises(fail), torch.is_grad_enabled(), torch.is_inference_mode_enabled()


@case
def set_grad_enabled_acts_at_once(torch):
    mode = torch.set_grad_enabled(False)
    inside = torch.is_grad_enabled()
    mode.__exit__(None, None, None)
    return inside, torch.is_grad_enabled()


@case
def one_context_used_again(torch):
    mode, found = torch.no_grad(), []
    for _ in range(2):
        with mode:
            found.append(torch.is_grad_enabled())
        found.append(torch.is_grad_enabled())
    return found


@case
def decorators(torch):
    @torch.no_grad()
    def plain(n):
        """Doc."""
        return [torch.is_grad_enabled()] + (plain(n - 1) if n else [])

    @torch.no_grad
    def bare():
        return torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def given():
        return torch.is_grad_enabled()

    after = torch.is_grad_enabled()

    @torch.inference_mode()
    def inferring():
        return torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    @torch.enable_grad()
    def enabled():
        return torch.is_grad_enabled()

    with torch.no_grad():
        inside = enabled()
    return plain(2), plain.__name__, plain.__doc__, bare(), given(), after, inferring(), inside


@case
def generators(torch):
    seen = []

    @torch.no_grad()
    def numbers():
        got = 0
        try:
            while True:
                seen.append(torch.is_grad_enabled())
                got = yield got
        except ValueError:
            seen.append(("caught", torch.is_grad_enabled()))
            yield "end"
        finally:
            seen.append(("closed", torch.is_grad_enabled()))

    stream = numbers()
    values = [next(stream), torch.is_grad_enabled(), stream.send(5), stream.throw(ValueError)]
    stream.close()
    return values, seen, torch.is_grad_enabled()


@case
def what_is_recorded(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y, new = x * 2, torch.ones(1, requires_grad=True)
        view = x.view(2)
    with torch.set_grad_enabled(False), torch.enable_grad():
        z = x * 2
    return y.requires_grad, new.requires_grad, view.requires_grad, view.is_leaf, z.requires_grad


@case
def inference(torch):
    x = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    with torch.inference_mode():
        made = x * 2
        inside = [made.is_inference(), made.requires_grad, plain.view(2).is_inference()]
        with torch.inference_mode(False):
            inside += [torch.is_inference_mode_enabled(), torch.is_grad_enabled()]
        made.add_(1)
    return (
        inside,
        torch.is_inference_mode_enabled(),
        raises(lambda: made._version, "Inference tensors do not track version counter"),
        raises(
            lambda: made.add_(1),
            "Inplace update to inference tensor outside InferenceMode is not allowed",
        ),
        raises(lambda: made * x, "Inference tensors cannot be saved for backward"),
        raises(lambda: made.requires_grad_(), "Setting requires_grad=True on inference tensor"),
        (made + x).requires_grad,
        made.clone().is_inference(),
    )


@case
def anomaly(torch):
    detect = torch.autograd.detect_anomaly
    x = torch.zeros(2, requires_grad=True)

    def compute():
        (x.sqrt() * 0).sum().backward()

    def checked():
        with detect():
            compute()

    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        compute()
    return (
        raises(checked, "Function 'SqrtBackward0' returned nan values in its 0th output"),
        warns(lambda: detect() and None, "Anomaly Detection has been enabled"),
        raises(compute),
        x.grad.isnan(),
    )


@case
def multithreading_flag(torch):
    with torch.autograd.set_multithreading_enabled(False):
        inside = torch.autograd.is_multithreading_enabled()
    return inside, torch.autograd.is_multithreading_enabled()


@case
def variables(torch):
    variable = torch.autograd.Variable
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v = variable(x)
    trainable = variable(x * 2, requires_grad=True)
    return (
        v.requires_grad, v is x, v.data_ptr() == x.data_ptr(), trainable.requires_grad,
        trainable.is_leaf,
        isinstance(x, variable), isinstance(v, variable), isinstance(3, variable),
        type(v) is torch.Tensor, variable(x, volatile=True).requires_grad, variable().shape,
        raises(lambda: variable(3), "Variable data has to be a tensor, but got int"),
        raises(
            lambda: variable(torch.ones(1, dtype=torch.int64), requires_grad=True),
            "Only Tensors of floating point and complex dtype can require gradients",
        ),
    )  # fmt: skip


@pytest.mark.parametrize("name", case.functions)
def test_answer(name):
    assert case.answer(name, lamina) == case.recorded(name)


def test_modes_belong_to_a_thread():
    found = []

    def look():
        hooks = lamina.core.modes.state.pack_hooks
        found.append(
            (lamina.is_grad_enabled(), lamina.is_inference_mode_enabled(), len(hooks),
             anomaly_mode.is_anomaly_enabled())
        )  # fmt: skip

    with (
        lamina.inference_mode(),
        lamina.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
        lamina.autograd.set_detect_anomaly(True),
    ):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        look()
    assert found == [(True, False, 0, False), (False, True, 1, True)]


def test_anomaly_flags():
    with anomaly_mode.set_detect_anomaly(True, False):
        assert anomaly_mode.is_anomaly_enabled()
        assert not anomaly_mode.is_anomaly_check_nan_enabled()
    assert not anomaly_mode.is_anomaly_enabled()
    assert anomaly_mode.is_anomaly_check_nan_enabled()
