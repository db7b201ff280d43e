"""Wrappers for several devices, in one process."""

import pytest

import lamina as torch
from lamina import nn


def test_data_parallel_runs_its_module():
    wrapped = nn.DataParallel(nn.Linear(2, 3), device_ids=[0])
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    x = torch.ones(4, 2)
    assert torch.equal(wrapped(x), wrapped.module(x))
    assert torch.equal(nn.parallel.data_parallel(wrapped.module, (x,)), wrapped.module(x))


def test_distributed_data_parallel_runs_its_module():
    model = nn.parallel.DistributedDataParallel(nn.Linear(2, 3), find_unused_parameters=True)
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    with model.no_sync():
        assert not model.require_backward_grad_sync
        model(torch.ones(4, 2)).sum().backward()
    assert model.require_backward_grad_sync
    assert model.module.bias.grad.tolist() == [4.0] * 3
    with pytest.raises(RuntimeError, match="doesn't have any parameter that requires a gradient"):
        nn.parallel.DistributedDataParallel(nn.ReLU())


def test_a_prefix_can_be_taken_off_a_state():
    state = nn.DataParallel(nn.Linear(2, 3)).state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert str(nn.Linear(2, 3).load_state_dict(state)) == "<All keys matched successfully>"
