"""The cache on disk gives back what was kept, or nothing."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lamina.codegen import cache

CONTENT = bytes(range(256)) * 20
KEY, OTHER_KEY = cache.key_of("text", "cpu"), cache.key_of("text", "another cpu")
on_posix = pytest.mark.skipif(os.name != "posix", reason="about files of POSIX systems")
as_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root may give files away"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "cache"
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(place))
    monkeypatch.delenv("LAMINA_CACHE", raising=False)
    monkeypatch.delenv("LAMINA_CACHE_SIZE", raising=False)
    return place


@pytest.fixture
def entry(folder):
    cache.keep(KEY, CONTENT)
    (path,) = folder.iterdir()
    return path


def in_process(program, **more):
    """What a program says on its two outputs, run with the cache of this test."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, **more
    )


# --- keys ----------------------------------------------------------------------------------------


def test_each_part_decides_about_a_key():
    keys = {cache.key_of(*parts) for parts in (("a", "b"), ("b", "a"), ("ab",), ("a", "b", ""))}
    assert len(keys) == 4
    assert cache.key_of("a", "b") in keys


def test_a_format_is_part_of_keys(monkeypatch):
    monkeypatch.setattr(cache, "FORMAT", cache.FORMAT + 1)
    assert cache.key_of("text", "cpu") != KEY


# --- what was kept is found ----------------------------------------------------------------------


def test_an_entry_is_found(entry):
    assert cache.find(KEY) == CONTENT
    assert cache.find(OTHER_KEY) is None


@on_posix
def test_entries_are_private(entry):
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(entry.parent.stat().st_mode) == 0o700


def test_an_entry_can_be_kept_again(entry):
    cache.keep(KEY, CONTENT)
    assert list(entry.parent.iterdir()) == [entry]
    assert cache.find(KEY) == CONTENT


@pytest.mark.parametrize("at", [0, 19, 20, 40, 51, 52, 1000, len(CONTENT) + 51])
def test_a_flipped_bit_is_noticed(entry, at):
    data = bytearray(entry.read_bytes())
    data[at] ^= 1
    entry.write_bytes(data)
    assert cache.find(KEY) is None
    assert not entry.exists()


@pytest.mark.parametrize("length", [0, 5, 20, 51, 52, 53, len(CONTENT) + 51])
def test_a_file_that_was_cut_short_is_noticed(entry, length):
    os.truncate(entry, length)
    assert cache.find(KEY) is None
    assert not entry.exists()


def test_a_longer_file_is_noticed(entry):
    with entry.open("ab") as file:
        file.write(b"\0")
    assert cache.find(KEY) is None
    assert not entry.exists()


def test_a_foreign_file_is_noticed(entry):
    entry.write_bytes(b"\x7fELF" + CONTENT)
    assert cache.find(KEY) is None
    assert not entry.exists()


def test_an_entry_under_another_name_is_noticed(entry):
    swapped = entry.with_name(entry.name.replace(KEY, OTHER_KEY))
    entry.rename(swapped)
    assert cache.find(OTHER_KEY) is None
    assert not swapped.exists()


def test_what_was_removed_can_be_kept_again(entry):
    entry.write_bytes(b"")
    assert cache.find(KEY) is None
    cache.keep(KEY, CONTENT)
    assert cache.find(KEY) == CONTENT


# --- whom to trust -------------------------------------------------------------------------------


@on_posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_trusted(entry, mode):
    entry.parent.chmod(mode)
    assert cache.find(KEY) is None
    assert entry.exists()  # it may be somebody's
    cache.keep(OTHER_KEY, CONTENT)
    assert list(entry.parent.iterdir()) == [entry]


@on_posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_to_is_not_trusted(entry, mode):
    entry.chmod(mode)
    assert cache.find(KEY) is None


