"""The page on adding an op is true: its statements declare ops whose derivatives are right."""

import os
import re
import subprocess
import sys
from pathlib import Path

import lamina

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
CHECKS = """
import lamina
from lamina.autograd import gradcheck, gradgradcheck

def numbers(*shape):
    return lamina.rand(*shape, dtype=lamina.float64).requires_grad_()

for check in (gradcheck, gradgradcheck):
    assert check(log_cosh, numbers(3, 4))
    assert check(weighted_sum, (numbers(3, 4), numbers(4)))
    assert check(lambda x, w: weighted_sum(x, w, dim=0), (numbers(3, 4), numbers(3, 1)))
assert lamina.tensor([1000.0]).log_cosh_().isfinite().all()
"""


def test_the_ops_on_the_page(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n".join([*blocks, CHECKS]), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(lamina.__file__).parents[1])}
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
