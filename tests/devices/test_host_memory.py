"""Freed memory stays with the process, up to what the user allows."""

import subprocess
import sys

import pytest

from lamina.devices import host_memory

SCRIPT = """
import resource
import numpy as np
import lamina
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def work():
    for _ in range(5):
        np.ones(12_000_000, np.float32)
work()
before = faults()
work()
print(faults() - before)
"""


def faults(keep):
    """Page faults of making five arrays of 48 MB, after five others."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"LAMINA_KEEP_MEMORY": keep, "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(not host_memory.keep_freed_memory(), reason="needs glibc")
def test_large_arrays_use_the_same_pages_again():
    assert faults("512") < 100
    assert faults("0") > 100


@pytest.mark.parametrize(("text", "megabytes"), [("0", 0), ("300", 300)])
def test_the_environment_sets_the_limit(monkeypatch, text, megabytes):
    monkeypatch.setenv(host_memory.LIMIT, text)
    assert host_memory.kept_megabytes() == megabytes


@pytest.mark.parametrize("text", ["", "much", "-3", "1.5"])
def test_what_is_no_number_counts_as_unset(monkeypatch, text):
    monkeypatch.setenv(host_memory.LIMIT, text)
    unset = host_memory.kept_megabytes()
    monkeypatch.delenv(host_memory.LIMIT)
    assert unset == host_memory.kept_megabytes()
    assert 0 <= unset <= 2048
