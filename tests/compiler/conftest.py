"""Tests of programs are of programs, however small what they compute."""

import pytest

from lamina.compiler import program


@pytest.fixture(autouse=True)
def programs_always_run(request, monkeypatch):
    """Also those of single operations, which would run as they are written."""
    if request.module.__name__.rpartition(".")[2] != "test_worth":
        monkeypatch.setattr(program, "is_worth_it", lambda recording: True)
