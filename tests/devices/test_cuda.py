"""`lamina.cuda` without a GPU, and with simulated ones."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import lamina
from lamina import cuda
from lamina.devices import backend_of, device, device_of, resolve, to_device
from lamina.errors import (
    InvalidArgument,
    InvalidDevice,
    OutOfMemoryError,
    SimulatedCudaUnavailable,
)


@pytest.fixture(autouse=True)
def no_gpus():
    with cuda.simulate(count=0):
        yield


def test_without_a_gpu_questions_have_answers():
    assert not cuda.is_available()
    assert not cuda.is_initialized()
    assert cuda.device_count() == 0
    assert cuda.memory_allocated() == cuda.max_memory_allocated() == cuda.memory_reserved() == 0
    cuda.empty_cache()


@pytest.mark.parametrize(
    "use",
    [
        cuda.current_device, cuda.synchronize, cuda.init, cuda.get_device_name, cuda.Stream,
        cuda.Event, cuda.mem_get_info, cuda.current_stream, cuda.get_device_capability,
        cuda.reset_peak_memory_stats, lambda: cuda.set_device(0),
        lambda: to_device(np.ones(1), device("cuda")),
    ],
)  # fmt: skip
def test_without_a_gpu_use_raises_and_says_how_to_get_one(use):
    with pytest.raises(SimulatedCudaUnavailable, match="Torch not compiled with CUDA") as caught:
        use()
    assert isinstance(caught.value, RuntimeError)
    assert "LAMINA_CUDA=simulated" in str(caught.value)


def test_why_says_how_to_get_cuda_and_what_there_is():
    assert "LAMINA_CUDA=simulated" in cuda.why()
    with cuda.simulate(2, memory="8GiB"):
        assert "2 simulated GPU(s) with 8.00 GiB" in cuda.why()


def test_simulation_ends_with_its_block():
    with cuda.simulate(count=2):
        assert cuda.is_available()
        assert cuda.device_count() == 2
        with cuda.simulate(count=3):
            assert cuda.device_count() == 3
        assert cuda.device_count() == 2
    assert not cuda.is_available()


def test_a_call_turns_simulation_on_and_off():
    cuda.simulate()
    assert cuda.device_count() == 1
    cuda.simulate(0)
    assert cuda.device_count() == 0


def test_arrays_outlive_the_simulation():
    with cuda.simulate():
        x = to_device(np.ones(3), device("cuda"))
    assert (x + 1).tolist() == [2, 2, 2]


def test_cuda_means_the_current_device_of_the_thread():
    with cuda.simulate(count=3):
        assert resolve(device("cuda")) is device("cuda:0")
        cuda.set_device(1)
        assert cuda.current_device() == 1
        assert device_of(to_device(np.ones(1), device("cuda"))) is device("cuda:1")
        with cuda.device("cuda:2"):
            assert cuda.current_device() == 2
        with cuda.device(None):
            assert cuda.current_device() == 1
        seen = []
        thread = threading.Thread(target=lambda: seen.append(cuda.current_device()))
        thread.start()
        thread.join()
        assert seen == [0]
        cuda.set_device(0)


def test_a_device_that_is_not_there_raises():
    with cuda.simulate():
        with pytest.raises(InvalidDevice, match="invalid device ordinal"):
            backend_of(device("cuda:1"))
        with pytest.raises(InvalidDevice, match="Expected a cuda device"):
            cuda.synchronize("cpu")


def test_properties_and_memory():
    with cuda.simulate(memory=1 << 20):
        assert "Simulated" in cuda.get_device_name()
        assert cuda.get_device_properties("cuda:0").total_memory == 1 << 20
        assert cuda.mem_get_info() == (1 << 20, 1 << 20)
        x = to_device(np.ones(10), device("cuda"))
        assert cuda.mem_get_info()[0] == (1 << 20) - 512
        del x


def test_streams_and_events_run():
    with cuda.simulate():
        stream = cuda.Stream()
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        with cuda.stream(stream):
            start.record()
            stream.record_event(end)
        stream.synchronize()
        end.synchronize()
        stream.wait_stream(cuda.current_stream())
        assert start.elapsed_time(end) >= 0
        assert stream.query()
        with pytest.raises(InvalidArgument, match="enable_timing=True"):
            cuda.Event().elapsed_time(end)


@pytest.mark.parametrize("memory", ["lots", -1, 0, True, 1.5])
def test_an_amount_of_memory_that_is_none_raises(memory):
    with pytest.raises(InvalidArgument, match="no amount of memory"):
        cuda.simulate(memory=memory)


@pytest.mark.parametrize(("setting", "count"), [("simulated", 1), ("simulated:2", 2), ("", 0)])
def test_the_environment_turns_simulation_on(setting, count):
    code = "from lamina import cuda; print(cuda.device_count())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LAMINA_CUDA": setting},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(count)


def test_memory_in_numbers_and_words():
    assert cuda.memory_stats() == {}
    assert cuda.memory_stats_as_nested_dict() == {}
    with cuda.simulate(memory=1 << 20):
        x = to_device(np.ones(10), device("cuda"))
        assert cuda.memory_stats()["allocated_bytes.all.current"] == 512
        assert cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["peak"] == 512
        assert "512 bytes" in cuda.memory_summary()
        del x
        with pytest.warns(FutureWarning, match="reset_peak_memory_stats"):
            cuda.reset_max_memory_allocated()
        assert cuda.max_memory_allocated() == 0


def test_a_part_of_the_memory():
    with cuda.simulate(memory=1 << 20):
        cuda.set_per_process_memory_fraction(0.5)
        with pytest.raises(OutOfMemoryError):
            to_device(np.ones(1 << 17), device("cuda"))
        with pytest.raises(ValueError, match="0~1"):
            cuda.set_per_process_memory_fraction(2.0)
        with pytest.raises(TypeError, match="float"):
            cuda.set_per_process_memory_fraction(1)


def test_the_gpu_of_a_tensor():
    with cuda.simulate(2):
        x = lamina.ones(1, device="cuda:1")
        with cuda.device_of(x):
            assert cuda.current_device() == 1
        with cuda.device_of(lamina.ones(1)):
            assert cuda.current_device() == 0
        assert cuda.can_device_access_peer(0, 1)
        assert not cuda.can_device_access_peer(1, 1)
