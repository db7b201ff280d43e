"""The device beside the CPU: none, or the simulated one."""

import pytest

import lamina as torch


def test_without_a_device():
    assert torch.accelerator.is_available() is False
    assert torch.accelerator.current_accelerator() is None
    assert torch.accelerator.device_count() == 0
    with torch.accelerator.device_index(None):
        pass


@pytest.mark.parametrize(
    "name",
    ["synchronize", "current_device_index", "current_stream", "empty_cache", "memory_allocated",
     "max_memory_allocated", "memory_reserved", "max_memory_reserved", "get_memory_info",
     "reset_peak_memory_stats"],
)  # fmt: skip
def test_using_a_device_that_is_not_there(name):
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none"):
        getattr(torch.accelerator, name)()


def test_it_is_the_simulated_device():
    with torch.cuda.simulate(count=2):
        assert torch.accelerator.is_available()
        assert torch.accelerator.current_accelerator() == torch.device("cuda")
        assert torch.accelerator.device_count() == 2
        with torch.accelerator.device_index(1):
            assert torch.accelerator.current_device_index() == 1
            assert torch.ones(2, device="cuda").device == torch.device("cuda", 1)
        assert torch.accelerator.current_device_idx() == 0
        kept = torch.ones(100, device="cuda")
        assert torch.accelerator.memory_allocated() >= kept.nbytes
        torch.accelerator.synchronize()
