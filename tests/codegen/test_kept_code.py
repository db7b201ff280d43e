"""Machine code is compiled once, and loaded by later processes."""

import os
import subprocess
import sys

import numpy as np
import pytest
from codegen.machines import compiled, machine

pytestmark = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")

PROGRAM = """
import gc, logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(message)s")
import lamina as torch

torch.manual_seed(0)
first = torch.nn.Linear(8, 16)
if "collect" in sys.argv:
    gc.collect()  # which changes the order in which the collector knows parameters
model = torch.nn.Sequential(first, torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(32, 8)
y = x.sin().sum(dim=1, keepdim=True) + 3e12 * (x * 1e13).sin()[:, :1] * 1e-13

@torch.compile(fullgraph=True)
def step():
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss

print([step().item().hex() for _ in range(5)])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(*arguments):
    """What the program prints, and how many modules it compiled."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr.count("compiled ")


def doubled(x):
    """Two times a sine of an array: something that needs the C library."""
    run = compiled(lambda x: np.multiply(np.sin(x), 2), x, native=True)
    (result,) = run(x)
    return result


@pytest.fixture
def count(monkeypatch):
    """The texts that were compiled."""
    texts = []
    compile_text = machine._compiled
    monkeypatch.setattr(machine, "_compiled", lambda t: texts.append(t) or compile_text(t))
    return texts


def test_a_second_process_compiles_nothing(folder):
    first, compiled_first = run()
    assert compiled_first > 0
    assert len(list(folder.iterdir())) == compiled_first
    assert run() == (first, 0)


def test_the_collector_has_no_say_in_the_text(folder):
    first, _ = run()
    assert run("collect") == (first, 0)


def test_switched_off_every_process_compiles(folder, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE", "0")
    assert run() == run()
    assert not folder.exists()


def test_damaged_entries_are_compiled_again(folder):
    first, compiled_first = run()
    for k, path in enumerate(sorted(folder.iterdir())):
        data = bytearray(path.read_bytes())
        data[len(data) // (k + 2)] ^= 16
        path.write_bytes(data)
    assert run() == (first, compiled_first)
    assert run() == (first, 0)


def test_no_folder_and_no_home_are_no_trouble(folder, tmp_path, monkeypatch):
    """Nothing is said, and the results are the same."""
    expected, _ = run()
    folder.rename(tmp_path / "away")
    folder.write_text("a file in its place")
    quiet = PROGRAM.replace("level=logging.DEBUG, ", "")
    for setting in (str(folder), os.path.join(os.devnull, "cache")):
        monkeypatch.setenv("LAMINA_CACHE_DIR", setting)
        done = subprocess.run([sys.executable, "-c", quiet], capture_output=True, text=True)
        assert (done.stdout, done.stderr) == (expected, "")


def test_code_is_loaded_without_reading_the_text(folder, count):
    x = np.linspace(-3, 3, 1000)
    first = doubled(x)
    assert len(count) == 1
    np.testing.assert_array_equal(doubled(x), first)
    np.testing.assert_allclose(first, 2 * np.sin(x), rtol=1e-15, atol=0)
    assert len(count) == 1


def test_code_for_another_machine_is_not_loaded(folder, count, monkeypatch):
    x = np.linspace(-3, 3, 1000)
    doubled(x)
    target = machine._target()
    for k, part in enumerate(target.identity):
        identity = (*target.identity[:k], part + "+", *target.identity[k + 1 :])
        other = target._replace(identity=identity)
        with monkeypatch.context() as patch:
            patch.setattr(machine, "_target", lambda other=other: other)
            doubled(x)
        assert len(count) == k + 2, f"part {k} of the identity did not count"
    doubled(x)
    assert len(count) == len(target.identity) + 1


def test_the_text_has_no_address_of_this_process(count, folder):
    a, b = np.ones((7, 5), np.float32), np.ones((5, 3), np.float32)
    compiled(lambda a, b: np.matmul(a, b) + 1, a, b, native=True)(a, b)
    (text,) = count
    assert "gemm" in text
    assert "inttoptr" not in text
