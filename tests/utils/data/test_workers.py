"""Workers: what they raise arrives, and nothing hangs, whatever ends them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback

import pytest

import lamina
from lamina.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from lamina.utils.data._utils import processes

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
KINDS = [None, pytest.param("fork", marks=needs_fork)]
# How many cores there are is the machine's affair.
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
    # Python 3.12 and newer warn of each fork beside threads, such as those of other tests.
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]
both_kinds = pytest.mark.parametrize("kind", KINDS, ids=["threads", "processes"])


@pytest.fixture(autouse=True)
def nothing_hangs():
    """A test that takes 20 seconds fails instead of waiting for ever."""

    def too_long(*_):
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def no_worker_is_left(nothing_hangs):
    yield
    gc.collect()
    end = time.monotonic() + 2
    while time.monotonic() < end and (names := workers_alive()):
        time.sleep(0.01)
    assert not names


def workers_alive():
    threads = [t.name for t in threading.enumerate() if t.name.startswith("DataLoader worker")]
    return threads + [process.name for process in multiprocessing.active_children()]


class Reading(Dataset):
    """A data set that calls a function for each index."""

    def __init__(self, function, count=8):
        self.function = function
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.function(index)


def raise_at(wanted, kind, *args):
    def read(index):
        # A new one each time: an error that a data set held would hold the loader's iterator.
        if index == wanted:
            raise kind(*args)
        return index

    return Reading(read)


class Unpicklable(Exception):
    """An error that pickle makes, and cannot read again."""

    def __init__(self, first, second):
        super().__init__(first)


# --- what workers raise ---------------------------------------------------------------------------


@both_kinds
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_an_error_has_its_class_and_says_where(kind, workers):
    if kind and not workers:
        pytest.skip("without workers there are no processes")
    data = raise_at(5, FileNotFoundError, 2, "gone", "cat.png")
    loader = DataLoader(data, 2, num_workers=workers, multiprocessing_context=kind)

    with pytest.raises(FileNotFoundError) as caught:
        list(loader)

    assert caught.value.filename == "cat.png"
    text = "".join(traceback.format_exception(caught.value))
    assert "raised by the data set Reading, at index 5, in the batch [4, 5]" in text
    assert "in read\n" in text  # the line of the data set
    if workers:
        word = "process" if kind else "thread"
        assert f"Caught FileNotFoundError in DataLoader worker {word} {2 % workers}." in text


@both_kinds
def test_after_an_error_the_next_batches_come(kind):
    loader = DataLoader(
        raise_at(1, ValueError, "bad"), None, num_workers=2, multiprocessing_context=kind
    )
    batches = iter(loader)

    assert next(batches) == 0
    with pytest.raises(ValueError, match="bad"):
        next(batches)
    assert list(batches) == [2, 3, 4, 5, 6, 7]


@both_kinds
def test_an_error_of_a_stream_ends_it(kind):
    class Failing(IterableDataset):
        def __iter__(self):
            yield 1
            raise ValueError("bad")

    batches = iter(DataLoader(Failing(), None, num_workers=1, multiprocessing_context=kind))

    assert next(batches) == 1
    with pytest.raises(ValueError, match="bad") as caught:
        next(batches)
    assert "raised by the iterator of the data set Failing" in caught.value.__notes__
    assert list(batches) == []


@both_kinds
def test_an_error_of_worker_init_fn_arrives(kind):
    def fail(worker):
        raise ValueError("not ready")

    loader = DataLoader([1, 2], num_workers=1, worker_init_fn=fail, multiprocessing_context=kind)

    with pytest.raises(ValueError, match="not ready"):
        next(iter(loader))


@both_kinds
def test_an_error_while_a_batch_is_made_arrives(kind):
    data = Reading(lambda index: lamina.ones(index + 1))
    loader = DataLoader(data, 2, num_workers=1, multiprocessing_context=kind)

    with pytest.raises(RuntimeError, match=r"got \[1\] at entry 0 and \[2\] at entry 1") as caught:
        next(iter(loader))

    assert any("a batch of the data set Reading was made, at [0, 1]" in note
               for note in caught.value.__notes__)  # fmt: skip


def test_an_error_of_a_thread_is_the_same_object():
    made = []

    def read(index):
        error = Unpicklable("one", "two")
        made.append(id(error))
        raise error

    with pytest.raises(Unpicklable) as caught:
        list(DataLoader(Reading(read), num_workers=1))

    assert id(caught.value) == made[0]


@needs_fork
def test_an_error_that_cannot_be_sent_is_told_in_words():
    loader = DataLoader(
        raise_at(0, Unpicklable, "one", "two"), num_workers=1, multiprocessing_context="fork"
    )

    with pytest.raises(RuntimeError, match="Unpicklable: one"):
        next(iter(loader))


@needs_fork
def test_a_batch_that_cannot_be_sent_is_an_error():
    data = Reading(lambda index: lambda: index)
    loader = DataLoader(data, None, num_workers=1, multiprocessing_context="fork")

    with pytest.raises((AttributeError, pickle.PicklingError)) as caught:
        next(iter(loader))

    assert any("cannot be sent from a worker process" in note for note in caught.value.__notes__)


@both_kinds
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_would_end_a_worker_is_an_error_here(kind, error):
    loader = DataLoader(raise_at(0, error), num_workers=1, multiprocessing_context=kind)

    with pytest.raises(RuntimeError, match=f"raised {error.__name__}"):
        next(iter(loader))


# --- ends -----------------------------------------------------------------------------------------


@both_kinds
@pytest.mark.parametrize("count", [1, 4])
def test_workers_end_after_an_early_break(kind, count):
    loader = DataLoader(range(1000), 2, num_workers=count, multiprocessing_context=kind)

    for _ in loader:
        break


@both_kinds
def test_workers_end_when_nobody_holds_the_iterator(kind):
    batches = iter(DataLoader(range(1000), 2, num_workers=2, multiprocessing_context=kind))
    next(batches)
    assert workers_alive()

    del batches


@both_kinds
def test_persistent_workers_stay_and_end_with_their_loader(kind):
    loader = DataLoader(
        range(6), 2, num_workers=2, persistent_workers=True, multiprocessing_context=kind
    )
    for _ in range(3):
        assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5]]
    assert len(workers_alive()) == 2

    del loader


@both_kinds
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_end_without_the_garbage_collector(kind, persistent):
    loader = DataLoader(
        range(100), 2, num_workers=1, persistent_workers=persistent, multiprocessing_context=kind
    )
    gc.disable()
    try:
        batches = iter(loader)
        next(batches)
        del loader, batches
        end = time.monotonic() + 5
        while workers_alive() and time.monotonic() < end:
            time.sleep(0.01)
        assert not workers_alive()
    finally:
        gc.enable()


@needs_fork
def test_persistent_workers_that_were_killed_are_replaced():
    loader = DataLoader(
        range(6), 3, num_workers=2, persistent_workers=True, multiprocessing_context="fork"
    )
    assert len(list(loader)) == 2
    for child in multiprocessing.active_children():
        child.kill()
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(loader)

    assert [batch.tolist() for batch in loader] == [[0, 1, 2], [3, 4, 5]]


@both_kinds
def test_persistent_workers_begin_again_after_a_break(kind):
    loader = DataLoader(
        range(60), 2, num_workers=3, persistent_workers=True, multiprocessing_context=kind
    )
    for _ in range(4):
        for batch in loader:
            assert batch.tolist() == [0, 1]
            break
    assert sum(len(batch) for batch in loader) == 60


@both_kinds
def test_ctrl_c_while_waiting_for_a_batch(kind):
    gate = threading.Event()
    data = Reading(lambda index: gate.wait(15))
    batches = iter(DataLoader(data, num_workers=1, multiprocessing_context=kind))
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        next(batches)

    gate.set()


@both_kinds
def test_no_batch_in_time_is_an_error(kind, monkeypatch):
    monkeypatch.setattr(processes, "_GRACE", 0.1)
    gate = threading.Event()
    data = Reading(lambda index: gate.wait(15))
    loader = DataLoader(data, num_workers=1, timeout=0.2, multiprocessing_context=kind)

    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.2 seconds"):
        next(iter(loader))

    gate.set()


@needs_fork
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_worker_is_an_error(how):
    def read(index):
        if index == 3:
            os.kill(os.getpid(), how)
        return index

    batches = iter(DataLoader(Reading(read), None, num_workers=2, multiprocessing_context="fork"))

    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited") as caught:
        list(batches)
    assert how.name in str(caught.value)
    with pytest.raises(RuntimeError, match="have been stopped"):
        next(batches)


@needs_fork
def test_a_worker_that_is_killed_while_it_waits_is_an_error():
    loader = DataLoader(
        range(100), 2, num_workers=2, persistent_workers=True, multiprocessing_context="fork"
    )
    next(iter(loader))
    for child in multiprocessing.active_children():
        child.kill()

    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(loader)


@needs_fork
def test_a_worker_that_exits_is_an_error():
    loader = DataLoader(
        Reading(lambda index: os._exit(7)), num_workers=1, multiprocessing_context="fork"
    )

    with pytest.raises(RuntimeError, match="its exit code is 7"):
        next(iter(loader))


@needs_fork
def test_a_worker_that_does_not_end_is_killed(monkeypatch):
    monkeypatch.setattr(processes, "_GRACE", 0.1)

    def read(index):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while index == 1:
            time.sleep(1)
        return index

    batches = iter(DataLoader(Reading(read), None, num_workers=2, multiprocessing_context="fork"))
    assert next(batches) == 0

    del batches


@needs_fork
def test_long_lists_of_indices_and_large_batches_pass_each_other():
    # Each is larger than what a pipe holds: whoever wrote and did not read would wait for ever.
    wanted = [list(range(100_000))] * 6
    data = Reading(lambda index: index)
    loader = DataLoader(
        data, batch_sampler=wanted, num_workers=2, multiprocessing_context="fork", prefetch_factor=3
    )

    assert [len(batch) for batch in loader] == [100_000] * 6


@both_kinds
def test_a_loader_inside_of_a_worker(kind):
    def read(index):
        return sum(DataLoader(range(index + 1), None, num_workers=1))

    loader = DataLoader(Reading(read), None, num_workers=2, multiprocessing_context=kind)

    assert list(loader) == [0, 1, 3, 6, 10, 15, 21, 28]


# --- how they work --------------------------------------------------------------------------------


def test_threads_read_ahead_and_no_further():
    started = queue.SimpleQueue()
    data = Reading(lambda index: started.put(index) or index, count=100)
    batches = iter(DataLoader(data, None, num_workers=2, prefetch_factor=3))
    next(batches)
    seen = {started.get(timeout=5) for _ in range(7)}
    time.sleep(0.05)

    assert seen == set(range(7))
    assert started.empty()


def test_threads_work_at_the_same_time():
    together = threading.Barrier(3, timeout=5)
    data = Reading(lambda index: together.wait() * 0 + index, count=3)

    assert list(DataLoader(data, None, num_workers=3)) == [0, 1, 2]


def test_threads_have_attributes_of_their_own_and_share_what_they_hold():
    class Kept(Dataset):
        def __init__(self):
            self.large = [0] * 10
            self.calls = 0

        def __len__(self):
            return 4

        def __getitem__(self, index):
            self.calls += 1
            return self.calls, self.large is large, get_worker_info().dataset is self

    data = Kept()
    large = data.large

    assert list(DataLoader(data, None, num_workers=2)) == [
        [1, True, True], [1, True, True], [2, True, True], [2, True, True],
    ]  # fmt: skip
    assert data.calls == 0


def test_what_threads_draw_and_seed_does_not_change_the_programs_random_numbers():
    data = Reading(lambda index: lamina.manual_seed(index) and lamina.rand(100))
    state = lamina.get_rng_state()

    list(DataLoader(data, num_workers=2, generator=lamina.Generator()))

    assert state.equal(lamina.get_rng_state())


def test_python_functions_of_the_generator_speak_of_the_threads_own():
    def read(index):
        lamina.manual_seed(index)
        state = lamina.get_rng_state()
        first = lamina.rand(())
        lamina.set_rng_state(state)
        return lamina.initial_seed(), bool(first == lamina.rand(()))

    found = list(DataLoader(Reading(read, count=4), None, num_workers=2))

    assert found == [[index, True] for index in range(4)]


def test_a_thread_may_ask_for_its_generator():
    def read(index):
        own = lamina.random.thread_safe_generator()
        return own.initial_seed() == get_worker_info().seed

    assert list(DataLoader(Reading(read, count=2), None, num_workers=2)) == [True, True]
    assert lamina.random.thread_safe_generator() is None


def run(tmp_path, source, *arguments, **options):
    """Run a program in a process of its own."""
    script = tmp_path / "program.py"
    script.write_text(source)
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, **options)


def test_a_program_may_end_while_a_thread_reads(tmp_path):
    source = """
