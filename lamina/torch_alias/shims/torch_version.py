"""The version that `torch` has: that of the PyTorch whose behaviour Lamina follows."""

from __future__ import annotations

import re
from typing import Any, TypeAlias, final

__all__ = ["TorchVersion", "__version__"]

_Key: TypeAlias = tuple[tuple[int, ...], int, str]
_FORM = re.compile(r"\s*v?(\d+(?:\.\d+)*)[-_.]?([a-z]*)[^+]*(?:\+(.*))?$")


def _key(version: Any) -> _Key | None:
    """What versions compare by: numbers, stage (before, at, after the release), local name."""
    if isinstance(version, tuple | list):
        version = ".".join(map(str, version))
    match = _FORM.match(version) if isinstance(version, str) else None
    if match is None:
        return None
    release = [int(number) for number in match[1].split(".")]
    while release and release[-1] == 0:
        release.pop()
    stage = {"": 0, "post": 1}.get(match[2], -1)
    return tuple(release), stage, match[3] or ""


@final
class TorchVersion(str):
    """A version as text, which compares as a version: with text, and with tuples of numbers.

    >>> TorchVersion("2.13.0+lamina") > "2.2", TorchVersion("2.13.0") >= (2, 13)
    (True, True)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        key = _key(other)
        return str.__eq__(self, str(other)) if key is None else _key(self) == key

    def __lt__(self, other: Any) -> bool:
        mine, theirs = _key(self), _key(other)
        return str.__lt__(self, other) if not (mine and theirs) else mine < theirs

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __le__(self, other: Any) -> bool:
        return self < other or self == other

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    __hash__ = str.__hash__


__version__ = TorchVersion("2.13.0+lamina")
