"""Which tensors may meet: mixing devices fails or works as it does on a real GPU."""

from __future__ import annotations

from typing import Any

import pytest

import lamina as torch
from lamina.nn import functional as F

POINTWISE = (  # noqa: SIM905
    "add sub mul div floor_divide remainder fmod pow atan2 maximum minimum fmax fmin hypot eq ne "
    "lt le gt ge logical_and logical_or logical_xor copysign logaddexp xlogy float_power isclose"
).split()


@pytest.fixture(autouse=True)
def two_gpus():
    with torch.cuda.simulate(count=2):
        yield


def ones(device: str, *shape: int) -> Any:
    return torch.ones(*shape, device=device) if shape else torch.ones((), device=device)


def ints(device: str, *values: int) -> Any:
    return torch.tensor(values, device=device)


def mask(device: str, count: int = 3) -> Any:
    return torch.ones(count, device=device) > 0


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_operations_take_a_number_from_the_host_and_nothing_else(name):
    function = getattr(torch, name)
    for first, second in [("cuda", "cpu"), ("cpu", "cuda"), ("cuda:0", "cuda:1")]:
        with pytest.raises(torch.errors.DeviceMismatch) as caught:
            function(ones(first, 3), ones(second, 3))
        found = {str(ones(first).device), str(ones(second).device)}
        assert all(f"{place}" in caught.value.headline for place in found)
    for first, second in [(ones("cuda", 3), ones("cpu")), (ones("cuda"), ones("cpu"))]:
        assert function(first, second).device.type == "cuda"
        assert function(second, first).device.type == "cuda"
    for first, second in [("cpu", "cuda"), ("cuda:0", "cuda:1")]:
        with pytest.raises(torch.errors.DeviceMismatch):
            function(ones(first, 3), ones(second))


