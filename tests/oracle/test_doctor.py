"""The doctor on PyTorch's own programs: the same ones as Lamina's."""

import pytest
from doctor.patients import BROKEN, SOUND, all_findings, wanted_fault

UNKNOWN = {
    "column_against_row": "PyTorch's nodes do not keep the shapes of their operands",
    "forgotten_latent": "a gradient that was there and was cleared leaves no trace in PyTorch",
}


@pytest.fixture(scope="module")
def findings():
    return all_findings("--torch")


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_faults_are_found(path, findings):
    found = [finding["fault"] for finding in findings[path]]
    assert found == ([] if path.stem in UNKNOWN else [wanted_fault(path)])


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_sound_programs_give_no_alarm(path, findings):
    assert findings[path] == []
