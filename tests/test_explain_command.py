"""`lamina explain`: every program of the catalogue does what its entry says."""

import pytest

import lamina
from lamina.cli import main
from lamina.errors import CODES, LaminaWarning
from lamina.errors.entries import entry_of
from lamina.explain_command import outcome, page
from tests.record_errors_page import PAGE

ENTRIES = [entry_of(kind) for kind in CODES.values()]
IDS = [entry.code for entry in ENTRIES]


@pytest.fixture(autouse=True)
def switches():
    """No GPU at the start, and nothing left on that a program switches on."""
    with lamina.cuda.simulate(0):
        yield
    lamina.func.warn_of_loops(False)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not e.needs], ids=lambda e: e.code)
def test_the_failing_program_meets_this_and_nothing_else(entry):
    _, met = outcome(entry.failing)
    kinds = {type(one) for one in met if not isinstance(one, DeprecationWarning)}
    assert kinds == {entry.kind}
    assert f"[{entry.code}]" in str(met[-1])


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not e.needs], ids=lambda e: e.code)
def test_what_is_met_shows_a_line_of_the_program(entry):
    _, met = outcome(entry.failing)
    assert "<program>:" in str(met[-1])
    assert "^" in str(met[-1])


@pytest.mark.parametrize("entry", ENTRIES, ids=IDS)
def test_the_repaired_program_meets_nothing(entry):
    if entry.kind.__name__ == "TorchIsLoaded":
        pytest.skip("another test of this process may have imported PyTorch")
    assert outcome(entry.repaired)[1] == []


def test_what_cannot_be_caused_everywhere_says_what_it_takes():
    assert [e.code for e in ENTRIES if e.needs] == ["L901", "L914"]


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.record_errors_page`"


def test_an_entry_on_the_screen(capsys):
    assert main(["explain", "l201"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "L201  `SavedValueModified`, a RuntimeError\n\nA value kept for backward"
    )
    assert "\n    h += 1\n" in text
    assert "\n      <program>:5   h += 1\n                    ^^^^^^ changed here" in text
    assert text.endswith("\n    h = h + 1\n    h.sum().backward()\n")


def test_an_entry_by_the_name_of_its_class(capsys):
    assert main(["explain", "savedvaluemodified"]) == 0
    assert capsys.readouterr().out.startswith("L201 ")


def test_what_a_program_prints_itself_is_shown(capsys):
    assert main(["explain", "L110"]) == 0
    assert "\n    None\n    NonLeafGradWarning: The .grad" in capsys.readouterr().out


def test_the_list_has_a_line_for_each(capsys):
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CODES)
    assert all(line.endswith(".") for line in lines)


@pytest.mark.parametrize(
    ("asked", "near"), [("L2011", "L201"), ("LeafModifed", "L202"), ("L21", "L211")]
)
def test_an_unknown_code_names_the_nearest(asked, near, capsys):
    assert main(["explain", asked]) == 2
    assert near in capsys.readouterr().err


def test_nothing_near_is_said_too(capsys):
    assert main(["explain", "???"]) == 2
    assert "near" not in capsys.readouterr().err


def test_warnings_are_told_from_errors():
    assert {e.kind for e in ENTRIES if e.is_warning} == {
        kind for kind in CODES.values() if issubclass(kind, LaminaWarning)
    }
