"""The files of a program: the script, and the modules that it imports from its own folder."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["File", "find_module", "read"]


class File(NamedTuple):
    """One file of a program: where it is, what it is called, and its syntax tree."""

    path: Path
    module: str
    tree: ast.Module


def read(script: Path, root: Path, module: str = "__main__") -> Iterator[File]:
    """The script, then every module below `root` that the files read so far import.

    Args:
        script: The file that would be run.
        root: The folder that would be `sys.path[0]`.
        module: The script's own module name; relative imports start from it.

    Raises:
        SyntaxError: If a file is no Python.
        OSError: If a file cannot be read.
    """
    waiting = [(script, module)]
    seen = {script.resolve()}
    for path, name in waiting:
        with tokenize.open(path) as source:
            tree = ast.parse(source.read(), str(path))
        yield File(path, name, tree)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for imported in _imports(tree, package):
            found = find_module(root, imported)
            if found is not None and found.resolve() not in seen:
                seen.add(found.resolve())
                waiting.append((found, imported))


def find_module(root: Path, name: str) -> Path | None:
    """The file of a module below a folder, or None."""
    place = root.joinpath(*name.split("."))
    for path in (place / "__init__.py", place.with_name(place.name + ".py")):
        if path.is_file():
            return path
    return None


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    """The full names of all modules that a file may import, packages before what is in them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_packages(alias.name)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package else []
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from _with_packages(base)
            for alias in node.names:  # each may be a module inside
                yield f"{base}.{alias.name}" if base else alias.name


def _with_packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])
