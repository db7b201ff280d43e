"""What differs between machines: threads that a system lacks, processors that are too old."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
from codegen.machines import machine

from lamina.codegen import later

native = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")

AS_ON_WINDOWS = """
import signal
from lamina.codegen.llvm import pool_code

pool_code.HAS_THREADS = False
for name in ("pthread_sigmask", "valid_signals"):
    delattr(signal, name)
assert "pthread" not in pool_code.text() and "sched" not in pool_code.text()
"""

PROGRAM = """
import lamina as torch

torch.manual_seed(0)
x, y = torch.randn(300, 400), torch.randn(400, 500)
step = torch.compile(lambda x, y: ((x @ y).sin().sum(0), x.exp().mean(1)))
for _ in range(2):
    results = *step(x, y), x @ y, x.cumsum(1), torch.randn(100_000)
    print([result.double().sum().item().hex() for result in results])
"""

SIZE = """
from lamina.codegen.llvm.threads import pool
print(pool().size)
"""


def printed(program, monkeypatch):
    """The lines that a program prints in a process of its own."""
    monkeypatch.setenv("LAMINA_CACHE", "0")
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


@native
def test_without_posix_threads_the_caller_does_all_pieces(monkeypatch):
    """The results are the same bits, since pieces do not depend on the number of threads."""
    *alone, size = printed(AS_ON_WINDOWS + PROGRAM + SIZE, monkeypatch)
    assert size == "1"
    assert alone == printed(PROGRAM, monkeypatch)


@pytest.fixture
def asked_anew():
    """Whether there is machine code is found out again, before the test and after it."""
    later.is_available.cache_clear()
    yield
    later.is_available.cache_clear()


def with_features(monkeypatch, features):
    """An llvmlite that says so of the processor."""
    binding = SimpleNamespace(get_host_cpu_features=lambda: features)
    monkeypatch.setitem(sys.modules, "llvmlite", SimpleNamespace(binding=binding))
    monkeypatch.setitem(sys.modules, "llvmlite.binding", binding)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({"avx2": True, "fma": True}, True),
        ({"sse4.2": True, "avx2": False, "fma": False}, False),
        ({"neon": True}, True),
        ({}, True),  # on some systems nothing is known
    ],
)
def test_processors_without_a_fused_step_have_no_machine_code(
    features, expected, monkeypatch, asked_anew
):
    with_features(monkeypatch, features)
    assert later.is_available() is expected


def test_without_llvmlite_there_is_no_machine_code(monkeypatch, asked_anew):
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    assert not later.is_available()


def test_addresses_of_32_bits_are_too_short(monkeypatch, asked_anew):
    with_features(monkeypatch, {})
    monkeypatch.setattr(sys, "maxsize", (1 << 31) - 1)
    assert not later.is_available()
