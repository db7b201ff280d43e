"""A graph as users hold it: it prints, saves, and shows itself in a notebook."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, final

from lamina.errors import InvalidArgument
from lamina.explain.graphs.model import GraphModel
from lamina.explain.graphs.page import framed, page_of
from lamina.explain.graphs.svg import svg_of
from lamina.explain.graphs.text import text_of


@final
class Graph:
    """What a tensor was computed from, and what a backward pass does there.

    Made by `tensor.graph()` and `lamina.explain.graph(...)`. Printed, it is a table of operations
    and the steps of the pass; `save` writes a page, a picture, text or data.

    Attributes:
        model: All that is known, as plain records (`lamina.explain.graphs.model`).
    """

    def __init__(self, model: GraphModel) -> None:
        self.model = model

    def html(self) -> str:
        """The page: one HTML file that needs nothing else and asks the network for nothing."""
        return page_of(self.model)

    def svg(self) -> str:
        """A static picture."""
        return svg_of(self.model)

    def text(self, width: int = 100, *, unicode: bool = True, colour: bool = False) -> str:
        """A table and the steps of the backward pass.

        Args:
            width: How many columns there are.
            unicode: Whether signs beyond ASCII may be used.
            colour: Whether to set headings off by a terminal's own means.
        """
        return text_of(self.model, width, unicode=unicode, colour=colour)

    def json(self) -> str:
        """All of `model`, as JSON. What is not finite is written as text, such as "nan"."""
        return json.dumps(_finite(self.model.as_json()), ensure_ascii=False, indent=1) + "\n"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file whose ending says what it is: .html, .svg, .txt or .json.

        The file is there whole or not at all: it is written under another name, then renamed.

        Args:
            path: Where to write; an existing file is replaced.

        Returns:
            The path.

        Raises:
            InvalidArgument: For another ending.
            OSError: Where the file cannot be written.

        >>> import lamina, tempfile
        >>> x = lamina.ones(2, requires_grad=True)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     (x * x).sum().graph().save(f"{folder}/x.svg").name
        'x.svg'
        """
        target = Path(path)
        writer = FORMATS.get(target.suffix.lower())
        if writer is None:
            raise InvalidArgument(
                f"a graph cannot be saved as {target.name!r}: its ending says no known form",
                help=["end the name in " + ", ".join(FORMATS)],
            )
        write_whole(target, writer(self))
        return target

    def __str__(self) -> str:
        return self.text(shutil.get_terminal_size((100, 24)).columns)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The page in a frame: what a notebook shows."""
        return framed(self.html())


FORMATS: Final[dict[str, Callable[[Graph], str]]] = {
    ".html": Graph.html,
    ".svg": Graph.svg,
    ".txt": lambda graph: graph.text() + "\n",
    ".json": Graph.json,
}
"""The forms in which a graph is saved, by the ending of the file's name."""


def write_whole(target: Path, text: str) -> None:
    """Write a file so that nobody ever sees a part of it."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    """The permissions that new files do not get; it can only be read by setting it."""
    current = os.umask(0o077)
    os.umask(current)
    return current


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float) and value - value != 0:
        return str(value)
    return value
