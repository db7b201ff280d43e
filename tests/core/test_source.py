"""Reading source text."""

import pytest

from lamina.core.source import one_line, short_name


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("/home/me/train.py", "train.py"),
        ("/home/me/model/__init__.py", "model/__init__.py"),
        ("<case a/b>", "<case a/b>"),
        ("<stdin>", "<stdin>"),
        ("<ipython-input-3-abc>", "In [3]"),
        ("/tmp/ipykernel_12/345.py", "notebook cell"),
        ("", ""),
    ],
)
def test_short_names(filename, name):
    assert short_name(filename) == name


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("f(x)", "f(x)"),
        ("f(\n    x,\n)", "f(x)"),
        ("(\n    x,\n)", "(x,)"),
        ("x[\n  0\n]", "x[0]"),
        ("a  *  b\\\n  + c", "a  *  b + c"),
        ("x\n  .mul(2)  # one\n  .add(3)", "x.mul(2).add(3)"),
        ('f("""a\n  b""", 1)', 'f("""a   b""", 1)'),
        ("f(\n", "f("),
    ],
)
def test_one_line(text, line):
    assert one_line(text) == line
