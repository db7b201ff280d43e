"""Weights and programs from files that are here; nothing is fetched."""

from __future__ import annotations

import pytest

import lamina
from lamina import hub
from lamina.utils import model_zoo

PROGRAM = '''
dependencies = ["torch", "math"]
import helper_of_this_program

def doubled(x, plus=0):
    """Twice x."""
    return helper_of_this_program.twice(x) + plus

_private = doubled
'''


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_folders", {})
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))


@pytest.fixture
def program(tmp_path):
    (tmp_path / "helper_of_this_program.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "hubconf.py").write_text(PROGRAM)
    return tmp_path


def test_weights_are_read_where_pytorch_keeps_them(tmp_path):
    folder = tmp_path / "home" / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    lamina.save({"w": lamina.ones(2)}, folder / "net-1234.pt")

    found = hub.load_state_dict_from_url("https://example.org/models/net-1234.pt?x=1")

    assert found["w"].tolist() == [1, 1]


def test_weights_are_read_from_paths_and_folders_that_are_given(tmp_path):
    path = tmp_path / "my net.pt"
    lamina.save(lamina.ones(2), path)
    url = "https://example.org/other.pt"

    assert hub.load_state_dict_from_url(str(path)).sum() == 2
    assert hub.load_state_dict_from_url(path.as_uri()).sum() == 2
    assert model_zoo.load_url(url, model_dir=tmp_path, file_name="my net.pt").sum() == 2


def test_nothing_is_fetched(tmp_path):
    with pytest.raises(NotImplementedError, match="does not") as caught:
        hub.load_state_dict_from_url("https://example.org/models/net.pt")
    assert str(tmp_path / "home" / "hub" / "checkpoints" / "net.pt") in str(caught.value)

    for call in (
        lambda: hub.download_url_to_file("https://example.org/x", "x"),
        lambda: hub.load("someone/thing", "model"),
        lambda: hub.list("someone/thing"),
        lambda: hub.help("someone/thing", "model"),
    ):
        with pytest.raises(NotImplementedError, match="from the network"):
            call()


def test_a_program_in_a_folder(program):
    assert hub.load(program, "doubled", 3, plus=1, source="local") == 7
    assert hub.list(program) == ["doubled"]
    assert hub.help(program, "doubled") == "Twice x."


def test_mistakes(program, tmp_path):
    with pytest.raises(ValueError, match='Unknown source: "x"'):
        hub.load(program, "doubled", source="x")
    with pytest.raises(RuntimeError, match="Cannot find callable halved in hubconf"):
        hub.load(program, "halved", source="local")
    with pytest.raises(RuntimeError, match="there is no file"):
        hub.load(tmp_path / "home", "doubled", source="local")
    (program / "hubconf.py").write_text("dependencies = ['no_such_package']")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.load(program, "doubled", source="local")


def test_the_folder_can_be_set(tmp_path):
    assert hub.get_dir() == str(tmp_path / "home" / "hub")
    hub.set_dir("~/elsewhere")
    assert hub.get_dir().endswith("/elsewhere")
    assert "~" not in hub.get_dir()
