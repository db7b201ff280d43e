"""Writing a file so that its name always leads to a whole file: the old one, or the new one.

The new file is written beside the old one under another name, is brought to the disk, and takes the
old one's name in one step. A program that is stopped at any moment leaves one of the two, and
perhaps the unfinished file, whose name begins with a dot and ends in `.tmp`.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from lamina.errors import SaveFailed


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write into, which is the one at `path` when the block ends without an error.

    A symbolic link stays one: what it leads to is replaced. The new file has the old one's
    permissions. What is no plain file, such as a pipe, is written to directly.

    Raises:
        SaveFailed: (RuntimeError) If the file cannot be written; the old one is as it was.
    """
    path = os.fspath(path)
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise SaveFailed(
            f"Parent directory {os.path.dirname(path) or folder} does not exist.",
            help=[f"make it first: os.makedirs({os.path.dirname(path)!r}, exist_ok=True)"],
        )
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    try:
        if mode is None or stat.S_ISREG(mode):
            with _beside(target, folder, mode) as file:
                yield file
        else:
            with open(target, "wb") as file:
                yield file
    except OSError as error:
        raise _failed(path, mode, error) from error


@contextmanager
def _beside(target: str, folder: str, mode: int | None) -> Iterator[IO[bytes]]:
    """A new file that takes the name of `target` at the end, with the permissions `mode`."""
    beside = os.path.join(folder, f".{os.path.basename(target)[:200]}.{secrets.token_hex(6)}.tmp")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                os.chmod(beside, stat.S_IMODE(mode))
        os.replace(beside, target)
        _settle_name(folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _settle_name(folder: str) -> None:
    """Bring the folder's list of names to the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _failed(path: Any, mode: int | None, error: OSError) -> SaveFailed:
    kept = "" if mode is None else "; what was there before is unchanged"
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return SaveFailed(
        f"failed writing file {path}: {error.strerror or error}{kept}",
        help=["make room, or save to another place" if is_full else "save to another place"],
    )
