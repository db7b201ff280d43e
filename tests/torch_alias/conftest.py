"""In these tests `torch` is free: where the real one was imported, it is put aside."""

import sys

import pytest

import lamina


@pytest.fixture
def free(monkeypatch):
    """No module called torch is loaded."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def alias(free):
    """`import torch` means Lamina."""
    with lamina.as_torch():
        yield


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Write the files of a program into a folder of their own; the folder becomes the current."""
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / (name.replace("__in__", "/") + ".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write
