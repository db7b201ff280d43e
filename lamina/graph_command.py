"""`lamina graph`: runs a program and draws the graph that its backward pass goes through."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lamina.errors import LaminaError
from lamina.explain.graphs.drawn import FORMATS, Graph
from lamina.explain.graphs.watching import Enough, PassWatcher
from lamina.torch_alias import running

ON_SCREEN: Final = "-"
NOTHING_TO_DRAW: Final = 1
CANNOT: Final = 2


USAGE: Final = (
    "lamina graph [-o FILE] [--pass WHICH] [--values] [--open] "
    "(program | -m module) [arguments ...]"
)
DESCRIPTION: Final = (
    "Run a program, with `import torch` meaning Lamina, and draw the graph that its backward pass "
    "goes through: tensors and operations with their source, what is kept for backward, and the "
    "pass step by step. Without a backward pass, what was computed last is drawn. These options "
    "may also stand after the program; what follows `--` is the program's own."
)
EXIT: Final = (
    "The exit status is 0 if a graph was written, 1 if there was none, 2 if the program cannot be "
    "run or the file not be written; a program that fails is drawn, and its own status given."
)


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="lamina graph", usage=USAGE, description=DESCRIPTION, epilog=EXIT
    )
    add = parser.add_argument
    add(
        "-o", "--output", metavar="FILE",
        help=f"where to write; the ending says what: {', '.join(FORMATS)}. `-` prints text "
        "(without this option: PROGRAM.graph.html in this folder)",
    )  # fmt: skip
    add(
        "--pass", dest="which", type=_which, default="last", metavar="WHICH",
        help="the backward pass to draw: first, last (as it is without this option), each (every "
        "graph of another form, in files of its own), or a number; after the first, or that "
        "number, the program is stopped",
    )  # fmt: skip
    add(
        "--values", action="store_true",
        help="compute the gradients as well, to show their norms, NaN and zeros",
    )  # fmt: skip
    add("--open", action="store_true", help="open what was written in the browser")
    add(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="module",
        help="a module to run, as in `python -m`",
    )  # fmt: skip
    add("program", nargs=argparse.REMAINDER, help="a program, and its arguments")
    return parser


def _which(text: str) -> str | int:
    if text in ("first", "last", "each"):
        return text
    if text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is neither first, last, each nor a number")


def run(given: Sequence[str]) -> int:
    """Run the command; what the program raises is raised after the graph was written."""
    parser = build_parser()
    options = parser.parse_args(given)
    words = options.module or options.program
    if not words:
        parser.error("which program?")
    as_module = bool(options.module)
    own, arguments = _split(words[1:])
    parser.parse_args(own, namespace=options)
    target = _target(options, words[0])
    if target is None:
        return CANNOT
    stop_at = 1 if options.which == "first" else options.which
    watcher = PassWatcher(stop_at if isinstance(stop_at, int) else None, options.values)
    start = running.run_module if as_module else running.run_script
    try:
        with watcher:
            start(words[0], arguments)
    except running.CannotRun as error:
        _say(str(error))
        return NOTHING_TO_DRAW if as_module else CANNOT
    except Enough:
        return _write(watcher, target, options)
    except BaseException:  # a program that fails is drawn too: its graph may tell why
        _write(watcher, target, options)
        raise
    return _write(watcher, target, options)


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part the words after the program: this command's options, and the program's arguments."""
    own: list[str] = []
    others: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return own, others + waiting
        if word in ("-o", "--output", "--pass"):
            own += [word, *waiting[:1]]
            del waiting[:1]
        elif word in ("--values", "--open") or word.startswith(("--output=", "--pass=")):
            own.append(word)
        else:
            others.append(word)
    return own, others


def _target(options: argparse.Namespace, name: str) -> Path | None:
    """Where to write, found before the program runs, since that may take long."""
    if options.output is None:
        return Path(f"{Path(os.path.abspath(name)).stem}.graph.html").absolute()
    if options.output == ON_SCREEN:
        return Path(ON_SCREEN)
    target = Path(options.output).absolute()  # the program may change its folder
    if target.suffix.lower() not in FORMATS:
        _say(f"{options.output!r} must end in {', '.join(FORMATS)}, or be `-`")
    elif not target.parent.is_dir():
        _say(f"there is no folder {str(target.parent)!r}")
    else:
        return target
    return None


def _write(watcher: PassWatcher, target: Path, options: argparse.Namespace) -> int:
    """Write what was seen, and say what it is."""
    if watcher.problem is not None:
        _say(f"a pass could not be drawn: {watcher.problem}")
    found = watcher.graphs
    if options.which != "each":
        found = found[-1:]
    if isinstance(options.which, int) and watcher.passes < options.which:
        _say(f"there were only {watcher.passes} backward passes; the last one is drawn")
    if found:
        for place, watched in enumerate(found, 1):
            numbered = target if len(found) == 1 else target.with_stem(f"{target.stem}.{place}")
            times = f"; {watched.count} passes went through it" if watched.count > 1 else ""
            if not _put(watched.graph, numbered, f"pass {watched.last}{times}", options):
                return CANNOT
        return 0
    try:
        graph = watcher.newest_in(vars(sys.modules["__main__"]))
    except LaminaError as error:
        _say(str(error))
        return NOTHING_TO_DRAW
    if graph is None:
        _say("nothing to draw: there was no backward pass, and no variable has a graph")
        return NOTHING_TO_DRAW
    return 0 if _put(graph, target, "no pass ran: what was computed last", options) else CANNOT


def _put(graph: Graph, target: Path, remark: str, options: argparse.Namespace) -> bool:
    """Print or save one graph; False if it cannot be."""
    if target == Path(ON_SCREEN):
        _print(graph)
        return True
    try:
        graph.save(target)
    except OSError as error:
        _say(f"cannot write {str(target)!r}: {error.strerror}")
        return False
    shown = os.path.relpath(target) if target.is_relative_to(Path.cwd()) else str(target)
    _say(f"{shown}: the graph of {graph.model.title} ({remark})")
    if options.open:
        webbrowser.open(target.as_uri())
    return True


def _print(graph: Graph) -> None:
    """Text as the terminal can show it."""
    out: Any = sys.stdout
    is_terminal = out.isatty()
    try:
        "▾▸…".encode(out.encoding or "ascii")
        unicode = True
    except UnicodeEncodeError:
        unicode = False
    width = shutil.get_terminal_size((100, 24)).columns
    colour = is_terminal and not os.environ.get("NO_COLOR")
    print(graph.text(width, unicode=unicode, colour=colour), file=out)


def _say(text: str) -> None:
    print(f"lamina: {text}", file=sys.stderr)
