"""A cache on disk: machine code that was compiled once is only loaded from then on.

An entry is one file, named by its key. It begins with a digest of the key and the content, so a
file that is damaged, cut short or in another's place is noticed. Loading an entry runs it, so it is
read only if nobody else can have written it. Whatever goes wrong here, the code is compiled as if
there were no cache; the logger of this module tells why, at the level of debugging.

`LAMINA_CACHE_DIR` says where entries lie (empty: nowhere), `LAMINA_CACHE=0` switches the cache
off, `LAMINA_CACHE_SIZE` says how many megabytes it may take.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import stat
import sys
import time
from contextlib import suppress
from typing import Final

FORMAT: Final = 1
"""Changes when entries, or what is computed before the text of a module, mean something else."""

_MAGIC: Final = b"lamina machine code\n"
_HEAD: Final = len(_MAGIC) + hashlib.sha256().digest_size
_ENTRY: Final = ".code"
_UNFINISHED: Final = ".part"
_DEFAULT_MEGABYTES: Final = 256
_LONGEST_WRITE: Final = 3600.0
"""Seconds after which a file that nobody finished was left by a writer that is gone."""

_log: Final = logging.getLogger(__name__)


def key_of(*parts: str) -> str:
    """The name of an entry: a digest of all that decides about its content."""
    digest = hashlib.sha256(f"{FORMAT}".encode())
    for part in parts:
        data = part.encode()
        digest.update(b"%d:" % len(data))  # so that no two lists of parts read the same
        digest.update(data)
    return digest.hexdigest()


def find(key: str) -> bytes | None:
    """The content of an entry; None if there is none that can be trusted."""
    folder = folder_of_entries()
    if folder is None or not _is_own_folder(folder):
        return None
    path = os.path.join(folder, key + _ENTRY)
    try:
        data = _read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        _note_once(f"cannot read machine code in {folder}: {error.strerror}")
        return None
    if data is None or data[:_HEAD] != _head(key, data[_HEAD:]):
        _log.debug("removed %s: it is damaged, or not Lamina's", path)
        _remove(path)
        return None
    with suppress(OSError):  # what was used last is removed last
        os.utime(path)
    return data[_HEAD:]


def keep(key: str, content: bytes) -> None:
    """Write an entry, for `find` in this and other processes."""
    folder = folder_of_entries()
    if folder is None or len(content) > size_limit():
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if _is_own_folder(folder):
            _write(folder, key, content)
            if int(key[:8], 16) % 16 == 0:  # seldom, and a matter of chance: keys are digests
                sweep(folder)
    except OSError as error:
        _note_once(f"cannot keep machine code in {folder}: {error.strerror}")


def sweep(folder: str) -> None:
    """Remove what was not used for longest if entries take too much, and what writers left."""
    entries = []
    long_ago = time.time() - _LONGEST_WRITE
    with os.scandir(folder) as found:
        for file in found:
            with suppress(OSError):  # another process may sweep too
                status = file.stat(follow_symlinks=False)
                if file.name.endswith(_ENTRY):
                    entries.append((status.st_mtime_ns, status.st_size, file.path))
                elif file.name.endswith(_UNFINISHED) and status.st_mtime < long_ago:
                    os.unlink(file.path)
    limit, total = size_limit(), sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in sorted(entries):
        if total <= limit * 3 / 4:  # with room for some more, so that this is not due again at once
            break
        _remove(path)
        total -= size


# --- settings ------------------------------------------------------------------------------------


def folder_of_entries() -> str | None:
    """Where entries lie, whether or not the folder is there; None if there is no cache."""
    environment = os.environ
    if environment.get("LAMINA_CACHE", "").strip().lower() in ("0", "off", "no", "false"):
        return None
    chosen = environment.get("LAMINA_CACHE_DIR")
    if chosen is not None:
        return os.path.abspath(os.path.expanduser(chosen)) if chosen else None
    folder = _customary_folder()
    return folder if os.path.isabs(folder) else None  # "~/..." where nobody knows the home


def _customary_folder() -> str:
    if sys.platform == "win32":
        place = os.environ.get("LOCALAPPDATA") or os.path.join("~", "AppData", "Local")
        return os.path.expanduser(os.path.join(place, "lamina", "cache"))
    place = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(place):
        return os.path.join(place, "lamina")
    if os.environ.get("HOME") == "":  # would become the root of the file system
        return ""
    usual = "~/Library/Caches/lamina" if sys.platform == "darwin" else "~/.cache/lamina"
    return os.path.expanduser(usual)


def size_limit() -> int:
    """How many bytes all entries may take together."""
    text = os.environ.get("LAMINA_CACHE_SIZE", "")
    try:
        return int(max(float(text), 0) * 1e6)
    except (ValueError, OverflowError):  # not set; no number; not a finite one
        if text:
            _note_once(f"LAMINA_CACHE_SIZE is {text!r}, which is no number of megabytes")
        return int(_DEFAULT_MEGABYTES * 1e6)


# --- files ---------------------------------------------------------------------------------------


def _is_own_folder(folder: str) -> bool:
    try:
        status = os.stat(folder)
    except OSError:
        return False
    if stat.S_ISDIR(status.st_mode) and _is_own(status):
        return True
    _note_once(f"{folder} is not used: it is no folder of this user that others cannot write to")
    return False


def _is_own(status: os.stat_result) -> bool:
    """Whether only the user can have written a file or folder."""
    if sys.platform == "win32":  # where the lists of who may do what keep others from its folders
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _head(key: str, content: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(key.encode() + content).digest()


def _open_flags(path: str, flags: int, mode: int = 0o600) -> int:
    """Open neither what a link leads to nor, waiting for its other end, a pipe."""
    extra = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags | extra, mode)


def _read(path: str) -> bytes | None:
    """What a file holds; None if somebody else may have written it."""
    with open(path, "rb", opener=_open_flags) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _is_own(status):
            return None
        return file.read() if status.st_size <= size_limit() + _HEAD else None


def _write(folder: str, key: str, content: bytes) -> None:
    """Write an entry so that others see all of it or nothing."""
    path = os.path.join(folder, key + _ENTRY)
    unfinished = f"{path}.{os.getpid()}-{os.urandom(4).hex()}{_UNFINISHED}"
    try:
        with open(unfinished, "xb", opener=_open_flags) as file:
            file.write(_head(key, content))
            file.write(content)
        os.replace(unfinished, path)
    except BaseException:
        _remove(unfinished)
        raise


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


@functools.cache
def _note_once(text: str) -> None:
    _log.debug(text)
