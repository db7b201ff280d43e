"""Autocast and GradScaler beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import lamina

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

CALLS = dict(
    line.split(": ", 1)
    for line in Path(__file__).with_name("autocast_calls.txt").read_text().splitlines()
)
"""Calls of functions, by a name: `low` converts to the dtype that is tried."""


def kinds(made):
    """The dtypes of all tensors in a result."""
    if isinstance(made, list | tuple):
        return [kind for item in made for kind in kinds(item)]
    return [str(made.dtype)] if hasattr(made, "dtype") else []


def called(module, text, dtype, is_on=True):
    def rand(*shape):
        return module.rand(*shape) * 0.8 + 0.1

    def low(tensor):
        return tensor.to(dtype=getattr(module, dtype))

    names = {"torch": module, "F": module.nn.functional, "rand": rand, "low": low}
    module.manual_seed(0)
    with module.autocast("cpu", enabled=is_on):
        return eval(text, names | {"idx": module.tensor([0, 1, 0])})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_dtypes(name):
    """What comes out of float32 and of bfloat16 inputs; where PyTorch takes bfloat16 at all."""
    for dtype in ("float32", "bfloat16"):
        try:
            expected = kinds(called(torch, CALLS[name], dtype))
        except (RuntimeError, NotImplementedError):
            continue
        assert kinds(called(lamina, CALLS[name], dtype)) == expected


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_not_cast_keeps_its_precision(name):
    """Where the result is float32, it is as precise as without autocast; recurrences excepted."""
    if name in ("gru", "lstmcell", "grucell"):
        pytest.skip("their products are cast, in PyTorch too")
    plain = called(lamina, CALLS[name], "float32", is_on=False)
    found = called(lamina, CALLS[name], "float32")
    if kinds(plain) == kinds(found) and hasattr(plain, "dtype"):
        assert np.array_equal(plain.detach().numpy(), found.detach().numpy(), equal_nan=True)


def trained(module, kind):
    """Some steps of a small network under autocast: losses and gradients."""
    rng = np.random.default_rng(0)
    nn = module.nn
    module.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4))
    optimizer = module.optim.SGD(model.parameters(), lr=0.1)
    scaler = module.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
    found = []
    for _ in range(8):
        x = module.tensor(rng.standard_normal((6, 8)).astype("float32"))
        target = module.tensor(rng.integers(0, 4, 6))
        optimizer.zero_grad()
        with module.autocast("cpu", dtype=getattr(module, kind)):
            out = model(x)
            loss = nn.functional.cross_entropy(out, target)
        assert str(out.dtype) == f"torch.{kind}"
        assert str(loss.dtype) == "torch.float32"
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        found.append([loss.item(), scaler.get_scale()])
    return found, [p.grad.numpy() for p in model.parameters()], scaler.state_dict()


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_training(kind):
    ours, theirs = trained(lamina, kind), trained(torch, kind)
    tolerance = 2e-2 if kind == "bfloat16" else 4e-3
    np.testing.assert_allclose(ours[0], theirs[0], rtol=tolerance)
    for one, other in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(one, other, atol=2 * tolerance)
    assert ours[2] == theirs[2]


def scaled_steps(module):
    """Steps with overflows here and there: parameters, scales, and how far the count is."""
    w = module.tensor([1.0, 2.0], requires_grad=True)
    optimizer = module.optim.SGD([w], lr=0.1)
    scaler = module.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, backoff_factor=0.25)
    found = []
    for factor in (1.0, float("inf"), 1.0, 1.0, float("nan"), 1.0, 2.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append([*w.tolist(), *scaler.state_dict().values()])
    twin = pickle.loads(pickle.dumps(scaler))
    other = module.amp.GradScaler("cpu")
    other.load_state_dict(copy.deepcopy(scaler.state_dict()))
    scaler.update(3.0)
    return found, twin.state_dict(), other.state_dict(), scaler.state_dict()


def test_scaled_steps():
    assert scaled_steps(lamina) == scaled_steps(torch)


WRONG = {
    "twice": lambda s, o: (s.unscale_(o), s.unscale_(o)),
    "after": lambda s, o: (s.step(o), s.unscale_(o)),
    "two steps": lambda s, o: (s.step(o), s.step(o)),
    "closure": lambda s, o: s.step(o, closure=lambda: 1),
    "no steps": lambda s, o: s.update(),
    "number": lambda s, o: s.scale(3),
    "empty": lambda s, o: s.load_state_dict({}),
    "pickle": lambda s, o: (s.step(o), pickle.dumps(s)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_uses_of_a_scaler(name):
    raised = []
    for module in (lamina, torch):
        w = module.ones(1, requires_grad=True)
        optimizer = module.optim.SGD([w], lr=0.1)
        scaler = module.amp.GradScaler("cpu")
        scaler.scale(w.sum()).backward()
        with pytest.raises(Exception, match=r".") as caught:
            WRONG[name](scaler, optimizer)
        raised.append(caught.value)
    assert isinstance(raised[0], type(raised[1]))
    assert str(raised[1]) in str(raised[0])


ASKED = """
torch.autocast("cpu").fast_dtype, torch.autocast("cpu", enabled=False)._enabled
torch.autocast("cpu", dtype=torch.float32)._enabled
torch.autocast("cuda")._enabled
torch.autocast is torch.amp.autocast
torch.cuda.amp.autocast(enabled=False)._enabled, torch.cpu.amp.autocast().fast_dtype
torch.is_autocast_enabled(), torch.is_autocast_enabled("cpu"), torch.is_autocast_cpu_enabled()
torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda")
torch.get_autocast_gpu_dtype(), torch.get_autocast_cpu_dtype()
torch.is_autocast_cache_enabled(), torch.autocast_increment_nesting()
torch.autocast_decrement_nesting()
torch.amp.is_autocast_available("cpu"), torch.amp.is_autocast_available("cuda")
torch.amp.GradScaler().is_enabled(), torch.cuda.amp.GradScaler().is_enabled()
torch.amp.GradScaler("cpu").state_dict(), torch.amp.GradScaler("cpu", enabled=False).state_dict()
torch.amp.GradScaler("cpu", enabled=False).scale(torch.ones(1))
torch.amp.GradScaler("cpu").scale([torch.ones(2), (torch.ones(1),)])
torch.amp.GradScaler("cpu").get_scale(), torch.amp.GradScaler("cpu", enabled=False).get_scale()
"""


@pytest.mark.parametrize("text", ASKED.strip().splitlines())
def test_asked(text):
    """The same answers, with warnings of the same class that say the same at first."""
    outcomes = []
    for module in (lamina, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = repr(eval(text, {"torch": module}))
        outcomes.append((answer, [(w.category, str(w.message)[:20]) for w in caught]))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("device", [3, "foo", "meta"])
def test_wrong_devices(device):
    for module in (lamina, torch):
        kind = ValueError if device == 3 else RuntimeError
        with pytest.raises(kind):
            module.autocast(device)
