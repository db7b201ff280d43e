"""Files in the safetensors format, both ways with the package itself."""

import numpy as np
import pytest

import lamina as torch
from lamina.errors import DataMismatch, FileFormatError, InvalidValue, MissingExtra, NotSupported
from lamina.io import load_safetensors, safetensors, save_safetensors

package = pytest.importorskip("safetensors")
numpy_part = pytest.importorskip("safetensors.numpy")

KINDS = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32"]
KINDS += ["uint16", "uint8", "bool", "complex64"]
EXTENDED = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]


def test_the_package_reads_what_is_written(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {kind: torch.tensor([[0, 1, 1]]).to(getattr(torch, kind)) for kind in KINDS}
    save_safetensors({**tensors, "empty": torch.empty(0, 3), "number": torch.tensor(2.5)}, path)
    found = numpy_part.load_file(path)
    for kind in KINDS:
        assert found[kind].dtype == np.dtype(kind)
        assert found[kind].tolist() == [[0, 1, 1]]
    assert found["empty"].shape == (0, 3)
    assert found["number"].item() == 2.5


def test_what_the_package_wrote_is_read(tmp_path):
    path = tmp_path / "a.safetensors"
    arrays = {kind: np.array([[0, 1, 1]]).astype(kind) for kind in KINDS}
    numpy_part.save_file({**arrays, "number": np.array(2.5)}, path, {"epoch": "3"})
    found = load_safetensors(path)
    for kind in KINDS:
        assert found[kind].dtype is getattr(torch, kind)
        assert found[kind].tolist() == [[0, 1, 1]]
    assert found["number"].item() == 2.5
    assert safetensors.load_metadata(path) == {"epoch": "3"}


@pytest.mark.parametrize("kind", EXTENDED)
def test_types_that_numpy_lacks(tmp_path, kind):
    pytest.importorskip("ml_dtypes")
    path = tmp_path / "a.safetensors"
    save_safetensors({"x": torch.tensor([0.0, 1.5]).to(getattr(torch, kind))}, path)
    found = load_safetensors(path)["x"]
    assert found.dtype is getattr(torch, kind)
    assert found.float().tolist() == [0, 1.5]


def test_load_reads_it_too(tmp_path):
    path = tmp_path / "a.safetensors"
    save_safetensors({"x": torch.ones(2)}, path)
    assert torch.load(path)["x"].tolist() == [1, 1]
    assert torch.load(str(path), map_location="cpu")["x"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="callable map_location"):
        torch.load(path, map_location=lambda storage, location: storage)


def test_bytes_instead_of_files():
    content = safetensors.save({"x": torch.arange(3)}, {"a": "b"})
    assert safetensors.load(content)["x"].tolist() == [0, 1, 2]
    assert content == safetensors.save({"x": torch.arange(3)}, {"a": "b"})


def test_to_and_from_a_gpu(tmp_path):
    with torch.cuda.simulate():
        path = tmp_path / "a.safetensors"
        save_safetensors({"x": torch.ones(2, device="cuda")}, path)
        assert str(load_safetensors(path, device="cuda:0")["x"].device) == "cuda:0"
        assert load_safetensors(path)["x"].tolist() == [1, 1]


def test_tensors_that_share_memory_are_refused(tmp_path):
    base = torch.zeros(4)
    with pytest.raises(DataMismatch, match="share memory") as caught:
        save_safetensors({"a": base, "b": base[1:3]}, tmp_path / "a.safetensors")
    assert "'a', 'b'" in caught.value.headline
    # Parts that do not overlap are as good as tensors of their own.
    save_safetensors({"a": base[:2], "b": base[2:]}, tmp_path / "a.safetensors")


def test_what_cannot_be_saved(tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(InvalidValue, match="non contiguous tensor: `x`"):
        save_safetensors({"x": torch.zeros(2, 3).t()}, path)
    with pytest.raises(NotSupported, match="complex128"):
        save_safetensors({"x": torch.zeros(2, dtype=torch.complex128)}, path)
    with pytest.raises(TypeError, match="received int"):
        save_safetensors({"x": 3}, path)
    with pytest.raises(TypeError, match="dict"):
        save_safetensors(torch.ones(2), path)
    with pytest.raises(TypeError, match="metadata must be texts"):
        save_safetensors({"x": torch.ones(2)}, path, {"epoch": 3})
    assert not path.exists()


def test_a_damaged_file(tmp_path):
    path = tmp_path / "a.safetensors"
    save_safetensors({"x": torch.ones(20)}, path)
    content = path.read_bytes()
    for broken in (b"", b"\xff" * 8, content[:40], content[:-1], content[:8] + b"{" * 50):
        path.write_bytes(broken)
        with pytest.raises(FileFormatError, match="safetensors"):
            load_safetensors(path)
        with pytest.raises(FileFormatError):
            safetensors.load(broken)
    with pytest.raises(FileNotFoundError):
        load_safetensors(tmp_path / "nowhere.safetensors")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    save_safetensors({"x": torch.ones(2)}, path)
    monkeypatch.setattr("os.fsync", lambda descriptor: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_safetensors({"x": torch.zeros(2)}, path)
    assert load_safetensors(path)["x"].tolist() == [1, 1]


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(MissingExtra, match=r"need the package safetensors"):
        safetensors.save({"x": torch.ones(2)})
