"""Autocast: what is cast, for how long, and what stays."""

import threading

import all_chapters  # noqa: F401  the whole catalogue
import numpy as np
import pytest

import lamina
import lamina.nn.functional as F
from lamina import amp, nn
from lamina.amp.policies import _LISTS
from lamina.core.modes import door, state
from lamina.core.op import catalogue


def test_products_are_cast_and_parameters_are_not():
    layer = nn.Linear(3, 2)
    x = lamina.ones(4, 3)
    with lamina.autocast("cpu"):
        y = layer(x)
    y.float().sum().backward()
    assert y.dtype is lamina.bfloat16
    assert layer.weight.dtype is layer.weight.grad.dtype is lamina.float32
    assert layer(x).dtype is lamina.float32


def test_mixed_inputs_meet():
    low, x = lamina.ones(3, 3).bfloat16(), lamina.ones(3, 3)
    with lamina.autocast("cpu"):
        made = [low @ x, low.mm(x), F.linear(low, x, x[0]), x @ low[0], lamina.stack([low, x]) @ x]
    assert {tensor.dtype for tensor in made} == {lamina.bfloat16}


def test_losses_are_computed_in_float32():
    out = lamina.randn(4, 3).bfloat16()
    target = lamina.tensor([0, 1, 2, 0])
    with lamina.autocast("cpu"):
        loss = F.cross_entropy(out, target)
    assert loss.dtype is lamina.float32
    assert loss.item() == F.cross_entropy(out.float(), target).item()


def test_float64_stays():
    x = lamina.ones(2, 2).double()
    with lamina.autocast("cpu"):
        assert (x @ x).dtype is lamina.float64


def test_nesting_and_what_is_asked():
    x = lamina.ones(2, 2)
    assert not lamina.is_autocast_enabled("cpu")
    with lamina.autocast("cpu", dtype=lamina.float16):
        assert lamina.get_autocast_dtype("cpu") is lamina.float16
        with lamina.autocast("cpu", enabled=False):
            assert (x @ x).dtype is lamina.float32
            assert not lamina.is_autocast_enabled("cpu")
        assert (x @ x).dtype is lamina.float16
    assert lamina.get_autocast_dtype("cpu") is lamina.bfloat16


def test_nothing_is_left_when_it_ends():
    before = door.is_watched
    with pytest.raises(KeyError), lamina.autocast("cpu"):
        raise KeyError
    assert state.autocast is None
    assert door.is_watched == before


def test_a_decorated_function():
    @lamina.autocast("cpu")
    def product(x):
        return x @ x

    assert product(lamina.ones(2, 2)).dtype is lamina.bfloat16
    assert product(lamina.ones(1, 1)).dtype is lamina.bfloat16


def test_it_belongs_to_a_thread():
    found = []
    with lamina.autocast("cpu"):
        thread = threading.Thread(
            target=lambda: found.append((lamina.ones(1, 1) @ lamina.ones(1, 1)).dtype)
        )
        thread.start()
        thread.join()
    assert found == [lamina.float32]


def test_a_parameter_is_cast_once():
    weight = nn.Parameter(lamina.ones(2, 2))
    x = lamina.ones(2, 2)
    with lamina.autocast("cpu"):
        nodes = [(x @ weight).grad_fn.next_functions[1][0] for _ in range(2)]
        with lamina.no_grad():
            weight.mul_(2)
        assert (x @ weight)[0, 0].item() == 4
        with lamina.no_grad():
            assert not (x @ weight).requires_grad
    assert nodes[0] is nodes[1]
    with lamina.autocast("cpu", cache_enabled=False):
        nodes = [(x @ weight).grad_fn.next_functions[1][0] for _ in range(2)]
    assert nodes[0] is not nodes[1]


def test_out_is_written_as_it_is():
    out, x = lamina.empty(2, 2), lamina.full((2, 2), 1 / 3)
    with lamina.autocast("cpu"):
        lamina.mm(x, x, out=out)
    assert out.tolist() == (x @ x).tolist()


