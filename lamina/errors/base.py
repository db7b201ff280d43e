"""What all errors and warnings have in common: a code, places, help, and the text made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .places import Note, Place, render


class Diagnostic:
    """The shared part of `LaminaError` and `LaminaWarning`.

    Args:
        headline: What happened, in one sentence.
        notes: Pairs of a place (or None) and what happened there, the culprit first.
        help: Repairs, one line each.

    `str()` gives the rendered text; `code`, `headline`, `notes`, `places` and `help` its parts.
    """

    code: ClassVar[str] = ""

    def __init__(self, headline: str, notes: Sequence[Note] = (), help: Sequence[str] = ()) -> None:
        self.headline = headline
        self.notes = tuple(notes) or self._default_notes()
        self.help = (help,) if isinstance(help, str) else tuple(help)
        super().__init__(_text(headline, self.code, self.notes, self.help))  # type: ignore[call-arg]

    def _default_notes(self) -> tuple[Note, ...]:
        """What to show when whoever raises knows no better place."""
        place = _finders[-1]() if _finders else None
        return () if place is None else ((place, "called here"),)

    @property
    def places(self) -> tuple[Place, ...]:
        """The places that the notes speak of, the culprit first."""
        return tuple(note[0] for note in self.notes if note[0] is not None)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's own __reduce__ would hand the rendered text to __init__ as a headline.
        state = {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("headline", "notes", "help")
        }
        return type(self), (self.headline, self.notes, self.help), state or None


class LaminaError(Diagnostic, Exception):
    """Every error that Lamina raises for a mistake in the user's program.

    Raised are its subclasses only, each of which is also the builtin exception that PyTorch
    raises in that situation, so programs written for PyTorch catch what they expect.
    """


# What finds the position in the user's program; `lamina.core.provenance`, which knows how, sets it.
_finders: list[Callable[[], Place | None]] = []


def locate_with(find: Callable[[], Place | None]) -> None:
    """Have errors without a place of their own show the one that `find` gives."""
    _finders[:] = [find]


class LaminaWarning(Diagnostic, UserWarning):
    """Every warning that Lamina gives; pass an instance to `warnings.warn`."""


def _text(headline: str, code: str, notes: Sequence[Note], help: Sequence[str]) -> str:
    """The rendered text, or just the headline: a failure to draw must not hide the error."""
    try:
        return render(headline, code, notes, help)
    except Exception:
        return f"{headline} [{code}]"
