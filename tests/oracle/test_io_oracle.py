"""Checkpoints go both ways: what one library saves, the other loads, and goes on training with."""

import io
import pickle
import warnings
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest
import torch

import lamina
from lamina.io import archive_writer
from tests.oracle import families

safetensors_torch = pytest.importorskip("safetensors.torch")

DIRECTIONS = [(torch, lamina), (lamina, torch)]
FORMATS = [{}, {"_use_new_zipfile_serialization": False}]


def sent(value, saver, loader, load_args=None, **save_args):
    """A value that one library saved and the other loaded."""
    buffer = io.BytesIO()
    saver.save(value, buffer, **save_args)
    buffer.seek(0)
    return loader.load(buffer, **(load_args or {}))


def as_numbers(t, tensor):
    return np.asarray(tensor.detach().to(t.float64).tolist())


# --- models --------------------------------------------------------------------------------------


@pytest.mark.parametrize("saver,loader", DIRECTIONS, ids=["load", "save"])  # noqa: PT006
@pytest.mark.parametrize(
    ("name", "optimizer"),
    [
        *((name, "Adam") for name in families.FAMILIES),
        ("perceptron", "SGD"),
        ("convolutional", "SGD"),
    ],
)
def test_training_goes_on_in_the_other_library(name, optimizer, saver, loader):
    model, x = families.built(saver, name, seed=1)
    steps = families.optimizer_of(saver, optimizer, model)
    families.trained(model, steps, x, 2)
    state = {"model": model.state_dict(), "optimizer": steps.state_dict(), "step": 2}
    found = sent(state, saver, loader)

    twin, twin_x = families.built(loader, name, seed=2)
    twin_steps = families.optimizer_of(loader, optimizer, twin)
    assert str(twin.load_state_dict(found["model"])) == "<All keys matched successfully>"
    twin_steps.load_state_dict(found["optimizer"])
    assert list(found["model"]) == list(model.state_dict())
    assert found["model"]._metadata == model.state_dict()._metadata

    model.eval(), twin.eval()
    np.testing.assert_allclose(
        as_numbers(saver, model(x)), as_numbers(loader, twin(twin_x)), atol=1e-5
    )
    model.train(), twin.train()
    families.trained(model, steps, x, 3)
    families.trained(twin, twin_steps, twin_x, 3)
    for key, expected in model.state_dict().items():
        got = as_numbers(loader, twin.state_dict()[key])
        np.testing.assert_allclose(got, as_numbers(saver, expected), atol=1e-5, err_msg=key)


# --- values --------------------------------------------------------------------------------------

KINDS = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"]
KINDS += ["bool", "complex64", "complex128"]
NEWER = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"]


def values(t):
    base = t.arange(12.0)
    found = {kind: t.tensor([0, 1, 1]).to(getattr(t, kind)) for kind in KINDS}
    plain = [(1, 2.5, None), {"x": [True, "\u00e9"]}, {1, 2}, b"\xff", bytearray(b"a"), 1j, 2**70]
    labelled = t.nn.Parameter(t.ones(2))
    labelled.label = "x"
    return {
        **found,
        "slice": base[2:5], "columns": base.view(3, 4).t(),
        "strided": base.as_strided((2,), (3,), 4), "labelled": labelled,
        "parameter": t.nn.Parameter(t.arange(3.0)),
        "wants_grad": t.ones(2, requires_grad=True), "empty": t.empty(2, 0),
        "number": t.tensor(2.5),
        "size": t.Size([1, 2]), "dtype": t.float16, "device": t.device("cuda", 1),
        "layout": t.strided, "storage": t.zeros(3)._typed_storage(),
        "generator": t.Generator().manual_seed(3).get_state(),
        "plain": plain, "ordered": OrderedDict(b=1, a=2), "counts": Counter("abb"),
    }  # fmt: skip


