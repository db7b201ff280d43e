"""What the drivers share."""

from __future__ import annotations

import contextlib
import importlib.machinery
import os
import re
import runpy
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

Record = Callable[[Any], None]


def on_path(folder: Path) -> None:
    """Let the program's modules be imported."""
    sys.path.insert(0, str(folder))


def stand_in(*names: str) -> None:
    """Let packages that a program imports, and does not need here, be imported if they are absent.

    What is taken from them can be called and used as a decorator, and does nothing.
    """
    for name in names:
        with contextlib.suppress(ImportError):
            __import__(name)
            continue
        module = MagicMock(name=name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        sys.modules[name] = module
        package, _, last = name.rpartition(".")
        if package in sys.modules:
            setattr(sys.modules[package], last, module)


def first_part(file: Path, until: str) -> types.ModuleType:
    """The definitions of a script, which stand before the line that begins with `until`."""
    text = file.read_text(encoding="utf-8")
    end = re.search(rf"^{re.escape(until)}", text, re.MULTILINE)
    module = types.ModuleType(file.stem)
    sys.modules[file.stem] = module
    module.__file__ = str(file)
    exec(compile(text[: end.start() if end else None], str(file), "exec"), module.__dict__)
    return module


def run_script(file: Path, arguments: list[str], pattern: str, record: Record, cwd: Path) -> None:
    """Run a script as a program, and record the number that `pattern` finds in what it prints."""
    sys.argv = [str(file), *arguments]
    sys.path.insert(0, str(file.parent))
    output = _Lines(re.compile(pattern), record)
    with _working_in(cwd), contextlib.redirect_stdout(output):  # type: ignore[type-var]
        runpy.run_path(str(file), run_name="__main__")


class _Lines:
    """A place to print to, which reads each line when it is complete."""

    def __init__(self, pattern: re.Pattern[str], record: Record) -> None:
        self.pattern, self.record, self.rest = pattern, record, ""

    def write(self, text: str) -> int:
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            if found := self.pattern.search(line):
                self.record(float(found[1]))
        return len(text)

    def flush(self) -> None:
        pass


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def train(optimizer: Any, loss_of: Callable[[], Any], steps: int, record: Record) -> None:
    """Plain training steps: gradients away, loss, backward pass, update."""
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        record(loss.item())
