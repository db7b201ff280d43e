"""The pool of threads: every piece done once, whatever else happens at the same time."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import lamina as torch
from lamina.codegen.llvm import machine
from lamina.devices import thread_count
from lamina.errors import InvalidThreadCount

native = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")

COUNTING = """
define void @count(ptr %argument, i64 %begin, i64 %end, i64 %worker) #0 {
entry:
  br label %next
next:
  %index = phi i64 [ %begin, %entry ], [ %following, %next ]
  %place = getelementptr i64, ptr %argument, i64 %index
  %old = load i64, ptr %place
  %new = add i64 %old, 1
  store i64 %new, ptr %place
  %following = add i64 %index, 1
  %more = icmp ult i64 %following, %end
  br i1 %more, label %next, label %done
done:
  ret void
}
"""


@pytest.fixture(scope="module")
def counting():
    """A task that adds one to each element of its range."""
    code = machine.Machine(COUNTING)
    return code, code.address_of("count")


@pytest.fixture
def threads():
    """The number of threads is set back after the test."""
    before = thread_count.get_num_threads()
    yield
    thread_count.set_num_threads(before)


def counted(pool, task, count, grain, times=1):
    array = np.zeros(count + 1, np.int64)
    for _ in range(times):
        pool.run(task, array.ctypes.data, count, grain)
    return array


@native
@pytest.mark.parametrize("count", [0, 1, 2, 999, 100_000])
@pytest.mark.parametrize("grain", [1, 7, 1000, 10**6])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_each_piece_is_done_once(counting, threads, count, grain, number):
    from lamina.codegen.llvm.threads import pool

    torch.set_num_threads(number)
    array = counted(pool(), counting[1], count, grain, times=5)
    np.testing.assert_array_equal(array, [5] * count + [0])


@native
def test_many_short_calls_in_a_row(counting):
    from lamina.codegen.llvm.threads import pool

    for count in (3, 40):
        array = counted(pool(), counting[1], count, 1, times=20_000)
        np.testing.assert_array_equal(array, [20_000] * count + [0])


@native
def test_parked_workers_wake_up(counting):
    from lamina.codegen.llvm.threads import pool

    for _ in range(20):
        time.sleep(0.002)  # much longer than a worker spins
        np.testing.assert_array_equal(counted(pool(), counting[1], 64, 1), [1] * 64 + [0])


@native
def test_calls_from_several_threads_at_once(counting):
    from lamina.codegen.llvm.threads import pool

    found = []

    def work():
        found.append(counted(pool(), counting[1], 1000, 10, times=2000))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for array in found:
        np.testing.assert_array_equal(array, [2000] * 1000 + [0])
    assert len(found) == 4


@native
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_pool_of_its_own(counting):
    from lamina.codegen.llvm.threads import pool

    counted(pool(), counting[1], 64, 1)
    child = os.fork()
    if child == 0:
        array = counted(pool(), counting[1], 1000, 1, times=100)
        os._exit(0 if array.sum() == 100_000 else 1)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


@native
@pytest.mark.skipif(sys.platform != "linux" or thread_count.capacity() < 2, reason="needs cores")
def test_workers_keep_away_from_the_core_of_their_caller():
    script = """
import os, lamina as torch
double = torch.compile(lambda x: torch.tanh(x) * 2)
x = torch.ones(1_000_000)
double(x)
every = os.sched_getaffinity(0)
kept = [os.sched_getaffinity(int(thread)) for thread in os.listdir("/proc/self/task")]
print(any(len(every - cores) == 1 for cores in kept))
"""
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout == "True\n"


@native
def test_idle_workers_use_no_core():
    script = """
import time, lamina as torch
step = torch.compile(lambda x: torch.tanh(x) * 2)
x = torch.ones(1_000_000)
step(x)
before = time.process_time()
time.sleep(0.5)
print(time.process_time() - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.1


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2", None])
def test_a_number_of_threads_is_a_positive_integer(wrong):
    with pytest.raises(InvalidThreadCount, match="expects a positive integer"):
        torch.set_num_threads(wrong)


def test_the_number_of_threads_is_what_was_set(threads):
    torch.set_num_threads(3)
    assert torch.get_num_threads() == 3
