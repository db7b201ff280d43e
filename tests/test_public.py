"""The public face: names that exist, in order, and say what they are."""

import ast
from pathlib import Path

import pytest

import lamina

HOUSE = Path(lamina.__file__).parent
FILES = [path.relative_to(HOUSE).as_posix() for path in sorted(HOUSE.rglob("*.py"))]


def test_public_names_are_sorted_and_unique():
    assert list(lamina.__all__) == sorted(set(lamina.__all__))


def test_public_names_exist():
    assert [name for name in lamina.__all__ if not hasattr(lamina, name)] == []


def test_public_functions_and_classes_have_docstrings():
    public = {name: getattr(lamina, name) for name in lamina.__all__}
    assert [n for n, value in public.items() if callable(value) and not value.__doc__] == []


@pytest.mark.parametrize("file", FILES)
def test_every_public_definition_has_a_docstring(file):
    if any(part.startswith("_") and part != "__init__.py" for part in Path(file).parts):
        pytest.skip("private")
    tree = ast.parse((HOUSE / file).read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    public = [n for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")]
    assert [node.name for node in public if not ast.get_docstring(node)] == []
    assert ast.get_docstring(tree), "the file itself needs a line that says what it holds"