@as_root
def test_a_folder_of_somebody_else_is_not_trusted(entry):
    os.chown(entry.parent, 12345, 12345)
    assert cache.find(KEY) is None
    cache.keep(OTHER_KEY, CONTENT)
    assert list(entry.parent.iterdir()) == [entry]


@as_root
def test_a_file_of_somebody_else_is_not_trusted(entry):
    os.chown(entry, 12345, 12345)
    assert cache.find(KEY) is None


@on_posix
def test_owners_are_compared_with_the_user_who_runs(entry, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: entry.stat().st_uid + 1)
    assert cache.find(KEY) is None


@on_posix
def test_links_are_not_followed(entry, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)
    assert cache.find(KEY) is None


@on_posix
def test_a_pipe_in_the_place_of_an_entry_does_not_block(entry):
    entry.unlink()
    os.mkfifo(entry, 0o600)
    assert cache.find(KEY) is None


# --- where ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LAMINA_CACHE_DIR": "/a/b", "XDG_CACHE_HOME": "/c"}, "/a/b"),
        ({"LAMINA_CACHE_DIR": "~/b"}, "/home/me/b"),
        ({"LAMINA_CACHE_DIR": ""}, None),
        ({"LAMINA_CACHE_DIR": "/a", "LAMINA_CACHE": "0"}, None),
        ({"LAMINA_CACHE": "off"}, None),
        ({"LAMINA_CACHE": "1", "XDG_CACHE_HOME": "/c"}, "/c/lamina"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/lamina"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/lamina"),
        ({"XDG_CACHE_HOME": ""}, "/home/me/.cache/lamina"),
        ({}, "/home/me/.cache/lamina"),
        ({"HOME": ""}, None),
        ({"HOME": "relative"}, None),
    ],
)
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the places of Linux")
def test_the_environment_says_where(monkeypatch, environment, expected):
    for name in ("LAMINA_CACHE_DIR", "LAMINA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"HOME": "/home/me"} | environment).items():
        monkeypatch.setenv(name, value)
    assert cache.folder_of_entries() == expected


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("darwin", "/home/me/Library/Caches/lamina"),
        ("win32", os.path.join("/local", "lamina", "cache")),
    ],
)
@on_posix
def test_other_systems_have_their_own_places(monkeypatch, platform, expected):
    for name in ("LAMINA_CACHE_DIR", "LAMINA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    monkeypatch.setattr(sys, "platform", platform)
    assert cache.folder_of_entries() == expected


@on_posix
def test_a_user_without_a_home_has_no_cache(monkeypatch):
    import pwd

    def unknown(_):
        raise KeyError

    for name in ("LAMINA_CACHE_DIR", "LAMINA_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert cache.folder_of_entries() is None
    cache.keep(KEY, CONTENT)
    assert cache.find(KEY) is None


def test_switched_off_nothing_is_written(folder, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE", "0")
    cache.keep(KEY, CONTENT)
    assert cache.find(KEY) is None
    assert not folder.exists()


# --- what can go wrong while writing -------------------------------------------------------------


def test_a_file_in_the_place_of_the_folder_is_left_alone(folder):
    folder.write_text("mine")
    cache.keep(KEY, CONTENT)
    assert cache.find(KEY) is None
    assert folder.read_text() == "mine"


def test_a_folder_in_the_place_of_an_entry_is_left_alone(entry):
    entry.unlink()
    entry.mkdir()
    cache.keep(KEY, CONTENT)
    assert cache.find(KEY) is None
    assert list(entry.parent.iterdir()) == [entry]


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EMFILE])
def test_a_folder_that_takes_no_files_is_no_error(folder, monkeypatch, code):
    folder.mkdir(mode=0o700)

    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "open", refuse)
    cache.keep(KEY, CONTENT)
    assert not list(folder.iterdir())


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write_is_no_error(folder):
    folder.mkdir(mode=0o500)
    cache.keep(KEY, CONTENT)
    assert cache.find(KEY) is None


