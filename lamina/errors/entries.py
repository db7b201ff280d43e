"""The catalogue of errors: what the docstring of each class says, in parts.

A docstring opens with one claim; then come the reason, a program that fails (or warns) and the
program repaired. Programs leave out their first line, which all of them have. What cannot be caused
everywhere says under `Needs:` what it takes.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import dataclass
from typing import Final, final

from .base import Diagnostic, LaminaWarning

FIRST_LINE: Final = "import lamina as torch"

_SECTIONS: Final = re.compile(
    r"(?P<words>.*?)\n(?:Fails|Warns):\n(?P<failing>.*?)\nWorks:\n(?P<repaired>.*?)"
    r"(?:\nNeeds:\n(?P<needs>.*))?",
    re.DOTALL,
)


@final
@dataclass(frozen=True)
class Entry:
    """One error or warning of the catalogue.

    Args:
        kind: Its class.
        claim: What happened, in one sentence.
        reason: Why that is an error, in plain words: paragraphs, each on lines of its own.
        failing: A whole program that meets it.
        repaired: The same program, without the fault.
        needs: What the failing program takes to fail; empty if it fails everywhere.
    """

    kind: type[Diagnostic]
    claim: str
    reason: str
    failing: str
    repaired: str
    needs: str

    @property
    def code(self) -> str:
        """Its code, such as "L201"."""
        return self.kind.code

    @property
    def is_warning(self) -> bool:
        """Whether it is a warning."""
        return issubclass(self.kind, LaminaWarning)

    @property
    def caught_as(self) -> tuple[str, ...]:
        """The builtin classes that also catch it, as PyTorch's programs do."""
        kinds = [base for base in self.kind.__bases__ if not issubclass(base, Diagnostic)]
        return tuple(base.__name__ for base in kinds) or ("UserWarning",)


def entry_of(kind: type[Diagnostic]) -> Entry:
    """The entry of a class.

    >>> from lamina.errors import NotAScalar
    >>> print(entry_of(NotAScalar).failing)
    import lamina as torch
    <BLANKLINE>
    torch.ones(2).item()
    """
    found = _SECTIONS.fullmatch(inspect.getdoc(kind) or "")
    if found is None:
        raise ValueError(f"the docstring of {kind.__name__} is no entry of the catalogue")
    claim, _, reason = found["words"].strip().partition("\n\n")
    return Entry(
        kind,
        claim.replace("\n", " "),
        reason,
        _whole(found["failing"]),
        _whole(found["repaired"]),
        " ".join((found["needs"] or "").split()),
    )


def _whole(program: str) -> str:
    """A program with its first line, as `ruff format` sets them."""
    program = textwrap.dedent(program).strip("\n")
    gap = next((lines for starts, lines in _GAPS.items() if program.startswith(starts)), 1)
    return FIRST_LINE + "\n" * (gap + 1) + program


_GAPS: Final = {("import ", "from "): 0, ("class ", "def ", "@"): 2}
"""How many lines stay empty between the first line and what a program begins with."""
