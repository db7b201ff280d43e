"""`lamina run --missing` reads a program and lists what Lamina lacks of what it uses."""

import pytest

from lamina import cli


@pytest.fixture
def report(program, capsys):
    """(exit status, output, errors) for a program of the given files, the first one run."""

    def ask(*words, **files):
        program(**files)
        status = cli.main(["run", "--missing", *(words or (f"{next(iter(files))}.py",))])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return ask


def missing(text):
    """The names in the first part of a report, with the places of each."""
    _, _, part = text.partition("missing:\n")
    lines = part.partition("\n\n")[0].splitlines()
    return dict(
        line.split(maxsplit=1) for line in lines if line.startswith("  ") and line[2] != " "
    )


@pytest.mark.parametrize(
    ("program_text", "names"),
    [
        ("import torch\ntorch.nope(1)", {"torch.nope": "main.py:2"}),
        ("import torch as t\nt.nn.Nope()\nt.nn.Nope", {"torch.nn.Nope": "main.py:2, main.py:3"}),
        ("import torch.nn.functional as F\nx = F.nope", {"torch.nn.functional.nope": "main.py:2"}),
        ("from torch import nn as n\nn.nope.more()", {"torch.nn.nope": "main.py:2"}),
        ("from torch.nn import (\n  Linear,\n  Nope)", {"torch.nn.Nope": "main.py:1"}),
        ("import torch.nope", {"torch.nope": "main.py:1"}),
        ("import torch\nnn = torch.nn\nnn.Nope()", {"torch.nn.Nope": "main.py:3"}),
        ("def f():\n  import torch\n  return torch.nope", {"torch.nope": "main.py:3"}),
        ("import torch\nclass N(torch.nn.Nope):\n  pass", {"torch.nn.Nope": "main.py:2"}),
        ("import torch\n@torch.nope\ndef f(x=torch.nope2): pass",
         {"torch.nope": "main.py:2", "torch.nope2": "main.py:3"}),
        ("import torch\n(torch\n .ones(2)\n .exp(torch.nope))", {"torch.nope": "main.py:4"}),
        ("import torch\ntorch.ones(2).relu()\ntorch.float32.itemsize", {}),
        ("from torch.optim.adamw import AdamW\nfrom torch.nn.modules.utils import _pair", {}),
        ("def f(torch):\n  return torch.nope", {}),
        ("import numpy as torch\ntorch.nope", {}),
        ("torch = 1\ntorch.nope", {}),
        ("from torch import *\nnope()", {}),
    ],
)  # fmt: skip
def test_certain_names(report, program_text, names):
    status, text, error = report(main=program_text)
    assert missing(text) == names
    assert (status, error) == (1 if names else 0, "")


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntry:\n  torch.nope()\nexcept AttributeError:\n  pass",
        "try:\n  from torch import nope\nexcept (ImportError, OSError):\n  nope = None",
        "import torch\nif hasattr(torch, 'nope'):\n  torch.nope()",
        "import torch\nx = torch.nope if hasattr(torch, 'nope') else 1",
        "from torch.distributed.fsdp import Anything",
    ],
)
def test_what_a_program_guards_is_only_perhaps_missing(report, text):
    status, shown, _ = report(main=text)
    assert status == 0
    assert "perhaps" in shown
    assert ": 0 missing, 1 maybe" in shown


def test_an_else_branch_is_not_guarded(report):
    text = "import torch\ntry:\n  pass\nexcept ImportError:\n  torch.nope()"
    assert report(main=text)[0] == 1


def test_methods_are_perhaps_missing_by_their_name(report):
    status, shown, _ = report(main="def f(x, n):\n  x.to_mkldnn()\n  n.update()\n  x.values()\n")
    assert status == 0
    assert "  .to_mkldnn   main.py:2" in shown
    assert ": 0 missing, 1 maybe" in shown


def test_a_method_of_the_programs_own_is_not_reported(report):
    text = "class A:\n  def to_mkldnn(self): pass\nA().to_mkldnn()"
    assert ": 0 missing, 0 maybe" in report(main=text)[1]


def test_modules_of_the_programs_folder_are_read_too(report):
    status, shown, _ = report(
        main="import helper\nfrom package import part\nimport json",
        helper="import torch\ntorch.nope",
        package__in____init__="from . import other",
        package__in__part="from .other import x\nfrom ..outside import y",
        package__in__other="import torch\nx = torch.nope2",
        unused="import torch\ntorch.nope3",
    )
    assert missing(shown) == {"torch.nope": "helper.py:2", "torch.nope2": "package/other.py:2"}
    assert status == 1
    assert "in 5 files" in shown


def test_a_module_can_be_asked_about(report):
    status, shown, _ = report(
        "-m", "package.tool",
        main="",
        package__in____init__="",
        package__in__tool="from . import part",
        package__in__part="import torch\ntorch.nope",
    )  # fmt: skip
    assert status == 1
    assert missing(shown) == {"torch.nope": "package/part.py:2"}


def test_nothing_is_run(report):
    assert report(main="import sys\nprint('ran')\nsys.exit(5)\n")[:2] == (
        0,
        "0 names of torch in 1 files: 0 missing, 0 maybe\n",
    )


def test_the_nearest_names_are_named(report):
    assert "the nearest: torch.matmul" in report(main="import torch\ntorch.matmull")[1]


def test_many_places_are_counted(report):
    shown = report(main="import torch\n" + "torch.nope\n" * 9)[1]
    assert missing(shown)["torch.nope"].endswith("main.py:7 and 3 more")


@pytest.mark.parametrize(
    ("words", "files", "phrase"),
    [
        (("none.py",), {}, "there is no program 'none.py'"),
        (("-m", "none"), {}, "there is no program 'none'"),
        (("bad.py",), {"bad": "x = ="}, "bad.py:1 is not Python"),
    ],
)
def test_what_cannot_be_read_is_said(report, words, files, phrase):
    status, shown, error = report(*words, **files)
    assert (status, shown) == (2, "")
    assert phrase in error
