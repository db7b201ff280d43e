"""The doctor on programs with one fault each, and on sound ones."""

import re
import warnings
from pathlib import Path

import pytest

from lamina.doctor import Doctor
from lamina.torch_alias import as_torch

HERE = Path(__file__).parent
BROKEN = sorted((HERE / "broken").glob("*.py"))
SOUND = sorted((HERE / "sound").glob("*.py"))


def findings_of(path):
    """What the doctor finds in a program, run as it stands."""
    source = path.read_text(encoding="utf-8")
    space = {"__name__": "__main__", "__file__": str(path)}
    with as_torch(), Doctor() as doctor:
        warnings.filterwarnings("default", category=UserWarning)  # as in a program
        exec(compile(source, str(path), "exec"), space)
    assert not doctor.failures, doctor.failures
    return doctor.findings


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_a_fault_is_found_and_its_place_is_shown(path, capsys):
    source = path.read_text(encoding="utf-8").splitlines()
    wanted = re.search(r"# fault: (\w+)", "\n".join(source)).group(1)
    culprits = [number for number, line in enumerate(source, 1) if "# culprit" in line]
    findings = findings_of(path)
    assert [finding.fault.name for finding in findings] == [wanted]
    lines = {place.line for place, _ in findings[0].notes if place is not None}
    assert set(culprits) <= lines, str(findings[0])
    assert findings[0].help


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_nothing_is_found_in_a_sound_program(path, capsys):
    assert not findings_of(path)
