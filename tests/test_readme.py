"""The README tells the truth: its Python runs, and the errors that it shows are the ones raised."""

import builtins
import re
import runpy
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
# A block of Python, and the block of text after it, if one follows at once.
BLOCK = re.compile(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize(("code", "shown"), BLOCK.findall(README.read_text(encoding="utf-8")))
def test_example(code, shown, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(code, encoding="utf-8")
    kind, _, message = shown.partition(": ")
    if not kind.endswith("Error"):
        runpy.run_path(str(script))
        return
    with pytest.raises(getattr(builtins, kind)) as caught:
        runpy.run_path(str(script))
    words = str(caught.value)
    # Line by line, without the margins: the folder of the script makes them wider here.
    for line in message.splitlines():
        said = re.sub(r"^ *(\^+|train\.py:\d+|help:) *", "", line)
        assert said in words
