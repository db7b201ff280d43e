"""Hundreds of damaged files: each loads, or raises a documented error, at once and by itself."""

import sys
import time
from collections import Counter

from lamina.errors import FileFormatError, UnsafeFile
from tests.io.fuzzing import hostile_files, outcome, prepare

COUNT = 500
_watched: list[str] = []
_is_watching = False


def _watch(event, arguments):
    if _is_watching and event in ("os.system", "subprocess.Popen", "exec", "os.mkdir", "import"):
        _watched.append(f"{event} {arguments}")


def test_damaged_files_do_no_harm():
    global _is_watching
    files = list(hostile_files(COUNT, seed=1))
    prepare()
    sys.addaudithook(_watch)
    found, slowest = Counter(), 0.0
    for number, content in enumerate(files):
        # An error's text is made of the source around it, which Python may compile: not watched.
        _is_watching = number > 20
        began = time.perf_counter()
        try:
            found[outcome(content, number % 2 == 0)] += 1
        finally:
            _is_watching = False
        slowest = max(slowest, time.perf_counter() - began)
    assert not _watched
    assert slowest < 5
    # The files are various enough to reach each of these.
    assert found[FileFormatError] > COUNT // 4
    assert found[UnsafeFile] > 10
    assert found[None] > 10
