"""The look of a diagnostic, and the classes that carry it."""

import ast
import pickle
import textwrap
import unicodedata
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina.errors as errors
from lamina.errors import CODES, LaminaError, LaminaWarning, Place, SavedValueModified, render
from lamina.errors.entries import entry_of
from lamina.errors.index import INDEX
from lamina.errors.places import SOURCE_WIDTH


def columns(text: str) -> int:
    """How wide a terminal shows `text`, for characters that are neither marks nor tabs."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def test_the_look():
    text = render(
        "`h`, kept for the derivative of tanh, was modified by an inplace operation",
        "L201",
        [
            (Place("train.py", 14, "h += 1", 0, 6), "changed here: version 0 -> 1"),
            (
                Place("train.py", 12, "h = torch.tanh(x @ w)", 4, 21),
                "its result was kept here, for tanh's derivative",
            ),
        ],
        ["write `h = h + 1`, or change a copy: `h = h.clone()`"],
    )
    assert text == textwrap.dedent(
        """\
        `h`, kept for the derivative of tanh, was modified by an inplace operation [L201]
          train.py:14   h += 1
                        ^^^^^^ changed here: version 0 -> 1
          train.py:12   h = torch.tanh(x @ w)
                            ^^^^^^^^^^^^^^^^^ its result was kept here, for tanh's derivative
          help: write `h = h + 1`, or change a copy: `h = h.clone()`"""
    )


def test_sources_of_different_files_stand_in_one_column():
    text = render("x", "", [(Place("a.py", 3, "f(x)", 0, 4), "one"), (Place("long.py", 10), "two")])
    assert text == textwrap.dedent(
        """\
        x
          a.py:3       f(x)
                       ^^^^ one
          long.py:10   two"""
    )


def test_a_place_without_source_shows_file_and_line():
    assert render("x", "L1", [(Place("<string>", 2), "")]) == (
        "x [L1]\n  <string>:2   (source not available)"
    )


def test_a_note_without_a_place_is_a_remark():
    assert render("x", "L1", [(None, "a remark\nin two lines")]) == (
        "x [L1]\n  a remark\n  in two lines"
    )


def test_tabs_are_shown_as_spaces():
    text = render("x", "", [(Place("a.py", 1, "if y:\tx += 1", 6, 12), "here")])
    assert text == "x\n  a.py:1   if y:   x += 1\n                   ^^^^^^ here"


def test_wide_characters_count_twice():
    text = render("x", "", [(Place("a.py", 1, "重み = 層(x)", 5, 9), "here")])
    assert text == "x\n  a.py:1   重み = 層(x)\n                  ^^^^^ here"


def test_combining_characters_count_nothing():
    text = render("x", "", [(Place("a.py", 1, 'f("e\u0301") + x', 9, 10), "here")])
    assert text.splitlines()[2] == " " * 19 + "^ here"


def test_an_expression_of_several_lines_is_marked_to_the_end_of_its_first():
    place = Place("a.py", 5, "y = torch.cat(\n    [a, b],\n)", 4, 14)
    assert render("x", "", [(place, "here")]) == (
        "x\n  a.py:5   y = torch.cat( ...\n               ^^^^^^^^^^ here"
    )


def test_long_lines_are_clipped_around_the_carets():
    line = "a" * 100 + " + f(x) + " + "b" * 100
    first, second = render("x", "", [(Place("a.py", 1, line, 103, 107), "here")]).splitlines()[1:]
    assert "..." in first[:15]
    assert first.endswith("...")
    assert len(first) <= SOURCE_WIDTH + 11
    assert first[second.index("^") : second.rindex("^") + 1] == "f(x)"


def test_a_long_expression_is_clipped_itself():
    place = Place("a.py", 1, "y = " + "f(" * 100, 4, 204)
    first, second = render("x", "", [(place, "here")]).splitlines()[1:]
    assert first.endswith("...")
    assert first[second.index("^")] == "f"
    assert len(first) <= SOURCE_WIDTH + 11


def test_several_lines_of_a_note_hang_together():
    text = render("x", "", [(Place("a.py", 1, "f(x)", 0, 4), "one\ntwo")], ["three\nfour"])
    assert text == textwrap.dedent(
        """\
        x
          a.py:1   f(x)
                   ^^^^ one
                        two
          help: three
                four"""
    )


sources = st.text(st.sampled_from("abc (重み)+=\"'.,é"), min_size=1, max_size=150)


@given(sources, st.integers(0, 150), st.integers(0, 150))
def test_carets_stand_under_the_expression(text, start, length):
    text = "x" + text.rstrip() + "x"
    start = min(start, len(text) - 1)
    end = max(start + 1, min(start + length, len(text)))
    first, second = render("x", "", [(Place("a.py", 1, text, start, end), "")]).splitlines()[1:]
    before = columns(second) - len(second.lstrip())
    shown = "".join(c for i, c in enumerate(first) if columns(first[:i]) >= before)
    marked = text[start:end]
    assert shown.startswith(marked[:40])
    assert columns(first) <= SOURCE_WIDTH + 11
    if columns(text) <= SOURCE_WIDTH:
        assert second.strip() == "^" * columns(marked)


@given(st.text(max_size=30), st.integers(-5, 40), st.integers(-5, 40), st.text(max_size=10))
def test_render_takes_anything(text, start, end, remark):
    assert render("x", "L1", [(Place("a.py", 1, text, start, end), remark)]).startswith("x [L1]")


PLACE = Place("a.py", 1, "f(x)", 0, 4, "f(x)", "main")


def test_an_error_has_its_parts():
    error = SavedValueModified("x changed", [(PLACE, "here"), (None, "a remark")], ["do not"])
    assert error.code == "L201"
    assert error.headline == "x changed"
    assert error.places == (PLACE,)
    assert error.help == ("do not",)
    assert str(error) == error.args[0] == render("x changed", "L201", error.notes, error.help)


def test_help_may_be_one_string():
    assert SavedValueModified("x", help="do not").help == ("do not",)


def test_an_error_that_cannot_be_drawn_keeps_its_headline():
    assert str(SavedValueModified("x", [("no place", "here")])) == "x [L201]"


@pytest.mark.parametrize(("code", "kind"), CODES.items(), ids=CODES)
def test_every_class(code, kind):
    instance = kind("what happened", [(PLACE, "here")], ["a repair"])
    assert instance.code == code
    assert str(instance).startswith(f"what happened [{code}]\n  a.py:1   f(x)")
    copied = pickle.loads(pickle.dumps(instance))
    assert type(copied) is kind
    assert str(copied) == str(instance)
    assert copied.notes == instance.notes
    assert kind.__final__
    assert kind in (getattr(errors, name) for name in errors.__all__)
    assert INDEX[kind.__module__.rpartition(".")[2]][code] == kind.__name__


@pytest.mark.parametrize("kind", CODES.values(), ids=CODES)
def test_every_class_shows_a_failing_and_a_repaired_program_and_a_reason(kind):
    entry = entry_of(kind)
    for program in (entry.failing, entry.repaired):
        assert len(ast.parse(program).body) > 1
    assert entry.failing != entry.repaired
    assert entry.claim.endswith(".")
    assert entry.reason


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("SavedValueModified", RuntimeError),
        ("NonLeafOptimized", ValueError),
        ("NotAParameter", TypeError),
        ("IndexOutOfRange", IndexError),
        ("NotDifferentiable", NotImplementedError),
        ("MissingAttribute", AttributeError),
        ("MissingExtra", ImportError),
        ("NonLeafGradWarning", UserWarning),
    ],
)
def test_classes_are_what_pytorch_raises(name, builtin):
    kind = getattr(errors, name)
    assert issubclass(kind, builtin)
    assert issubclass(kind, LaminaWarning if builtin is UserWarning else LaminaError)


def test_errors_can_be_caught_together():
    with pytest.raises(LaminaError, match="no such thing"):
        raise errors.MissingExtra("no such thing")


def test_warnings_show_their_text():
    with pytest.warns(errors.NonLeafGradWarning, match=r"not a leaf Tensor \[L110\]"):
        warnings.warn(errors.NonLeafGradWarning("not a leaf Tensor"), stacklevel=1)


def test_a_note_added_to_an_error_survives_pickling():
    error = SavedValueModified("x")
    error.add_note("more")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["more"]
