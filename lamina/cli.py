"""The command line: `lamina run`, `doctor`, `explain`, `graph`, `demo` and `bench`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lamina
from lamina.demo import show_leaf_rules, show_training
from lamina.demo.screen import Screen


def build_parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(
        prog="lamina", description="PyTorch's tensors and autograd, small, and able to say why."
    )
    parser.add_argument("--version", action="version", version=f"lamina {lamina.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    _add_run(commands)
    commands.add_parser("graph", help="run a program and draw what its backward pass goes through")
    demo = commands.add_parser(
        "demo",
        help="show the leaf rules, then train a classifier on handwritten digits",
        description="Show the leaf rules, train a classifier on handwritten digits, and show where "
        "every gradient went.",
    )
    demo.add_argument(
        "--part", choices=("leaves", "training", "all"), default="all", help="what to show"
    )
    demo.set_defaults(run=_demo)
    _add_doctor(commands)
    _add_explain(commands)
    _add_bench(commands)
    return parser


def _add_run(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="run a program for PyTorch: `import torch` means Lamina in it",
        description="Run a program as `python` does, with `import torch` meaning Lamina.",
        usage="lamina run [--missing] (program [arguments ...] | -m module [arguments ...])",
    )
    parser.add_argument(
        "--missing",
        action="store_true",
        help="run nothing: list what the program, and what it imports from its own folder, uses "
        "that Lamina lacks; the exit status is 1 if something certainly is",
    )
    _add_program(parser)
    parser.set_defaults(run=_run, parser=parser)


def _add_doctor(commands: Any) -> None:
    parser = commands.add_parser(
        "doctor",
        help="run a training program, and report what is wrong with it",
        description="Run a program as `lamina run` does, and report parameters that get no "
        "gradient, gradients that are never cleared or not finite, graphs that are carried from "
        "step to step, and more of the kind: at once, and once more at the end.",
        usage="lamina doctor [--torch] [--strict] (program [arguments ...] | -m module ...)",
    )
    add = parser.add_argument
    add("--torch", action="store_true", help="let `torch` be the real PyTorch, and watch that")
    add("--strict", action="store_true", help="let the exit status be 1 if anything is found")
    _add_program(parser)
    parser.set_defaults(run=_doctor, parser=parser)


def _add_explain(commands: Any) -> None:
    parser = commands.add_parser(
        "explain",
        help="say what the code of an error means: a program that fails, why, and its repair",
        description="Show a program that meets an error, what it prints, why that is an error, and "
        "the program repaired. Without a code, all codes are listed.",
    )
    parser.add_argument("code", nargs="?", help="a code such as L201, or the name of the class")
    parser.set_defaults(run=_explain)


def _add_program(parser: argparse.ArgumentParser) -> None:
    """The program that a command runs, with its arguments."""
    parser.add_argument(
        "-m",
        dest="module",
        nargs=argparse.REMAINDER,
        metavar="module",
        help="a module to run, as in `python -m`",
    )
    parser.add_argument(
        "program", nargs=argparse.REMAINDER, help="a file, or a folder with a `__main__.py`"
    )


def _add_bench(commands: Any) -> None:
    parser = commands.add_parser(
        "bench",
        help="time Lamina, eager and compiled, beside PyTorch where that is installed",
        description="Time training steps and single operations: Lamina's, eager and compiled, and "
        "PyTorch's where that is installed. Results are compared first; then the libraries, each "
        "in a process of its own, take turns.",
    )
    add = parser.add_argument
    add("--only", metavar="NAMES", help="only these workloads, with commas between")
    add("--list", action="store_true", help="list the workloads and stop")
    add("--memory", action="store_true", help="also measure the memory of each (on Linux)")
    add("--threads", type=_count, metavar="N", help="threads of each library (one for each core)")
    add("--rounds", type=_count, default=5, metavar="N", help="turns of each library (5)")
    add("--json", type=Path, metavar="FILE", help="write every sample into this file too")
    parser.set_defaults(run=_bench)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def _run(options: argparse.Namespace) -> int:
    from lamina.torch_alias import missing, running  # only this command needs them

    words = options.module or options.program
    if not words:
        options.parser.error("which program?")
    as_module = bool(options.module)
    try:
        if options.missing:
            return missing.command(words[0], as_module)
        run = running.run_module if as_module else running.run_script
        run(words[0], words[1:])
    except running.CannotRun as error:
        print(f"lamina: {error}", file=sys.stderr)
        return 1 if as_module else 2
    return 0


def _graph(words: Sequence[str]) -> int:
    from lamina import graph_command  # only this command needs it

    return graph_command.run(words)


def _doctor(options: argparse.Namespace) -> int:
    from lamina.doctor import command  # only this command needs them
    from lamina.torch_alias import running

    words = options.module or options.program
    if not words:
        options.parser.error("which program?")
    start = running.run_module if options.module else running.run_script
    try:
        return command.watch(
            lambda: start(words[0], words[1:], not options.torch), options.torch, options.strict
        )
    except running.CannotRun as error:
        print(f"lamina: {error}", file=sys.stderr)
        return 2


def _explain(options: argparse.Namespace) -> int:
    from lamina import explain_command  # only this command needs it

    return explain_command.run(options.code)


def _bench(options: argparse.Namespace) -> int:
    from lamina.bench import command  # only this command needs it

    return command.run(options)


def _demo(options: argparse.Namespace) -> int:
    screen = Screen()
    if options.part in ("leaves", "all"):
        show_leaf_rules(screen)
    if options.part in ("training", "all") and not show_training(screen):
        return 1
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0 if it did what it promises."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["graph"]:  # it has a parser of its own, for options after the program
        return _graph(words[1:])
    options = build_parser().parse_args(words)
    if options.run in (_run, _doctor):  # what the program raises is the program's own affair
        return int(options.run(options))
    try:
        status: int = options.run(options)
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
