"""`lamina run program.py` does what `python program.py` does."""

import subprocess
import sys
from pathlib import Path

import pytest

import lamina

HOUSE = str(Path(lamina.__file__).parents[1])
STATE = """
import json, sys
print(json.dumps([sys.argv, sys.path[0], __name__, __file__, __package__,
    sys.modules["__main__"].__file__, sorted(globals()), __spec__ and __spec__.name]))
"""


def run(*words, lamina_run=True):
    """(exit status, output, errors) of a program, run by `lamina run` or by Python."""
    start = ["-m", "lamina", "run"] if lamina_run else []
    done = subprocess.run(
        [sys.executable, *start, *words],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": HOUSE, "PATH": ""},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def both(*words):
    ours, pythons = run(*words), run(*words, lamina_run=False)
    assert ours == pythons
    return ours


def test_torch_means_lamina_in_the_program_and_its_modules(program):
    program(
        main="import torch, helper\nprint(helper.double(torch.ones(2)))",
        helper="import torch.nn.functional as F\ndef double(x): return F.relu(x) * 2",
    )
    assert run("main.py") == (0, "tensor([2., 2.])\n", "")


@pytest.mark.parametrize(
    "words",
    [
        ("state.py", "--lr", "3", "--help"),
        ("folder/state.py", "-x"),
        ("-m", "state", "-m", "--missing"),
        ("-m", "package.state", "a"),
        ("-m", "package"),
        ("package",),
    ],
    ids=" ".join,
)
def test_the_program_sees_what_it_would_see_under_python(program, words):
    program(
        state=STATE,
        folder__in__state=STATE,
        package__in____init__="",
        package__in__state=STATE,
        package__in____main__=STATE,
    )
    status, output, _ = both(*words)
    assert status == 0
    assert output


@pytest.mark.parametrize(
    "end",
    ["", "sys.exit()", "sys.exit(3)", "sys.exit('words')", "raise KeyboardInterrupt", "1 / 0",
     "import broken", "raise SystemExit(True)", "sys.excepthook = print; 1 / 0",
     "import atexit; atexit.register(print, 'last'); 1 / 0",
     "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('second') from e"],
)  # fmt: skip
def test_the_end_of_a_program_is_pythons(program, end):
    program(
        main=f"import sys\nprint(1)\ndef f():\n    g()\ndef g():\n    pass\n{end}", broken="x = ="
    )
    ours, pythons = run("main.py"), run("main.py", lamina_run=False)
    if "excepthook" in end:  # the traceback's address is printed
        ours, pythons = ours[0::2], pythons[0::2]
    assert ours == pythons


def test_a_program_that_is_no_python_is_shown_as_python_shows_it(program):
    program(main="x = 1\ny = = 2\n")
    assert both("main.py")[0] == 1


def test_an_error_in_a_module_shows_the_programs_frames_alone(program):
    program(main="import helper\nhelper.f()", helper="import torch\ndef f():\n    torch.nope()")
    status, _, text = run("main.py")
    assert status == 1
    assert text.startswith('Traceback (most recent call last):\n  File "')
    assert text.splitlines()[1].endswith('main.py", line 2, in <module>')
    assert "module 'torch' has no attribute 'nope' [L911]" in text
    assert "helper.py:3   torch.nope()" in text


@pytest.mark.parametrize(
    ("words", "status", "phrase"),
    [
        (("none.py",), 2, "lamina: can't open file"),
        (("empty",), 2, "lamina: can't find '__main__' module in 'empty'"),
        (("-m", "no_such_module"), 1, "lamina: No module named 'no_such_module'"),
        ((), 2, "which program?"),
    ],
)
def test_what_is_no_program_is_said(program, words, status, phrase):
    program(empty__in__file="")
    done = run(*words)
    assert (done[0], done[1]) == (status, "")
    assert phrase in done[2]


def test_help_is_laminas_before_the_program_and_its_own_after(program):
    program(main="import sys\nprint(sys.argv)")
    assert run("--help")[1].startswith("usage: lamina run")
    assert run("main.py", "--help")[1] == "['main.py', '--help']\n"