def test_on_a_gpu_its_own_lists_hold():
    with lamina.cuda.simulate(), lamina.autocast("cuda"):
        x = lamina.ones(2, 2, device="cuda")
        assert (x @ x).dtype is lamina.float16
        assert x.half().exp().dtype is x.half().softmax(0).dtype is lamina.float32
        assert lamina.dot(x[0].half(), x[0]).dtype is lamina.float32
        host = lamina.ones(2, 2)
        assert (host @ host).dtype is lamina.float32


def test_without_a_gpu_it_says_that_it_is_off():
    with lamina.cuda.simulate(0), pytest.warns(UserWarning, match="Disabling autocast"):
        assert not lamina.autocast("cuda")._enabled
    with pytest.warns(UserWarning, match="not torch.float32"):
        assert not lamina.autocast("cpu", dtype=lamina.float32)._enabled


def test_every_policy_names_an_operation():
    names = {name for lists in _LISTS.values() for text in lists for name in text.split()}
    assert names - catalogue.keys() == set()


class Scaled(lamina.autograd.Function):
    """What a forward and a backward find, with the decorators for functions of one's own."""

    seen = ()

    @staticmethod
    @amp.custom_fwd(device_type="cpu")
    def forward(ctx, x):
        return (x @ x).float()

    @staticmethod
    @amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        Scaled.seen = lamina.is_autocast_enabled("cpu"), (grad @ grad).dtype
        return grad


def test_a_function_of_ones_own_finds_the_same_autocast_in_backward():
    x = lamina.ones(2, 2, requires_grad=True)
    with lamina.autocast("cpu", dtype=lamina.float16):
        y = Scaled.apply(x)
    y.sum().backward()
    assert Scaled.seen == (True, lamina.float16)
    Scaled.apply(x).sum().backward()
    assert Scaled.seen == (False, lamina.float32)


def test_inputs_of_a_function_can_be_cast():
    found = []

    class Plain(lamina.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type="cpu", cast_inputs=lamina.float32)
        def forward(ctx, x, pair):
            found.extend([x.dtype, pair[0].dtype, (x @ x).dtype])
            return x * 1

        @staticmethod
        @amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad, None

    x = lamina.ones(2, 2).bfloat16()
    with lamina.autocast("cpu"):
        Plain.apply(x, (x,))
    assert found == [lamina.float32] * 3


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_checkpointed_function_runs_again_as_it_ran(use_reentrant):
    kinds = []

    def block(x):
        y = x @ x
        kinds.append(y.dtype)
        return y.float().tanh()

    x = lamina.ones(2, 2, requires_grad=True)
    with lamina.autocast("cpu"):
        y = lamina.utils.checkpoint.checkpoint(block, x, use_reentrant=use_reentrant)
    y.sum().backward()
    assert kinds == [lamina.bfloat16] * 2
    assert state.autocast is None


def losses(is_compiled):
    lamina.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = lamina.optim.AdamW(model.parameters(), lr=1e-2)

    def step(x, t):
        optimizer.zero_grad()
        with lamina.autocast("cpu"):
            loss = F.cross_entropy(model(x), t)
        loss.backward()
        optimizer.step()
        return loss

    run = lamina.compile(step, fullgraph=True) if is_compiled else step
    batches = [(lamina.randn(6, 8), lamina.randint(0, 4, (6,))) for _ in range(8)]
    return [run(x, t).item() for x, t in batches]


def test_a_compiled_step():
    np.testing.assert_allclose(losses(True), losses(False), rtol=2e-3)


def test_a_program_is_for_one_setting():
    @lamina.compile(fullgraph=True)
    def product(x):
        return x @ x

    x = lamina.ones(2, 2)
    with lamina.autocast("cpu"):
        assert product(x).dtype is lamina.bfloat16
    assert product(x).dtype is lamina.float32
    assert len(product.programs) == 2
    assert "autocast was" in product.splits[0]


def test_scaler_skips_a_step_that_overflowed():
    w = lamina.ones(1, requires_grad=True)
    optimizer = lamina.optim.SGD([w], lr=0.5)
    scaler = amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale((w * float("inf")).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert (w.item(), scaler.get_scale()) == (1.0, 2.0)


def test_scaler_refuses_gradients_in_float16():
    w = lamina.ones(1, dtype=lamina.float16, requires_grad=True)
    scaler = amp.GradScaler("cpu")
    scaler.scale(w.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.step(lamina.optim.SGD([w], lr=0.1))
