"""Runs a program as `python program.py` does, with `import torch` meaning Lamina."""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any

from lamina.torch_alias.scope import install

__all__ = ["CannotRun", "run_module", "run_script"]


class CannotRun(Exception):
    """There is no such program; the text says what is missing."""


def run_script(path: str, arguments: Sequence[str], is_aliased: bool = True) -> None:
    """Run a file, or the `__main__` of a folder or zip file.

    As under `python path arguments`: `sys.argv`, `sys.path[0]`, the module `__main__` and the
    traceback are the program's own. Whatever it raises is raised, `SystemExit` too. Without
    `is_aliased`, `torch` is PyTorch.

    Raises:
        CannotRun: If there is nothing to run at `path`.
    """
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        spec = PathFinder.find_spec("__main__", [path])
        if spec is None:
            raise CannotRun(f"can't find '__main__' module in {path!r}")
        _start(path, arguments, os.path.abspath(path), is_aliased)
        _run(spec, None)
        return
    absolute = os.path.abspath(path)
    _check_readable(absolute)
    _start(path, arguments, os.path.dirname(os.path.realpath(path)), is_aliased)
    _run(None, SourceFileLoader("__main__", absolute))


def run_module(name: str, arguments: Sequence[str], is_aliased: bool = True) -> None:
    """Run a module by its name, or a package's `__main__`, as under `python -m name arguments`.

    Raises:
        CannotRun: If there is no module of that name.
    """
    _start("-m", arguments, os.getcwd(), is_aliased)
    spec = _spec_of(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _spec_of(f"{name}.__main__")
    if spec is None or spec.loader is None:
        raise CannotRun(f"No module named {name!r}, or it is a package without '__main__'")
    sys.argv[0] = spec.origin or name
    _run(spec, None)


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None


def _check_readable(path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        text = f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}"
        raise CannotRun(text) from None


def _start(name: str, arguments: Sequence[str], folder: str, is_aliased: bool) -> None:
    """Python's state at the start of a program, with Lamina for `torch` unless told otherwise."""
    if is_aliased:
        install()
    sys.argv[:] = [name, *arguments]
    if not sys.flags.safe_path:  # `python -P`
        sys.path[0] = folder


def _run(spec: ModuleSpec | None, loader: SourceFileLoader | None) -> None:
    source: Any = loader or (spec and spec.loader)
    name = spec.name if spec else "__main__"
    main = types.ModuleType("__main__")
    main.__dict__.update(
        __annotations__={},
        __builtins__=__builtins__,
        __cached__=None,
        __file__=loader.path if loader else spec and spec.origin,
        __loader__=source,
        __package__=spec.parent if spec else None,
        __spec__=spec,
    )
    sys.modules["__main__"] = main
    code = None
    try:
        if spec:
            code = source.get_code(name)
        else:  # the program itself is compiled anew and not kept, as Python does it
            code = source.source_to_code(source.get_data(source.path), source.path)
        exec(code, main.__dict__)
    except BaseException as error:
        _show_without_us(error, code)
        raise


def _show_without_us(error: BaseException, code: types.CodeType | None) -> None:
    """Let the traceback that Python is going to print begin in the program, not in Lamina.

    Without any code the program could not be compiled: then the error alone says where.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not code:
        trace = trace.tb_next
    show = sys.excepthook  # the program may have set one of its own

    def show_program(
        kind: type[BaseException], shown: BaseException, whole: types.TracebackType | None
    ) -> None:
        begins = trace if shown is error else whole
        show(kind, shown.with_traceback(begins), begins)

    sys.excepthook = show_program
