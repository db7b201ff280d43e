"""Event files: what was written stands in them. They are read by the format's own description."""

from __future__ import annotations

import builtins
import importlib
import struct
import sys
import time
import zlib

import numpy as np
import pytest

import lamina
from lamina import nn

pytest.importorskip("tensorboardX")

from lamina.utils.tensorboard import SummaryWriter
from lamina.utils.tensorboard.images import grid, png


def events(folder):
    """All events below a folder. A record: its length, a checksum, the data, a checksum."""
    kind = importlib.import_module("tensorboardX.proto.event_pb2").Event
    found = []
    for path in sorted(folder.rglob("*tfevents*")):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            found.append(kind.FromString(data[12 : 12 + length]))
            data = data[16 + length :]
    return found


def values(folder):
    """The values of all events by tag, with their steps."""
    return {value.tag: (event.step, value) for event in events(folder)
            for value in event.summary.value}  # fmt: skip


def decoded(data):
    """The numbers of a PNG file whose rows have no filter."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    parts, data = {}, data[8:]
    while data:
        (length,) = struct.unpack(">I", data[:4])
        name, content = data[4:8], data[8 : 8 + length]
        assert struct.unpack(">I", data[8 + length : 12 + length])[0] == zlib.crc32(name + content)
        parts[name] = content
        data = data[12 + length :]
    width, height, depth, colour = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    assert depth == 8
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


def test_numbers(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("plain", 0.25, 3)
        writer.add_scalar("tensor", lamina.tensor([2.5], requires_grad=True), lamina.tensor(4))
        writer.add_scalar("half", lamina.tensor(1.5, dtype=lamina.float16), walltime=12.0)

    found = values(tmp_path)

    assert [(step, value.simple_value) for step, value in found.values()] == [
        (3, 0.25), (4, 2.5), (0, 1.5),
    ]  # fmt: skip
    assert [e.wall_time for e in events(tmp_path) if e.summary.value][-1] == 12.0


def test_numbers_of_one_diagram(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("loss", {"train": lamina.tensor(0.5), "test": 1}, 2)

    folders = {path.parent.name: path.parent for path in tmp_path.rglob("*tfevents*")}

    assert values(folders["loss_train"])["loss"][1].simple_value == 0.5
    assert values(folders["loss_test"])["loss"][1].simple_value == 1


def test_a_histogram(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("weights", lamina.arange(10.0).reshape(2, 5), 1)

    histogram = values(tmp_path)["weights"][1].histo

    assert (histogram.num, histogram.min, histogram.max) == (10, 0, 9)
    assert (histogram.sum, histogram.sum_squares) == (45, 285)
    assert sum(histogram.bucket) == 10


def test_pictures(tmp_path):
    picture = lamina.arange(24, dtype=lamina.uint8).reshape(3, 2, 4)
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("bytes", picture, 5)
        writer.add_image("fractions", lamina.tensor([[0.0, 0.5], [1.0, 2.0]]), dataformats="HW")
        writer.add_images("many", lamina.ones(9, 1, 2, 3))

    found = {tag: value.image for tag, (_, value) in values(tmp_path).items()}

    assert (found["bytes"].height, found["bytes"].width, found["bytes"].colorspace) == (2, 4, 3)
    assert np.array_equal(
        decoded(found["bytes"].encoded_image_string), picture.numpy().transpose(1, 2, 0)
    )
    fractions = decoded(found["fractions"].encoded_image_string)
    assert fractions[..., 0].tolist() == [
        [0, 127],
        [255] * 2,
    ]
    many = decoded(found["many"].encoded_image_string)
    assert many.shape == (4, 24, 3)
    assert many[2:, 3:].max() == 0
    assert many[:, :3].min() == 255


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_png_holds_its_pixels(channels):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, channels), np.uint8)

    assert np.array_equal(decoded(png(image)), image)


def test_a_grid_is_filled_row_by_row():
    images = np.arange(10, dtype=np.uint8).reshape(10, 1, 1, 1)

    assert grid(images)[..., 0].tolist() == [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 0, 0, 0, 0, 0, 0]]


def test_words(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("note", "*hello*", 1)

    (value,) = (value for tag, (_, value) in values(tmp_path).items() if tag.startswith("note"))

    assert value.tensor.string_val == [b"*hello*"]


def test_settings_and_results(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(
            {"lr": 0.1, "layers": lamina.tensor(3)}, {"accuracy": lamina.tensor(0.75)}, run_name="a"
        )

    found = values(tmp_path / "a")

    assert found["accuracy"][1].simple_value == 0.75
    assert "_hparams_/session_start_info" in found


def test_a_graph_of_recorded_operations(tmp_path):
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, lamina.ones(1, 2))

    (data,) = (event.graph_def for event in events(tmp_path) if event.graph_def)
    graph = importlib.import_module("tensorboardX.proto.graph_pb2").GraphDef.FromString(data)
    inputs = {node.name: list(node.input) for node in graph.node}

    assert inputs["output/0"] == ["TanhBackward0_0"]
    reached, waiting = set(), ["output/0"]
    while waiting:
        reached.add(waiting[-1])
        waiting += inputs[waiting.pop()]
    assert {"parameters/0/weight", "parameters/0/bias"} <= reached == inputs.keys()


def test_curves_and_meshes_take_tensors(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("curve", lamina.tensor([0, 1, 1]), lamina.tensor([0.1, 0.9, 0.4]))
        writer.add_mesh("mesh", lamina.zeros(1, 4, 3))

    assert {"curve", "mesh_1"} <= values(tmp_path).keys()


def test_what_waits_is_written_by_flush(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("x", 1)
    writer.flush()

    assert values(tmp_path)["x"][1].simple_value == 1
    assert writer.get_logdir() == writer.log_dir == str(tmp_path)
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="is closed"):
        writer.add_scalar("x", 1)


def test_what_waits_is_written_after_some_seconds(tmp_path):
    writer = SummaryWriter(tmp_path, flush_secs=0.05)
    writer.add_scalar("x", 1)
    end = time.monotonic() + 5
    while "x" not in values(tmp_path) and time.monotonic() < end:
        time.sleep(0.02)

    assert "x" in values(tmp_path)
    writer.close()


def test_a_run_that_is_taken_up_again_says_from_where(tmp_path):
    SummaryWriter(tmp_path, purge_step=7).close()

    assert [(event.step, event.session_log.status) for event in events(tmp_path)][1] == (7, 1)


def test_without_a_folder_the_time_names_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_here") as writer:
        writer.add_scalar("x", 1)

    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("_here")
    assert "x" in values(folder)


def test_mistakes(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(AssertionError, match="scalar should be 0D: `x` has the shape"):
            writer.add_scalar("x", lamina.ones(2))
        with pytest.raises(AssertionError, match="tensor and input format are different"):
            writer.add_image("x", lamina.ones(2, 2))
        with pytest.raises(NotImplementedError, match="add_figure"):
            writer.add_embedding(lamina.eye(3))
        with pytest.raises(TypeError, match="should be dictionary"):
            writer.add_hparams([], {})


def test_without_the_package_the_extra_is_named(monkeypatch):
    names = [n for n in sys.modules if n.startswith(("tensorboardX", "lamina.utils.tensorboard"))]
    for name in names:
        monkeypatch.delitem(sys.modules, name)
    plain = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("tensorboardX"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return plain(name, *args, **kwargs)

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "tensorboardX":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])

    with pytest.raises(ImportError, match=r"pip install lamina\[tensorboard\]"):
        importlib.import_module("lamina.utils.tensorboard")