def described(t, value):
    """A value in words that are the same for both libraries."""
    if isinstance(value, t.Tensor):
        return (
            str(value.dtype), tuple(value.shape), value.stride() if value.numel() else None,
            value.storage_offset(), value.requires_grad, value.is_leaf, str(value.device),
            isinstance(value, t.nn.Parameter), getattr(value, "label", None),
            as_numbers(t, value).tolist() if not value.is_complex() else value.tolist(),
        )  # fmt: skip
    if isinstance(value, list | tuple) and not isinstance(value, t.Size):
        return [described(t, item) for item in value]
    if isinstance(value, dict):
        return type(value).__name__, {key: described(t, item) for key, item in value.items()}
    if t.is_storage(value):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what PyTorch will not have for ever
            return type(value).__name__, value.tolist()
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("save_args", FORMATS, ids=["zip", "legacy"])
@pytest.mark.parametrize("saver,loader", DIRECTIONS, ids=["load", "save"])  # noqa: PT006
def test_one_of_everything(saver, loader, save_args):
    original = values(saver)
    found = sent(original, saver, loader, **save_args)
    for key, expected in original.items():
        assert described(loader, found[key]) == described(saver, expected), key
    shared = {found[key].untyped_storage().data_ptr() for key in ("slice", "columns", "strided")}
    assert len(shared) == 1


@pytest.mark.parametrize("saver,loader", DIRECTIONS, ids=["load", "save"])  # noqa: PT006
@pytest.mark.parametrize("kind", NEWER)
def test_newer_dtypes(kind, saver, loader):
    found = sent(saver.tensor([0.0, 1.0, 2.0]).to(getattr(saver, kind)), saver, loader)
    assert found.dtype is getattr(loader, kind)
    assert found.to(loader.float32).tolist() == [0, 1, 2]


def test_pickles_are_the_same_byte_for_byte():
    def archive(t):
        buffer = io.BytesIO()
        value = {"w": t.arange(6.0).view(2, 3), "p": t.nn.Parameter(t.ones(3)), "n": [1, 2.5, "x"]}
        t.save(value, buffer)
        return zipfile.ZipFile(buffer)

    ours, theirs = archive(lamina), archive(torch)
    assert ours.namelist() == theirs.namelist()
    for name in ours.namelist():
        if not name.endswith("serialization_id"):
            assert ours.read(name) == theirs.read(name)
    places = [[entry.header_offset for entry in z.infolist()] for z in (ours, theirs)]
    assert places[0] == places[1]


def test_pytorch_computes_the_positions_of_storages(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    lamina.save({f"w{k}": lamina.arange(float(k)) for k in range(20)}, path)
    monkeypatch.setenv("TORCH_SERIALIZATION_DEBUG", "1")
    for key, tensor in torch.load(path, mmap=True).items():
        assert tensor.tolist() == list(range(int(key[1:])))


def test_pytorch_reads_64_bit_fields(monkeypatch):
    monkeypatch.setattr(archive_writer, "LARGE", 1000)
    found = sent([lamina.ones(10), lamina.arange(1000)], lamina, torch)
    assert found[0].tolist() == [1] * 10
    assert found[1].tolist() == list(range(1000))


def test_a_conjugated_view():
    found = sent((torch.ones(2, dtype=torch.complex64) * 1j).conj(), torch, lamina)
    assert found.tolist() == [-1j, -1j]
    found = sent((torch.ones(2, dtype=torch.complex64) * 1j).conj().imag, torch, lamina)
    assert found.tolist() == [-1, -1]


def test_meta_tensors():
    for saver, loader in DIRECTIONS:
        found = sent(saver.empty(3, 2, device="meta").t(), saver, loader)
        assert str(found.device) == "meta"
        assert tuple(found.shape) == (2, 3)
        assert found.stride() == (1, 2)


def test_numpys_values():
    value = {"a": np.float32(1.5), "b": np.arange(6).reshape(2, 3)}
    found = sent(value, lamina, torch, {"weights_only": False})
    assert type(found["a"]) is np.float32
    assert found["b"].tolist() == [[0, 1, 2], [3, 4, 5]]


# --- whole modules, places, mistakes -------------------------------------------------------------


def layers(t):
    nn = t.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Dropout(0.1), nn.Flatten(), nn.Linear(36, 8), nn.LayerNorm(8), nn.GELU(),
        nn.Linear(8, 2), nn.Sigmoid(),
    )  # fmt: skip


