"""The doctor on programs with one fault each, and on sound ones."""

import pytest
from doctor.patients import BROKEN, SOUND, all_findings, culprits, wanted_fault


@pytest.fixture(scope="module")
def findings():
    return all_findings()


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_a_fault_is_found_and_its_place_is_shown(path, findings):
    (finding,) = findings[path]
    assert finding["fault"] == wanted_fault(path)
    assert culprits(path) <= set(finding["lines"]), finding["text"]
    assert finding["help"]


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_nothing_is_found_in_a_sound_program(path, findings):
    assert findings[path] == []
