"""The README tells the truth: its Python runs, and prints what the text below it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lamina

README = Path(__file__).parents[1] / "README.md"
# A block of Python, and the block of text after it, if one follows at once.
BLOCK = re.compile(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", re.DOTALL)
# The top of a traceback, whose inner lines the README leaves out.
TRACEBACK = "Traceback (most recent call last):\n  ...\n"


@pytest.mark.parametrize(("code", "shown"), BLOCK.findall(README.read_text(encoding="utf-8")))
def test_example(code, shown, tmp_path):
    (tmp_path / "train.py").write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(lamina.__file__).parents[1])}
    environment.pop("LAMINA_CUDA", None)
    done = subprocess.run(
        [sys.executable, "train.py"], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    printed, failure, error = shown.partition(TRACEBACK)
    assert done.stdout == printed
    if failure:
        assert done.stderr.endswith("\n" + error)
    else:
        assert done.stderr == ""