# Each makes its tensors on the devices `a` and `b`.
MIXES = {
    "mm": lambda a, b: ones(a, 2, 2) @ ones(b, 2, 2),
    "mv": lambda a, b: ones(a, 2, 2) @ ones(b, 2),
    "dot": lambda a, b: ones(a, 2) @ ones(b, 2),
    "bmm": lambda a, b: torch.bmm(ones(a, 1, 2, 2), ones(b, 1, 2, 2)),
    "einsum": lambda a, b: torch.einsum("ij,jk->ik", ones(a, 2, 2), ones(b, 2, 2)),
    "addmm": lambda a, b: torch.addmm(ones(a, 2, 2), ones(a, 2, 2), ones(b, 2, 2)),
    "outer": lambda a, b: torch.outer(ones(a, 2), ones(b, 2)),
    "solve": lambda a, b: torch.linalg.solve(torch.eye(2, device=a), ones(b, 2, 2)),
    "linear": lambda a, b: F.linear(ones(a, 2), ones(b, 2, 2)),
    "linear bias": lambda a, b: F.linear(ones(a, 3, 2), ones(a, 2, 2), ones(b, 2)),
    "conv2d": lambda a, b: F.conv2d(ones(a, 1, 1, 3, 3), ones(b, 1, 1, 2, 2)),
    "conv2d bias": lambda a, b: F.conv2d(ones(a, 1, 1, 3, 3), ones(a, 1, 1, 2, 2), ones(b, 1)),
    "layer_norm": lambda a, b: F.layer_norm(ones(a, 2, 3), (3,), ones(b, 3)),
    "batch_norm": lambda a, b: F.batch_norm(ones(a, 2, 3), ones(b, 3), ones(b, 3)),
    "mse_loss": lambda a, b: F.mse_loss(ones(a, 2), ones(b, 2)),
    "cross_entropy": lambda a, b: F.cross_entropy(ones(a, 2, 3), ints(b, 0, 1)),
    "cross_entropy weight": lambda a, b: F.cross_entropy(
        ones(a, 2, 3), ints(a, 0, 1), weight=ones(b, 3)
    ),
    "attention": lambda a, b: F.scaled_dot_product_attention(
        ones(a, 1, 2, 2), ones(b, 1, 2, 2), ones(b, 1, 2, 2)
    ),
    "embedding": lambda a, b: F.embedding(ints(b, 0, 1), ones(a, 3, 2)),
    "cat": lambda a, b: torch.cat([ones(a, 2), ones(b, 2)]),
    "stack": lambda a, b: torch.stack([ones(a, 2), ones(b, 2)]),
    "stack of numbers": lambda a, b: torch.stack([ones(a), ones(b)]),
    "meshgrid": lambda a, b: torch.meshgrid(ones(a, 2), ones(b, 2), indexing="ij"),
    "where": lambda a, b: torch.where(mask(a), ones(a, 3), ones(b, 3)),
    "where condition": lambda a, b: torch.where(mask(a), ones(b, 3), ones(b, 3)),
    "lerp": lambda a, b: torch.lerp(ones(a, 2), ones(b, 2), 0.5),
    "addcmul": lambda a, b: torch.addcmul(ones(a, 2), ones(b, 2), ones(a, 2)),
    "clamp": lambda a, b: torch.clamp(ones(a, 2), ones(b, 2)),
    "masked_fill": lambda a, b: ones(a, 3).masked_fill(mask(b), 1.0),
    "masked_select": lambda a, b: torch.masked_select(ones(a, 3), mask(b)),
    "masked_scatter": lambda a, b: ones(a, 3).masked_scatter(mask(b), ones(a, 3)),
    "gather": lambda a, b: torch.gather(ones(a, 3), 0, ints(b, 0, 1)),
    "index_select": lambda a, b: torch.index_select(ones(a, 3), 0, ints(b, 0, 1)),
    "index_select of one": lambda a, b: torch.index_select(ones(a, 3), 0, ints(b, 0)[0]),
    "take": lambda a, b: torch.take(ones(a, 3), ints(b, 0, 1)),
    "scatter index": lambda a, b: torch.scatter(ones(a, 3), 0, ints(b, 0, 1), ones(a, 2)),
    "scatter source": lambda a, b: torch.scatter(ones(a, 3), 0, ints(a, 0, 1), ones(b, 2)),
    "scatter_add": lambda a, b: torch.scatter_add(ones(a, 3), 0, ints(b, 0, 1), ones(a, 2)),
    "index_add index": lambda a, b: torch.index_add(ones(a, 3), 0, ints(b, 0, 1), ones(a, 2)),
    "index_add source": lambda a, b: torch.index_add(ones(a, 3), 0, ints(a, 0, 1), ones(b, 2)),
    "index_copy": lambda a, b: torch.index_copy(ones(a, 3), 0, ints(b, 0, 1), ones(a, 2)),
    "index_fill": lambda a, b: torch.index_fill(ones(a, 3), 0, ints(b, 0, 1), 2.0),
    "put": lambda a, b: ones(a, 3).put(ints(b, 0), ones(a, 1)),
    "slice_scatter": lambda a, b: torch.slice_scatter(ones(a, 3), ones(b, 3)),
    "searchsorted": lambda a, b: torch.searchsorted(ones(a, 2), ones(b, 2)),
    "equal": lambda a, b: torch.equal(ones(a, 2), ones(b, 2)),
    "allclose": lambda a, b: torch.allclose(ones(a, 2), ones(b, 2)),
    "add_": lambda a, b: ones(a, 2).add_(ones(b, 2)),
    "mul_": lambda a, b: ones(a, 2).mul_(ones(b, 2)),
    "addmm_": lambda a, b: ones(a, 2, 2).addmm_(ones(b, 2, 2), ones(b, 2, 2)),
    "masked_fill_": lambda a, b: ones(a, 3).masked_fill_(mask(b), 0),
    "index_add_": lambda a, b: ones(a, 3).index_add_(0, ints(a, 0, 1), ones(b, 2)),
    "scatter_": lambda a, b: ones(a, 3).scatter_(0, ints(b, 0, 1), 1.0),
    "out=": lambda a, b: torch.add(ones(a, 2), ones(a, 2), out=ones(b, 2)),
    "out= of a reduction": lambda a, b: torch.sum(ones(a, 2, 2), 0, out=ones(b, 2)),
    "out= of numbers": lambda a, b: torch.add(ones(a), ones(a), out=ones(b)),
    "out= to be resized": lambda a, b: torch.exp(ones(a, 2), out=ones(b, 0)),
    "x[indices] = y": lambda a, b: ones(a, 3).__setitem__(ints(a, 0, 1), ones(b, 2)),
    "x[mask] = y": lambda a, b: ones(a, 3).__setitem__(mask(a), ones(b, 3)),
    "backward": lambda a, b: (ones(a, 2).requires_grad_() * 2).backward(ones(b, 2)),
    ".grad =": lambda a, b: setattr(ones(a, 2).requires_grad_(), "grad", ones(b, 2)),
}


@pytest.mark.parametrize("name", MIXES)
def test_tensors_of_two_devices_do_not_mix(name):
    mix = MIXES[name]
    for a, b in [("cuda", "cpu"), ("cpu", "cuda"), ("cuda:0", "cuda:1")]:
        with pytest.raises(RuntimeError) as caught:
            mix(a, b)
        for place in (a, b):
            assert str(torch.ones(0, device=place).device) in str(caught.value)
    mix("cuda", "cuda")
    mix("cpu", "cpu")


def test_a_failed_write_changes_nothing():
    x, y = torch.zeros(3, device="cuda"), torch.ones(3)
    for change in (lambda: x.add_(y), lambda: y.add_(x), lambda: torch.exp(y, out=x)):
        with pytest.raises(RuntimeError):
            change()
    assert x.tolist() == [0, 0, 0]
    assert y.tolist() == [1, 1, 1]
    assert x._version == y._version == 0


