"""The programs that the doctor looks at, and what it says of them."""

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
BROKEN = sorted((HERE / "broken").glob("*.py"))
SOUND = sorted((HERE / "sound").glob("*.py"))


def wanted_fault(path):
    """The fault that a broken program says it has."""
    return re.search(r"# fault: (\w+)", path.read_text(encoding="utf-8")).group(1)


def culprits(path):
    """The lines that are to blame."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if "# culprit" in line}


def all_findings(*options):
    """The findings for each program, from a process in which `torch` means one thing."""
    run = subprocess.run(
        [sys.executable, str(HERE / "watched.py"), *options, *map(str, [*BROKEN, *SOUND])],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return {Path(path): found for path, found in map(json.loads, run.stdout.splitlines())}
