"""Processes: Python's own names, `spawn`, and what it says of a process that failed."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys

import pytest

import lamina.multiprocessing as mp

PROGRAM = """
import os, signal, sys, time
import lamina as torch
import lamina.multiprocessing as mp

def add(index, x, results):
    results.put((index, (x + index).tolist()))

def fail(index):
    if index == 1:
        raise ValueError("boom")
    time.sleep(60)

def leave(index):
    sys.exit(3)

def die(index):
    os.kill(os.getpid(), signal.SIGKILL)

def main():
    results = mp.get_context("spawn").SimpleQueue()
    mp.spawn(add, (torch.ones(2), results), nprocs=2)
    print(sorted(results.get() for _ in range(2)))
    for function in (fail, leave, die):
        try:
            mp.start_processes(function, nprocs=2, start_method="fork")
        except mp.ProcessException as error:
            print(type(error).__name__, str(error).split()[-1], error.error_index in (0, 1))

if __name__ == "__main__":
    main()
"""


def test_pythons_names_are_there():
    assert mp.Process is multiprocessing.Process
    assert mp.cpu_count() == multiprocessing.cpu_count()
    assert set(multiprocessing.__all__) <= set(mp.__all__)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_processes_run_and_failures_arrive(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=50)

    assert done.stdout.splitlines() == [
        "[(0, [1.0, 1.0]), (1, [2.0, 2.0])]",
        "ProcessRaisedException boom True",
        "ProcessExitedException 3 True",
        "ProcessExitedException SIGKILL True",
    ], done.stderr


def test_a_strategy_is_kept_and_an_unknown_one_refused():
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_descriptor")
    assert mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy(before)

    with pytest.raises(AssertionError, match="invalid sharing strategy 'x'"):
        mp.set_sharing_strategy("x")


def test_spawn_starts_by_spawn():
    with pytest.raises(ValueError, match="start_processes"):
        mp.spawn(print, start_method="fork")


@pytest.mark.parametrize(
    "error",
    [
        mp.ProcessRaisedException("text", 1, 42),
        mp.ProcessExitedException("text", 1, 42, -9, "SIGKILL"),
    ],
)
def test_failures_can_be_pickled(error):
    copied = pickle.loads(pickle.dumps(error))

    assert (type(copied), vars(copied)) == (type(error), vars(error))
