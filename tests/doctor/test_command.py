"""`lamina doctor` as people call it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def doctor(*words, cwd=None, env=None):
    return subprocess.run(
        [sys.executable, "-m", "lamina", "doctor", *words],
        capture_output=True, text=True, timeout=120, cwd=cwd, env=env,
    )  # fmt: skip


def test_findings_come_at_once_and_in_the_report():
    found = doctor(str(HERE / "broken" / "no_zero_grad.py"))
    assert found.returncode == 0
    assert found.stdout == ""
    first, report = found.stderr.split("doctor: 1 finding")
    assert first.startswith("doctor: gradients are never cleared")
    assert "no_zero_grad.py:14" in first
    assert "(8 backward passes, 8 steps)" in report


@pytest.mark.parametrize(("folder", "status"), [("broken/no_zero_grad", 1), ("sound/siamese", 0)])
def test_strict_makes_the_exit_status_tell(folder, status):
    assert doctor("--strict", str(HERE / f"{folder}.py")).returncode == status


def test_the_report_of_a_program_that_fails_comes_after_its_traceback(tmp_path):
    program = tmp_path / "fails.py"
    source = (HERE / "broken" / "no_zero_grad.py").read_text(encoding="utf-8")
    program.write_text(source + "\nmissing_name\n", encoding="utf-8")
    found = doctor(str(program))
    assert found.returncode == 1
    assert found.stderr.index("NameError") < found.stderr.index("doctor: 1 finding")


def test_a_programs_own_exit_status_and_arguments_are_kept(tmp_path):
    program = tmp_path / "leaves.py"
    program.write_text("import sys\nprint(sys.argv[1:])\nsys.exit(7)\n", encoding="utf-8")
    found = doctor(str(program), "--strict", "a")
    assert (found.returncode, found.stdout) == (7, "['--strict', 'a']\n")
    assert "no backward pass" in found.stderr


def test_memory_is_told_by_line_and_transfers_are_counted(tmp_path):
    program = tmp_path / "moves.py"
    program.write_text(
        "import torch\n"
        "w = torch.ones(600, 600, requires_grad=True, device='cuda')\n"
        "for _ in range(2):\n"
        "    y = w.exp()\n"  # keeps its result: 600 * 600 * 4 bytes
        "    y.sum().backward()\n"
        "w.grad.cpu()\n",
        encoding="utf-8",
    )
    report = doctor(str(program), env={**os.environ, "LAMINA_CUDA": "simulated"}).stderr
    assert "kept for a backward pass: 1.37 MiB, by these lines:" in report
    assert "moves.py:4" in report
    assert "back 1 times (1.37 MiB)" in report


def test_a_missing_program_is_named(tmp_path):
    found = doctor("nowhere.py", cwd=tmp_path)
    assert found.returncode == 2
    assert "nowhere.py" in found.stderr


def test_no_program_is_an_error_of_usage():
    found = doctor()
    assert found.returncode == 2
    assert "which program?" in found.stderr
