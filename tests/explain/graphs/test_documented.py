"""docs/graph.md shows what its program prints, and the picture that the program draws."""

import os
import re
import subprocess
import sys
from pathlib import Path

import lamina

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_of_the_documentation(tmp_path):
    text = (DOCS / "graph.md").read_text(encoding="utf-8")
    code, shown = re.search(r"```python\n(.*?)```\s*```text\n(.*?)```", text, re.DOTALL).groups()
    (tmp_path / "train.py").write_text(code + 'loss.graph().save("graph.svg")\n', encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(lamina.__file__).parents[1])}
    environment["COLUMNS"] = "100"
    done = subprocess.run(
        [sys.executable, "train.py"], capture_output=True, text=True, cwd=tmp_path,
        env=environment, check=True,
    )  # fmt: skip
    assert done.stdout == shown
    assert (tmp_path / "graph.svg").read_text() == (DOCS / "graph.svg").read_text()
