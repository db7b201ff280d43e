"""The command line: `lamina demo`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

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
    demo = commands.add_parser(
        "demo",
        help="show the leaf rules, then train a classifier on handwritten digits",
        description="Show the leaf rules, train a classifier on handwritten digits, and show where "
        "every gradient went.",
    )
    demo.add_argument(
        "--part", choices=("leaves", "training", "all"), default="all", help="what to show"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0 if it did what it promises."""
    options = build_parser().parse_args(arguments)
    screen = Screen()
    try:
        if options.part in ("leaves", "all"):
            show_leaf_rules(screen)
        if options.part in ("training", "all") and not show_training(screen):
            return 1
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
        sys.stderr.close()
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
