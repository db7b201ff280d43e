"""Programs for a GPU, on a simulated one: modules, optimizers, factories, randomness, reading."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lamina as torch
from lamina import nn
from lamina.nn import functional as F

GPU, SECOND = torch.device("cuda", 0), torch.device("cuda", 1)
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def two_gpus():
    with torch.cuda.simulate(count=2):
        yield


# --- without a GPU -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RuntimeError, AssertionError])
@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.ones(1).cuda(), lambda: torch.ones(1).to("cuda"),
        lambda: torch.ones(1, device="cuda"), lambda: nn.Linear(1, 1).cuda(),
        lambda: torch.Generator("cuda"), lambda: torch.cuda.current_device(),
    ],
)  # fmt: skip
def test_without_a_gpu_the_error_has_both_classes_and_names_both_ways(use, kind):
    with (
        torch.cuda.simulate(0),
        pytest.raises(kind, match="Torch not compiled with CUDA") as caught,
    ):
        use()
    assert "LAMINA_CUDA=simulated" in str(caught.value)
    assert "cupy" in str(caught.value)
    assert "torch.cuda.is_available()" in str(caught.value)


def test_why_explains_the_present_state():
    assert "2 simulated GPU(s)" in torch.cuda.why()
    with torch.cuda.simulate(0):
        assert "CUDA is not available" in torch.cuda.why()
        assert "lamina.cuda.simulate()" in torch.cuda.why()


# --- modules and optimizers ----------------------------------------------------------------------


def network():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 1))


def test_a_module_moves_as_a_whole_and_its_parameters_stay_the_same_objects():
    model = network()
    parameters = list(model.parameters())
    model(torch.ones(4, 2)).sum().backward()
    assert model.cuda() is model
    assert all(a is b for a, b in zip(parameters, model.parameters(), strict=True))
    for tensor in (*model.parameters(), *model.buffers()):
        assert tensor.device == GPU
    assert all(p.grad.device == GPU for p in parameters)
    assert all(p.is_leaf and p.requires_grad for p in parameters)
    with pytest.raises(RuntimeError, match=r"cuda:0.*cpu|cpu.*cuda:0"):
        model(torch.ones(4, 2))
    model.to("cuda:1", torch.float64)
    assert {(p.device, p.dtype) for p in model.parameters()} == {(SECOND, torch.float64)}
    assert {p.device for p in model.cpu().parameters()} == {CPU}


@pytest.mark.parametrize("method", ["SGD", "Adam", "AdamW"])
def test_an_optimizer_steps_where_its_parameters_are(method):
    results = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        model = network().to(device)
        options = {"momentum": 0.9} if method == "SGD" else {}
        optimizer = getattr(torch.optim, method)(model.parameters(), lr=0.1, **options)
        x = torch.arange(8.0, device=device).reshape(4, 2)
        for _ in range(3):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        state = [v for s in optimizer.state.values() for v in s.values() if hasattr(v, "device")]
        assert {v.device for v in state if v.ndim} == {model[0].weight.device}
        results.append([p.detach().cpu().numpy() for p in model.parameters()])
    for on_host, on_gpu in zip(*results, strict=True):
        np.testing.assert_array_equal(on_host, on_gpu)


def test_states_are_loaded_onto_the_device_of_what_loads_them():
    model, other = network().cuda(), network()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 2, device="cuda")).sum().backward()
    optimizer.step()
    assert {v.device for v in model.state_dict().values()} == {GPU}
    other.load_state_dict(model.state_dict())
    assert {v.device for v in other.state_dict().values()} == {CPU}
    copied = torch.optim.Adam(other.parameters())
    copied.load_state_dict(optimizer.state_dict())
    states = [v for state in copied.state.values() for v in state.values() if hasattr(v, "device")]
    assert {v.device for v in states} == {CPU}


def test_gradients_of_two_devices_are_clipped_together():
    parameters = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2, device="cuda"))]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    total = nn.utils.clip_grad_norm_(parameters, 1.0)
    assert total.item() == pytest.approx(2.0)
    assert [p.grad.device for p in parameters] == [CPU, GPU]


# --- factories and random numbers ----------------------------------------------------------------

FACTORIES = {
    "zeros": lambda **k: torch.zeros(2, **k),
    "empty": lambda **k: torch.empty(2, **k),
    "full": lambda **k: torch.full((2,), 3.0, **k),
    "arange": lambda **k: torch.arange(3, **k),
    "linspace": lambda **k: torch.linspace(0, 1, 3, **k),
    "eye": lambda **k: torch.eye(2, **k),
    "tensor": lambda **k: torch.tensor([1.0], **k),
    "as_tensor": lambda **k: torch.as_tensor([1.0], **k),
    "tril_indices": lambda **k: torch.tril_indices(2, 2, **k),
    "rand": lambda **k: torch.rand(2, **k),
    "randint": lambda **k: torch.randint(0, 5, (2,), **k),
    "randperm": lambda **k: torch.randperm(4, **k),
    "Linear": lambda **k: nn.Linear(2, 2, **k).weight,
    "BatchNorm1d": lambda **k: nn.BatchNorm1d(2, **k).running_mean,
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_follow_the_argument_the_block_and_the_default(name):
    make = FACTORIES[name]
    assert make(device="cuda").device == GPU
    assert make(device=1).device == SECOND
    with torch.device("cuda:1"):
        assert make().device == SECOND
        assert make(device="cpu").device == CPU
    try:
        torch.set_default_device("cuda")
        assert make().device == GPU
    finally:
        torch.set_default_device("cpu")
    assert make().device == CPU


def test_what_is_made_like_a_tensor_is_on_its_device():
    x = torch.ones(2, device="cuda")
    made = [
        torch.zeros_like(x),
        torch.rand_like(x),
        x.new_zeros(2),
        x.new_tensor([1.0]),
        x.new_ones(1),
    ]
    assert {t.device for t in made} == {GPU}
    assert torch.zeros_like(x, device="cpu").device == CPU
    with pytest.warns(UserWarning, match="copy construct"):
        assert torch.tensor(x).device == GPU
    assert torch.as_tensor(x) is x
    assert torch.tensor([x[0], x[1]]).device == CPU
    assert (x.type(), x.type("torch.FloatTensor").device) == ("torch.cuda.FloatTensor", CPU)
    with torch.cuda.device(1):
        assert torch.ones(1, device="cuda").device == torch.ones(1).cuda().device == SECOND


RANDOM = {
    "rand": lambda d: torch.rand(20, device=d),
    "randn": lambda d: torch.randn(20, device=d),
    "randint": lambda d: torch.randint(0, 99, (20,), device=d),
    "randperm": lambda d: torch.randperm(20, device=d),
    "bernoulli": lambda d: torch.bernoulli(torch.full((20,), 0.5, device=d)),
    "multinomial": lambda d: torch.multinomial(torch.ones(20, device=d), 5),
    "normal_": lambda d: torch.empty(20, device=d).normal_(),
    "dropout": lambda d: F.dropout(torch.ones(20, device=d)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_a_seed_gives_the_same_numbers_on_every_device(name):
    draw = RANDOM[name]
    torch.manual_seed(3)
    expected = draw("cpu")
    for device in ("cuda:0", "cuda:1"):
        torch.manual_seed(3)
        found = draw(device)
        assert found.device == torch.device(device)
        assert found.tolist() == expected.tolist()


def test_devices_draw_from_streams_of_their_own():
    torch.manual_seed(5)
    first = torch.rand(3, device="cuda")
    torch.manual_seed(5)
    torch.rand(100)
    torch.rand(100, device="cuda:1")
    assert torch.rand(3, device="cuda").tolist() == first.tolist()
    state = torch.cuda.get_rng_state()
    with torch.random.fork_rng():
        second = torch.rand(3, device="cuda")
    assert torch.rand(3, device="cuda").tolist() == second.tolist()
    torch.cuda.set_rng_state(state)
    assert torch.rand(3, device="cuda").tolist() == second.tolist()
    torch.cuda.manual_seed(5)
    assert torch.cuda.initial_seed() == 5
    assert torch.rand(3, device="cuda").tolist() == first.tolist()
    torch.cuda.manual_seed_all(5)
    assert torch.rand(3, device="cuda:1").tolist() == first.tolist()


def test_a_generator_serves_devices_of_its_kind():
    generator = torch.Generator("cuda").manual_seed(1)
    assert torch.rand(2, device="cuda", generator=generator).device == GPU
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
        torch.rand(2, generator=generator)
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator"):
        torch.empty(2, device="cuda").normal_(generator=torch.Generator())


def test_a_checkpoint_draws_the_same_numbers_again_on_a_gpu():
    from lamina.utils.checkpoint import checkpoint

    x = torch.ones(50, device="cuda", requires_grad=True)
    out = checkpoint(lambda t: F.dropout(t * 1.0), x, use_reentrant=False)
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()


# --- reading, counting, copying ------------------------------------------------------------------


def moved(action):
    """(to the device, to the host, between devices, waits) of an action."""
    torch.cuda.reset_transfers()
    action()
    found = torch.cuda.transfers()
    counts = found.host_to_device, found.device_to_host, found.device_to_device
    return (*counts, found.synchronizations)


def test_transfers_and_waits_are_counted():
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    weight = torch.ones(3, 3, device="cuda", requires_grad=True)
    assert moved(lambda: x[0, 0].item()) == (0, 1, 0, 1)
    assert moved(lambda: bool(x[0, 0])) == (0, 1, 0, 1)
    assert moved(x.tolist) == (0, 1, 0, 1)
    assert moved(lambda: x.cpu().numpy()) == (0, 1, 0, 1)
    assert moved(lambda: torch.ones(2).cuda()) == (1, 0, 0, 0)
    assert moved(lambda: torch.tensor([1.0], device="cuda")) == (1, 0, 0, 0)
    assert moved(lambda: x.to("cuda:1")) == (0, 0, 1, 0)
    assert moved(x.nonzero) == moved(lambda: x[x > 1]) == moved(x.unique) == (0, 0, 0, 1)
    assert moved(lambda: x[[0, 1]]) == (1, 0, 0, 0)
    assert moved(lambda: x.clone().copy_(torch.ones(2, 3))) == (1, 0, 0, 0)
    torch.cuda.reset_transfers()
    x.to("cpu")
    assert torch.cuda.transfers().device_to_host_bytes == 24
    for stays in (
        lambda: (x @ weight).relu().sum().backward(), lambda: x.softmax(0), lambda: x + 1,
        lambda: torch.arange(3, device="cuda"), lambda: torch.rand(3, device="cuda"),
        lambda: x.masked_fill(x > 1, 0.0), lambda: x * torch.tensor(2.0),
        lambda: F.pad(x[None], (1, 1), mode="reflect"), lambda: F.max_pool2d(x[None], 2),
        lambda: F.interpolate(x[None], scale_factor=2.0), lambda: F.one_hot((x * 0).long(), 3),
        lambda: x.gather(1, (x[:, :1] * 0).long()),
        lambda: F.cross_entropy(x, (x[:, 0] * 0).long()), lambda: copy.deepcopy(x),
    ):  # fmt: skip
        assert moved(stays) == (0, 0, 0, 0)


def test_values_reach_python_but_not_numpy():
    x = torch.tensor([[1.0, 2.0]], device="cuda")
    assert (x[0, 1].item(), float(x[0, 0]), x.tolist()) == (2.0, 1.0, [[1.0, 2.0]])
    assert list(range(torch.tensor(3, device="cuda"))) == [0, 1, 2]
    assert f"{x[0, 1]:.2f}" == "2.00"
    for read in (x.numpy, lambda: np.asarray(x), lambda: np.sin(x)):
        with pytest.raises(TypeError, match=r"can't convert cuda:0 device type tensor to numpy"):
            read()
    assert x.numpy(force=True).tolist() == [[1.0, 2.0]]


def test_tensors_print_with_their_device():
    x = torch.ones(2, device="cuda:1", requires_grad=True)
    assert repr(x) == "tensor([1., 1.], device='cuda:1', requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 2.], device='cuda:1', grad_fn=<MulBackward0>)"
    assert repr(torch.tensor(3, device="cuda")) == "tensor(3, device='cuda:0')"
    assert repr(torch.tensor([], device="cuda")) == "tensor([], device='cuda:0')"
    assert repr(nn.Parameter(x.detach())).endswith("device='cuda:1', requires_grad=True)")


def test_copies_and_pickles_keep_the_device():
    x = torch.arange(3.0, device="cuda:1", requires_grad=True)
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (twin.device, twin.tolist(), twin.requires_grad) == (SECOND, [0, 1, 2], True)
    data = pickle.dumps(x)
    with torch.cuda.simulate(0), pytest.raises(RuntimeError, match="Torch not compiled with CUDA"):
        pickle.loads(data)
    twin = copy.deepcopy(network().cuda())
    assert {p.device for p in twin.parameters()} == {GPU}


def test_data_takes_over_another_device():
    x = torch.ones(2, requires_grad=True)
    x.data = torch.zeros(2, device="cuda")
    assert (x.device, x.is_cuda, x.get_device()) == (GPU, True, 0)
    assert torch.ones(1).get_device() == -1
