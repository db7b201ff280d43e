"""`lamina run --missing`: which of the names that a program uses are missing, as text."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import lamina
from lamina.torch_alias import pytorch, sources
from lamina.torch_alias.late import is_late
from lamina.torch_alias.missing.program import File, find_module, read
from lamina.torch_alias.missing.uses import Use, uses
from lamina.torch_alias.missing_names import nearest, standing

__all__ = ["command"]

_CLASSES: dict[str, Any] = {
    "torch.Tensor": lamina.Tensor,
    "torch.nn.Module": lamina.nn.Module,
    "torch.optim.Optimizer": lamina.optim.Optimizer,
    "torch.Generator": lamina.Generator,
}
_PLACES = 6  # how many lines are named for one name


def command(program: str, as_module: bool) -> int:
    """Print the report. The exit status is 0, 1 if something certainly is missing, 2 on no program.

    Args:
        program: A file, a folder with a `__main__.py`, or a module's name.
        as_module: Whether it is a module's name.
    """
    script, root = _locate(program, as_module)
    if script is None:
        print(f"lamina: there is no program {program!r}", file=sys.stderr)
        return 2
    try:
        files = list(read(script, root, program if as_module else "__main__"))
    except SyntaxError as error:
        place = f"{error.filename}:{error.lineno}"
        print(f"lamina: {place} is not Python: {error.msg}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"lamina: can't read {error.filename!r}: {error.strerror}", file=sys.stderr)
        return 2
    return _report(files)


def _locate(program: str, as_module: bool) -> tuple[Path | None, Path]:
    if as_module:
        root = Path.cwd()
        return find_module(root, f"{program}.__main__") or find_module(root, program), root
    path = Path(program)
    if path.is_dir():
        return (path / "__main__.py" if (path / "__main__.py").is_file() else None), path
    return (path if path.is_file() else None), path.parent


def _report(files: list[File]) -> int:
    found = [use for file in files for use in uses(file)]
    named = [use for use in found if not use.path.startswith(".")]
    certain: dict[str, list[Use]] = {}
    maybe: dict[str, list[Use]] = {}
    for use in named:
        path = _missing_part(use.path)
        if path is not None:
            late = is_late(path.rpartition(".")[0])
            (maybe if use.guarded or late else certain).setdefault(path, []).append(use)
    own = _own_names(files)
    for use in found:
        name = use.path[1:]
        if use.path.startswith(".") and name not in own and _is_missing_method(name):
            maybe.setdefault(use.path, []).append(use)
    _print("missing", certain)
    _print(
        "perhaps (a guard, a name that fails only when called, a method of something else)", maybe
    )
    count = len({use.path for use in named})
    print(
        f"{count} names of torch in {len(files)} files: {len(certain)} missing, {len(maybe)} maybe"
    )
    return 1 if certain else 0


def _missing_part(path: str) -> str | None:
    """The part of a path that is the first to be missing: `torch.nn.X` of `torch.nn.X.y`."""
    module, *rest = path.split(".")
    for position, name in enumerate(rest):
        inner = f"{module}.{name}"
        value = sources.find(module, name)
        if value is not sources.ABSENT:
            after = rest[position + 1 :]
            known = pytorch.names(inner) if inner in _CLASSES else frozenset()
            if after and after[0] in known and not hasattr(value, after[0]):
                return f"{inner}.{after[0]}"
            return None
        if not pytorch.is_module(inner):
            return inner
        module = inner
    return None


def _is_missing_method(name: str) -> bool:
    has = [kind for kind in _CLASSES if name in pytorch.names(kind)]
    others = (str, bytes, list, dict, set, np.ndarray)
    known = any(hasattr(kind, name) for kind in (*_CLASSES.values(), *others))
    return bool(has) and not known and name != "training"


def _own_names(files: Iterable[File]) -> set[str]:
    """Names that the program gives to attributes and functions of its own."""
    found: set[str] = set()
    for file in files:
        for node in ast.walk(file.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return found


def _print(title: str, missing: dict[str, list[Use]]) -> None:
    if not missing:
        return
    print(f"{title}:")
    for path in sorted(missing):
        places = list(dict.fromkeys(f"{_short(use.file.path)}:{use.line}" for use in missing[path]))
        more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        print(f"  {path}   {', '.join(places[:_PLACES])}{more}")
        for line in _remarks(path):
            print(f"      {line}")
    print()


def _remarks(path: str) -> Iterator[str]:
    module, _, name = path.rpartition(".")
    if not module:
        similar = nearest(name, (key for kind in _CLASSES.values() for key in dir(kind)))
        if similar:
            yield "the nearest: " + ", ".join(f".{found}" for found in similar)
        return
    kind = _CLASSES.get(module)
    if kind is None:
        yield standing(module, name)
    similar = nearest(name, dir(kind) if kind else sources.names(module))
    if similar:
        yield "the nearest: " + ", ".join(f"{module}.{found}" for found in similar)


def _short(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