import time
from lamina.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 9
    def __getitem__(self, index):
        if index:
            time.sleep(1000)
        return index

batches = iter(DataLoader(Slow(), num_workers=2))
print(next(batches))
"""
    done = run(tmp_path, source)

    assert (done.stdout, done.stderr, done.returncode) == ("tensor([0])\n", "", 0)


SPAWNING = """
import sys
import lamina
from lamina.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return index ** 2, lamina.rand(())

def main():
    lamina.manual_seed(0)
    loader = DataLoader(Squares(), 2, num_workers=1, multiprocessing_context="spawn")
    for squares, numbers in loader:
        print(squares.tolist(), numbers.shape)
"""


def test_spawned_workers(tmp_path):
    done = run(tmp_path, SPAWNING + "if __name__ == '__main__': main()")

    assert done.stdout == "[0, 1] torch.Size([2])\n[4, 9] torch.Size([2])\n", done.stderr


def test_spawned_workers_of_an_unguarded_program(tmp_path):
    done = run(tmp_path, SPAWNING + "main()")

    assert done.returncode == 1
    assert "exited unexpectedly" in done.stderr
    assert "if __name__ == '__main__':" in done.stderr


def test_what_cannot_be_sent_to_a_spawned_worker_is_explained():
    loader = DataLoader(
        Reading(lambda index: index), num_workers=1, multiprocessing_context="spawn"
    )

    with pytest.raises((AttributeError, pickle.PicklingError)) as caught:
        iter(loader)

    assert any("at the top level of a module" in note for note in caught.value.__notes__)


@needs_fork
def test_workers_end_when_their_program_is_killed(tmp_path):
    source = """
import multiprocessing, os, signal
from lamina.utils.data import DataLoader

batches = iter(DataLoader(range(100), num_workers=2, multiprocessing_context="fork"))
next(batches)
print(*(child.pid for child in multiprocessing.active_children()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run(tmp_path, source)
    pids = [int(pid) for pid in done.stdout.split()]

    assert len(pids) == 2
    end = time.monotonic() + 10
    while time.monotonic() < end and any(map(is_running, pids)):
        time.sleep(0.05)
    assert not any(map(is_running, pids))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