def test_a_folder_that_cannot_be_made_is_no_error(folder, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE_DIR", os.path.join(os.devnull, "cache"))
    cache.keep(KEY, CONTENT)
    assert cache.find(KEY) is None


@on_posix
def test_a_full_disk_leaves_nothing_behind(folder):
    """A limit on the size of files cuts the write short, as a full disk does."""
    done = in_process(
        "import resource; from lamina.codegen import cache\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"cache.keep({KEY!r}, bytes(100_000)); print(cache.find({KEY!r}))"
    )
    assert (done.stdout, done.stderr) == ("None\n", "")
    assert folder.is_dir()
    assert not list(folder.iterdir())


@on_posix
def test_a_killed_writer_leaves_what_nobody_reads(folder):
    done = in_process(
        "import os, signal; from lamina.codegen import cache\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"cache.keep({KEY!r}, bytes(100_000))"
    )
    assert done.returncode == -signal.SIGKILL
    (left,) = folder.iterdir()
    assert cache.find(KEY) is None
    cache.keep(KEY, CONTENT)
    assert cache.find(KEY) == CONTENT
    cache.sweep(folder)
    assert left.exists()  # its writer may still be at work
    long_ago = time.time() - 7200
    os.utime(left, (long_ago, long_ago))
    cache.sweep(folder)
    assert not left.exists()
    assert cache.find(KEY) == CONTENT


def test_processes_write_the_same_entry_at_once(folder):
    """A reader sees nothing, or one whole entry, however many write."""
    program = (
        "import sys; from lamina.codegen import cache\n"
        f"for _ in range(100): cache.keep({KEY!r}, sys.argv[1].encode() * 50_000)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, name]) for name in "abc"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        content = cache.find(KEY)
        seen.add(content if content is None else (content[:1], len(content), len(set(content))))
    assert all(writer.returncode == 0 for writer in writers)
    whole = {(name, 50_000, 1) for name in (b"a", b"b", b"c")}
    assert seen <= {None} | whole
    assert seen & whole
    assert [path.name for path in folder.iterdir()] == [f"{KEY}.code"]


# --- size ----------------------------------------------------------------------------------------


def kept(names, size=100_000):
    keys = [cache.key_of(name) for name in names]
    for age, key in enumerate(keys):
        cache.keep(key, bytes(size))
        path = Path(cache.folder_of_entries(), f"{key}.code")
        used = time.time() - 1000 + age
        os.utime(path, (used, used))
    return keys


def test_what_was_used_last_stays(folder, monkeypatch):
    keys = kept("abcdefgh")
    assert cache.find(keys[0]) is not None  # now the one used last
    monkeypatch.setenv("LAMINA_CACHE_SIZE", "0.45")
    cache.sweep(folder)
    stays = [cache.find(key) is not None for key in keys]
    assert stays == [True, False, False, False, False, False, True, True]


def test_nothing_goes_while_there_is_room(folder, monkeypatch):
    keys = kept("abcd")
    monkeypatch.setenv("LAMINA_CACHE_SIZE", "0.45")
    cache.sweep(folder)
    assert all(cache.find(key) for key in keys)


def test_writing_keeps_to_the_limit(folder, monkeypatch):
    """A sweep comes with about every sixteenth entry: the limit is passed by few at most."""
    monkeypatch.setenv("LAMINA_CACHE_SIZE", "1")
    kept(map(str, range(300)), 10_000)
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert 500_000 < size < 2_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10", 10_000_000), ("0.5", 500_000), ("0", 0), ("-1", 0)]
    + [(text, 256_000_000) for text in ("", "many", "nan", "inf")],
)
def test_the_size_is_given_in_megabytes(monkeypatch, text, expected):
    monkeypatch.setenv("LAMINA_CACHE_SIZE", text)
    assert cache.size_limit() == expected


def test_without_room_nothing_is_kept(folder, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE_SIZE", "0")
    cache.keep(KEY, CONTENT)
    assert cache.find(KEY) is None
