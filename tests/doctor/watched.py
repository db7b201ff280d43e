"""Runs programs under the doctor, and prints what it found as JSON: a line for each program.

    python watched.py [--torch] PROGRAM ...

With `--torch` they are programs of the real PyTorch.
"""

import contextlib
import json
import sys
import warnings
from pathlib import Path

from lamina.doctor import Doctor
from lamina.doctor.own_library import OwnLibrary
from lamina.doctor.torch_library import TorchLibrary
from lamina.torch_alias import as_torch


def findings_of(path, is_torch):
    """What the doctor finds in a program, run as it stands."""
    source = Path(path).read_text(encoding="utf-8")
    library = TorchLibrary() if is_torch else OwnLibrary()
    space = {"__name__": "__main__", "__file__": path}  # which lives until the program has ended
    with contextlib.nullcontext() if is_torch else as_torch(), Doctor(library=library) as doctor:
        warnings.filterwarnings("default", category=UserWarning)
        exec(compile(source, path, "exec"), space)
    assert not doctor.failures, doctor.failures
    return [
        {
            "fault": finding.fault.name,
            "lines": [place.line for place, _ in finding.notes if place is not None],
            "help": list(finding.help),
            "text": str(finding),
        }
        for finding in doctor.findings
    ]


def main(words):
    is_torch = words[0] == "--torch"
    for path in words[is_torch:]:
        with contextlib.redirect_stdout(sys.stderr):
            found = findings_of(path, is_torch)
        print(json.dumps([path, found]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
