"""Which files are Lamina's own: frames that run them are not the user's program."""

from __future__ import annotations

import contextlib
import copy
import os


def _package_files() -> set[str]:
    """The package's own files, spelled as their code objects spell them."""
    own = _package_files.__code__.co_filename
    folder = os.path.dirname(os.path.dirname(own))
    found = {own}
    try:
        if os.path.isdir(folder):
            waiting = [folder]
            for place in waiting:
                with os.scandir(place) as entries:
                    for entry in entries:
                        if entry.name.endswith(".py"):
                            found.add(entry.path)
                        elif _is_package(entry.name) and entry.is_dir():
                            waiting.append(entry.path)
        else:
            found |= _archived_files(folder)
    except OSError:
        pass  # unreadable: frames of the package may be taken for the user's
    return found


def _is_package(name: str) -> bool:
    return name.isidentifier() and name != "__pycache__"  # which holds most of the entries


def _archived_files(folder: str) -> set[str]:
    """The package's files where it is run from a zip archive."""
    archive = getattr(globals().get("__loader__"), "archive", None)
    if not isinstance(archive, str):
        return set()
    import zipfile  # only ever needed here

    package = os.path.basename(folder) + "/"
    parent = os.path.dirname(folder)
    with zipfile.ZipFile(archive) as names:
        return {
            os.path.join(parent, *name.split("/"))
            for name in names.namelist()
            if name.startswith(package) and name.endswith(".py")
        }


internal_files: set[str] = _package_files()
"""Values of `co_filename` that are not the user's code.

Whoever compiles source of their own adds the file name they give it.
"""

# `copy.deepcopy(t)` and context managers reach tensors through these.
internal_files.update(
    (copy.deepcopy.__code__.co_filename, contextlib.contextmanager.__code__.co_filename)
)
