"""The scripts in `examples/` run, without a warning, and come to the results that they promise."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lamina

EXAMPLES = Path(__file__).parents[1] / "examples"


def output_of(name):
    """What a script prints, run as a reader would run it."""
    environment = {**os.environ, "PYTHONPATH": str(Path(lamina.__file__).parents[1])}
    environment.pop("LAMINA_CUDA", None)
    script = str(EXAMPLES / f"{name}.py")
    done = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_every_example_is_short_and_has_a_test(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    assert f"test_{path.stem}" in globals()


def test_leaves():
    flags = re.findall(r"^(\w+): is_leaf=(\w+), requires_grad=(\w+)$", output_of("leaves"), re.M)

    assert flags == [
        ("w", "True", "True"),
        ("moved", "False", "True"),
        ("placed", "True", "True"),
        ("h", "False", "True"),
        ("mean", "True", "False"),
        ("quiet", "True", "False"),
    ]


def test_linear_regression():
    lines = output_of("linear_regression")
    by_descent, by_least_squares = re.findall(r"^y = (\S+ x \S+)", lines, re.MULTILINE)

    assert by_descent == by_least_squares


def test_digits():
    shares = re.findall(r"held out ([\d.]+)%", output_of("digits"))

    assert float(shares[-1]) > 95