@pytest.mark.parametrize("saver,loader", DIRECTIONS, ids=["load", "save"])  # noqa: PT006
def test_whole_modules_of_layers(saver, loader):
    saver.manual_seed(0)
    model = layers(saver).eval()
    found = sent(model, saver, loader, {"weights_only": False})
    assert str(found) == str(model)
    x = np.random.default_rng(0).normal(size=(3, 1, 6, 6)).astype(np.float32)
    expected = as_numbers(saver, model(saver.from_numpy(x)))
    np.testing.assert_allclose(as_numbers(loader, found(loader.from_numpy(x))), expected, atol=1e-6)
    assert [name for name, _ in found.named_parameters()] == [
        name for name, _ in model.named_parameters()
    ]


@pytest.mark.parametrize("saver,loader", DIRECTIONS, ids=["load", "save"])  # noqa: PT006
def test_a_whole_transformer(saver, loader):
    model = saver.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, activation="gelu").train()
    found = sent(model, saver, loader, {"weights_only": False})
    assert str(found) == str(model)
    x = np.random.default_rng(0).normal(size=(5, 2, 4)).astype(np.float32)
    expected = as_numbers(saver, model(saver.from_numpy(x)))
    np.testing.assert_allclose(as_numbers(loader, found(loader.from_numpy(x))), expected, atol=1e-6)


@pytest.mark.parametrize("mapping", ["meta", {"cpu": "meta"}, None, lambda s, where: None])
def test_map_location(mapping):
    buffer = io.BytesIO()
    torch.save(torch.ones(2), buffer)
    places = []
    for t in (torch, lamina):
        buffer.seek(0)
        places.append(str(t.load(buffer, map_location=mapping).device))
    assert places[0] == places[1]


def outcome(t, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(t)
        except Exception as error:
            return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins" or (
                kind is pickle.UnpicklingError)), str(error)  # fmt: skip
    return None, ""


def saved(t, value):
    buffer = io.BytesIO()
    t.save(value, buffer)
    buffer.seek(0)
    return buffer


class Own:
    """A class of the program's own."""


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda t: t.load("/nowhere.pt"), "No such file"),
        (lambda t: t.load("/"), "Is a directory"),
        (lambda t: t.load(3), "has no attribute 'seek'"),
        (lambda t: t.load(io.BytesIO()), ""),
        (lambda t: t.load(saved(t, Own())), "was not an allowed global by default"),
        (lambda t: t.load(saved(t, t.ones(2)), map_location="cuda"), "is_available() is False"),
        (lambda t: t.load(saved(t, t.ones(2)), map_location="disk"), "restore data location"),
        (lambda t: t.load(saved(t, t.ones(2)), map_location=3), "not callable"),
        (lambda t: t.load(saved(t, t.ones(2)), mmap=True), "must be a file path"),
        (lambda t: t.load(io.BytesIO(saved(t, t.ones(2)).read()[:200])), "central directory"),
        (lambda t: t.save(1, 3), "'write' attribute"),
        (lambda t: t.save(1, "/nowhere/a.pt"), "Parent directory /nowhere does not exist"),
        (
            lambda t: t.save([t.ones(2, dtype=t.complex64)] * 2 + [
                t.view_as_real(x) for x in [t.ones(2, dtype=t.complex64)]
            ], io.BytesIO()),
            "",
        ),
    ],
)  # fmt: skip
def test_mistakes_raise_the_same_classes(call, phrase):
    ours, theirs = outcome(lamina, call), outcome(torch, call)
    assert ours[0] is theirs[0] or (ours[0] and theirs[0] and issubclass(theirs[0], ours[0]))
    assert phrase in ours[1]
    assert phrase in theirs[1]


def test_safetensors_both_ways(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {kind: torch.tensor([0, 1, 1]).to(getattr(torch, kind)) for kind in KINDS[:-1]}
    tensors["bf"] = torch.ones(2, dtype=torch.float8_e4m3fn)
    safetensors_torch.save_file(tensors, path, {"format": "pt"})
    found = lamina.io.load_safetensors(path)
    lamina.io.save_safetensors(found, path, {"format": "pt"})
    again = safetensors_torch.load_file(path)
    for key, expected in tensors.items():
        assert str(found[key].dtype) == str(expected.dtype)
        assert again[key].dtype is expected.dtype
        assert again[key].to(torch.complex64).tolist() == expected.to(torch.complex64).tolist()
