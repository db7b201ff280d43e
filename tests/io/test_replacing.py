"""A path leads to a whole file at every moment: the old one or the new one."""

import errno
import os
import stat
import subprocess
import sys

import pytest

import lamina as torch
from lamina.errors import SaveFailed
from lamina.io.replacing import replaced

KILLER = """
import os, signal, sys, time
import lamina as torch

path, seen = sys.argv[1], set()

def save_for_ever():
    values = {k: torch.full((20_000,), float(k)) for k in range(4)}
    while True:
        torch.save(values, path)
        for tensor in values.values():
            tensor += 4

torch.save({k: torch.full((20_000,), float(k)) for k in range(4)}, path)
for moment in range(40):
    child = os.fork()
    if not child:
        save_for_ever()
    time.sleep(0.001 + 0.001 * moment)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = torch.load(path)
    first = {key: tensor[0].item() for key, tensor in found.items()}
    # All of one moment: each number says which storage it is, and how often it was saved.
    assert all(tensor.eq(first[key]).all() for key, tensor in found.items())
    assert {value - key for key, value in first.items()} == {first[0]}
    seen.add(first[0])
print(len(seen))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made by fork")
def test_a_program_that_is_killed_leaves_a_whole_file(tmp_path):
    answer = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path / "a.pt")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(answer.stdout) > 1, "every process was killed before its second file"


@pytest.mark.skipif(sys.platform == "win32", reason="limits are a matter of Unix")
def test_a_file_that_may_not_grow_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(torch.ones(3), path)
    script = (
        "import resource, signal, sys, lamina as torch\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "try:\n"
        "    torch.save(torch.zeros(100_000), sys.argv[1])\n"
        "except torch.errors.SaveFailed as error:\n"
        "    print(error.headline)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert "File too large" in answer.stdout
    assert "what was there before is unchanged" in answer.stdout
    assert torch.load(path).tolist() == [1, 1, 1]
    assert os.listdir(tmp_path) == ["a.pt"]


def written(path, room):
    """Write a file on a disk that is full after so many bytes."""
    with replaced(path) as file:
        for _ in range(50):
            room -= file.write(b"x" * 100)
            if room < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted(path):
    """Begin to write a file, and be interrupted."""
    with replaced(path) as file:
        file.write(b"new")
        raise KeyboardInterrupt


@pytest.mark.parametrize("room", [0, 10, 1000, 4000])
def test_a_full_disk_leaves_the_old_file(tmp_path, room):
    path = tmp_path / "a.pt"
    path.write_text("old")
    with pytest.raises(SaveFailed, match="No space left on device") as caught:
        written(path, room)
    assert "make room" in caught.value.help[0]
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.pt"]


def test_a_value_that_cannot_be_saved_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(torch.ones(2), path)
    with pytest.raises(Exception, match="pickle"):
        torch.save([torch.ones(3), lambda: 1], path)
    assert torch.load(path).tolist() == [1, 1]
    assert os.listdir(tmp_path) == ["a.pt"]


def test_an_interrupt_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.pt"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are a matter of Unix")
def test_permissions_stay_and_new_files_have_the_usual_ones(tmp_path):
    old, new, usual = tmp_path / "old.pt", tmp_path / "new.pt", tmp_path / "usual"
    torch.save(1, old)
    os.chmod(old, 0o640)
    torch.save(2, old)
    torch.save(2, new)
    usual.touch()
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == usual.stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "runs").mkdir()
    real, link = tmp_path / "runs" / "last.pt", tmp_path / "last.pt"
    torch.save(1, real)
    link.symlink_to(real)
    torch.save(2, link)
    assert link.is_symlink()
    assert torch.load(real) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such device")
def test_what_is_no_plain_file_is_written_to():
    torch.save(torch.ones(2), os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        torch.save(1, tmp_path / "nowhere" / "a.pt")
    with pytest.raises(RuntimeError, match="failed writing file"):
        torch.save(1, tmp_path)


def test_a_file_in_the_folder_one_is_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(1, "a.pt")
    assert torch.load("a.pt") == 1
