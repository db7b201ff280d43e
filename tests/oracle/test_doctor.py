"""The doctor on PyTorch's own programs: the same ones as Lamina's."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[1] / "doctor"
UNKNOWN = {
    "column_against_row": "PyTorch's nodes do not keep the shapes of their operands",
    "forgotten_latent": "a gradient that was there and was cleared leaves no trace in PyTorch",
}
WATCH = """
import sys, warnings
from lamina.doctor import Doctor
from lamina.doctor.torch_library import TorchLibrary
for path in sys.argv[1:]:
    with Doctor(library=TorchLibrary()) as doctor:
        warnings.filterwarnings("default", category=UserWarning)
        warnings.filterwarnings("ignore", message="Converting a tensor with requires_grad")
        exec(compile(open(path, encoding="utf-8").read(), path, "exec"), {"__name__": "__main__"})
    assert not doctor.failures, doctor.failures
    print("found", path, *[finding.fault.name for finding in doctor.findings])
"""


@pytest.fixture(scope="module")
def found():
    """The faults found in each program, all in one process of its own, which PyTorch has alone."""
    paths = sorted([*(PROGRAMS / "broken").glob("*.py"), *(PROGRAMS / "sound").glob("*.py")])
    run = subprocess.run(
        [sys.executable, "-c", WATCH, *map(str, paths)], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    lines = [line.split()[1:] for line in run.stdout.splitlines() if line.startswith("found ")]
    return {path: faults for path, *faults in lines}


@pytest.mark.parametrize("path", sorted((PROGRAMS / "broken").glob("*.py")), ids=lambda p: p.stem)
def test_faults_are_found(path, found):
    wanted = re.findall(r"# fault: (\w+)", path.read_text(encoding="utf-8"))
    assert found[str(path)] == ([] if path.stem in UNKNOWN else wanted)


@pytest.mark.parametrize("path", sorted((PROGRAMS / "sound").glob("*.py")), ids=lambda p: p.stem)
def test_sound_programs_give_no_alarm(path, found):
    assert found[str(path)] == []