def test_numbers_in_host_memory_are_taken_by_operations_with_a_value():
    x, number = torch.zeros(3, device="cuda"), torch.tensor(2.0)
    assert x.add_(number).tolist() == [2, 2, 2]
    assert x.masked_fill(mask("cuda"), number).tolist() == [2, 2, 2]
    assert torch.where(mask("cuda"), number, x).device.type == "cuda"
    assert torch.clone(x).fill_(number).tolist() == [2, 2, 2]
    x[ints("cuda", 0)] = number * 2
    assert x.tolist() == [4, 2, 2]
    with pytest.raises(RuntimeError, match=r"cpu.*cuda:0|cuda:0.*cpu"):
        torch.zeros(3).add_(torch.tensor(2.0, device="cuda"))
    with pytest.raises(RuntimeError, match=r"cpu.*cuda:0|cuda:0.*cpu"):
        torch.tensor(1.0).add_(torch.tensor(2.0, device="cuda"))


def test_indices_from_the_host_go_to_a_gpu_and_never_back():
    x = torch.arange(4.0, device="cuda")
    assert x[ints("cpu", 1, 3)].tolist() == [1, 3]
    assert x[[0, -1]].tolist() == [0, 3]
    assert x[torch.tensor([True, False, False, True])].tolist() == [0, 3]
    x[ints("cpu", 0)] = 9.0
    x[torch.tensor([False, True, False, False])] = torch.tensor(8.0)
    assert x.tolist() == [9, 8, 2, 3]
    y = torch.arange(4.0)
    for index in (ints("cuda", 1, 3), mask("cuda", 4)):
        for use in (lambda i: y[i], lambda i: y.__setitem__(i, 0.0)):
            with pytest.raises(
                RuntimeError, match="indices should be either on cpu or on the same"
            ):
                use(index)
    with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same"):
        x[ints("cuda:1", 1)]
    assert y[torch.tensor(1, device="cuda")].tolist() == 1  # a number is read, as for a list
    assert [5, 6][torch.tensor(1, device="cuda")] == 6


def test_gradients_flow_through_indices_from_the_host():
    x = torch.ones(2, 3, 2, device="cuda", requires_grad=True)
    x[ints("cpu", 0, 1), :, ints("cuda", 1, 1)].sum().backward()
    assert x.grad.device == x.device
    assert x.grad.sum().item() == 6


def test_copies_and_slices_cross_devices():
    for here, there in [("cuda", "cpu"), ("cpu", "cuda"), ("cuda:0", "cuda:1")]:
        x, source = torch.zeros(3, device=here), torch.arange(3.0, device=there)
        assert x.copy_(source).tolist() == [0, 1, 2]
        x[1:] = source[:2] + 5
        assert x.tolist() == [0, 5, 6]
        assert x.device == torch.ones(0, device=here).device


@pytest.mark.parametrize(
    ("here", "there"), [("cpu", "cuda"), ("cuda", "cpu"), ("cuda:0", "cuda:1")]
)
def test_gradients_land_where_each_leaf_is(here, there):
    x = torch.arange(3.0, device=here, requires_grad=True)
    y = torch.ones(3, device=there, requires_grad=True)
    moved = x.to(there)
    assert moved.device == y.device
    assert not moved.is_leaf
    (moved * y).sum().backward()
    assert (x.grad.device, y.grad.device) == (x.device, y.device)
    assert x.grad.tolist() == [1, 1, 1]
    assert y.grad.tolist() == [0, 1, 2]
    back = x.to(there).to(here)
    (gradient,) = torch.autograd.grad((back**3).sum(), x, create_graph=True)
    gradient.sum().backward()
    assert gradient.device == x.device
    assert x.grad.tolist() == [1, 7, 13]


def test_a_number_in_host_memory_gets_its_gradient_there():
    x = torch.ones(3, device="cuda", requires_grad=True)
    weights = torch.full((2,), 0.5, requires_grad=True)
    scale = (weights * weights).sum().exp()
    (x * scale).sum().backward()
    assert weights.grad.device.type == "cpu"
    assert weights.grad.tolist() == pytest.approx([3 * 1.6487213] * 2)
    factor = torch.tensor(2.0, requires_grad=True)
    torch.where(mask("cuda"), factor, x).sum().backward()
    assert (factor.grad.device.type, factor.grad.item()) == ("cpu", 3)
    one = torch.ones((), device="cuda", requires_grad=True)
    (one * 2).backward(torch.tensor(3.0))  # a gradient that is one number is moved
    assert one.grad.item() == 6
    assert one.grad.device == one.device


def test_moving_to_where_it_is_gives_the_tensor_itself():
    x = torch.ones(2, device="cuda")
    assert x.cuda() is x.to("cuda") is x.to(x.device) is x.to("cuda:0") is x
    assert x.to("cuda", copy=True) is not x
    assert x.cuda(1).device == torch.device("cuda", 1)
    assert x.cpu().cpu().device == torch.device("cpu")
    assert x.to(torch.ones(1, dtype=torch.float64)).dtype is torch.float64
    with pytest.raises(RuntimeError, match="must be cuda device"):
        x.cuda("cpu")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        x.to("cuda:2")
