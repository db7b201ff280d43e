"""`lamina bench` times what it is asked for, compares results first, and says what went wrong."""

import json
import os
import subprocess
import sys

import pytest

from lamina.bench.catalogue import WORKLOADS
from lamina.cli import main


def test_list_names_every_workload(capsys):
    assert main(["bench", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(WORKLOADS)
    assert {"micro_mlp", "mlp", "gpt", "lstm", "cnn", "adam", "sort"} <= WORKLOADS.keys()


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("gptt", "gpt"), ("matmul", "matmul_64"), ("layernorm", "layer_norm"), ("LSTM", None)],
)
def test_a_wrong_name_gets_the_nearest_one(capsys, name, nearest):
    assert main(["bench", "--only", f"mlp,{name}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"there is no workload '{name}'; the nearest is '{nearest or ''}" in err


@pytest.mark.parametrize("arguments", [["--only", ","], ["--only", ""]])
def test_no_name_is_an_error(capsys, arguments):
    assert main(["bench", *arguments]) == 2
    assert "no workload is named" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--threads", "0"], ["--rounds", "x"], ["--what"]])
def test_wrong_options_are_refused(arguments):
    with pytest.raises(SystemExit) as stop:
        main(["bench", *arguments])
    assert stop.value.code == 2


def test_help_names_the_options(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["bench", "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for option in ("--only", "--list", "--memory", "--threads", "--rounds", "--json"):
        assert option in text


def test_a_tiny_workload_is_timed(tmp_path):
    """In processes of their own, with the table on one output and progress on the other."""
    file = tmp_path / "times.json"
    command = [sys.executable, "-m", "lamina.cli", "bench", "--only", "micro_mlp"]
    options = ["--rounds", "2", "--threads", "1", "--memory", "--json", str(file)]
    environment = {**os.environ, "FORCE_COLOR": "1"}
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    header, row, *_, footer = done.stdout.splitlines()
    assert "lamina.compile" in header
    assert row.split()[0] == "micro_mlp"
    assert "2 rounds" in footer
    assert "\x1b" not in done.stdout + done.stderr
    assert "[1/1] micro_mlp" in done.stderr
    found = json.loads(file.read_text())
    times = found["workloads"]["micro_mlp"]["seconds"]
    assert {"lamina", "lamina.compile"} <= times.keys()
    assert all(len(column) == 2 and min(column) > 0 for column in times.values())
    assert found["workloads"]["micro_mlp"]["notes"] == {}  # it ran as a program
    assert found["machine"]["threads"] == 1
    if sys.platform == "linux":
        assert all(0 <= n < 100 for n in found["workloads"]["micro_mlp"]["megabytes"].values())
