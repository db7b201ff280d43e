"""`lamina explain`: the catalogue of errors, on the screen and as a page."""

from __future__ import annotations

import difflib
import io
import linecache
import sys
import textwrap
import warnings
from contextlib import redirect_stdout
from typing import Final

from lamina.errors import CODES
from lamina.errors.entries import Entry, entry_of

UNKNOWN: Final = 2
PROGRAM: Final = "<program>"
"""What the programs of the catalogue are called in what they print."""

PAGE_OPENING: Final = """\
# Errors and warnings

Every error and warning of Lamina ends its first line with a code. Here is, for each, a program that
meets it, what that program prints, why it is an error, and the program repaired. `lamina explain
L201` prints an entry. Each class is also the builtin class that PyTorch raises.
"""


def run(asked: str | None) -> int:
    """Print one entry, or the list of all; the exit status is 2 if there is no such entry."""
    if asked is None:
        print("\n".join(_line(entry_of(kind)) for kind in CODES.values()))
        return 0
    names = {kind.__name__.lower(): code for code, kind in CODES.items()}
    code = names.get(asked.lower(), asked.upper())
    if code in CODES:
        print(entry_text(entry_of(CODES[code])))
        return 0
    near = difflib.get_close_matches(asked.lower(), [*names, *map(str.lower, CODES)], 3, 0.5)
    shown = ", ".join(dict.fromkeys(names.get(name, name.upper()) for name in near))
    print(
        f"lamina: no error has the code {asked!r}"
        + (f"; near it: {shown}" if shown else "")
        + "; `lamina explain` lists all",
        file=sys.stderr,
    )
    return UNKNOWN


def _line(entry: Entry) -> str:
    return f"{entry.code:5}  {entry.kind.__name__:24}  {entry.claim}"


def entry_text(entry: Entry) -> str:
    """An entry as the command prints it."""
    parts = [
        f"{entry.code}  {_caught(entry)}",
        textwrap.fill(entry.claim, 96),
        entry.reason,
        f"{_verb(entry)}:",
        textwrap.indent(entry.failing, "    "),
        _needs(entry) or f"It prints:\n\n{textwrap.indent(printed(entry), '    ')}",
        "Repaired:",
        textwrap.indent(entry.repaired, "    "),
    ]
    return "\n\n".join(part for part in parts if part)


def page() -> str:
    """All entries as a page in Markdown."""
    entries = [entry_of(kind) for kind in CODES.values()]
    return PAGE_OPENING + "".join(f"\n{_section(entry)}\n" for entry in entries)


def _section(entry: Entry) -> str:
    parts = [
        f"## {entry.code}: {entry.kind.__name__}",
        f"{entry.claim} ({_caught(entry)}.)",
        entry.reason,
        f"{_verb(entry)}:",
        _fenced(entry.failing, "python"),
        _needs(entry) or f"It prints:\n\n{_fenced(printed(entry), 'text')}",
        "Repaired:",
        _fenced(entry.repaired, "python"),
    ]
    return "\n\n".join(part for part in parts if part)


def _fenced(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


def _verb(entry: Entry) -> str:
    return "This warns" if entry.is_warning else "This fails"


def _caught(entry: Entry) -> str:
    article = "an" if entry.caught_as[0][0] in "AEIO" else "a"
    return f"`{entry.kind.__name__}`, {article} {' and '.join(entry.caught_as)}"


def _needs(entry: Entry) -> str:
    return f"It is not run here, since it takes {entry.needs}." if entry.needs else ""


def printed(entry: Entry) -> str:
    """What the failing program of an entry prints, its error or warning at the end."""
    output, met = outcome(entry.failing)
    return output + "\n".join(f"{type(one).__name__}: {one}" for one in met)


def outcome(program: str) -> tuple[str, list[BaseException]]:
    """Run a program: what it prints, and the warnings and the error that it meets."""
    source = program + "\n"
    linecache.cache[PROGRAM] = (len(source), None, source.splitlines(True), PROGRAM)
    met: list[BaseException] = []
    with redirect_stdout(io.StringIO()) as output, warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        try:
            exec(compile(source, PROGRAM, "exec"), {"__name__": "__main__"})
        except Exception as error:
            # Without the frames, which would keep what the program made until the next collection.
            error.__context__ = None
            met.append(error.with_traceback(None))
    warned = [entry.message for entry in log if isinstance(entry.message, Warning)]
    return output.getvalue(), [*warned, *met]
