"""`save` and `load`: what was saved comes back, with what it shares."""

import argparse
import datetime
import io
import os
import pathlib
import pickle
import zipfile
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina as torch
from lamina.errors import EmptyFile, FileFormatError, NotSupported, UnsafeFile

RECORDED = pathlib.Path(__file__).with_name("recorded")


def again(value, load_args=None, **save_args):
    """A value after a trip through a file."""
    buffer = io.BytesIO()
    torch.save(value, buffer, **save_args)
    buffer.seek(0)
    return torch.load(buffer, **(load_args or {}))


def check_values(found):
    """What `values` of record_checkpoints.py must have become."""
    shared = {found[key].untyped_storage().data_ptr() for key in ("slice", "columns", "strided")}
    assert len(shared) == 1
    assert found["slice"].tolist() == [2, 3, 4]
    assert found["columns"].tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    assert found["columns"].stride() == (1, 4)
    assert found["strided"].tolist() == [[4, 7], [5, 8]]
    assert found["strided"].storage_offset() == 4
    assert isinstance(found["parameter"], torch.nn.Parameter)
    assert found["parameter"].requires_grad
    assert isinstance(found["with_attribute"], torch.nn.Parameter)
    assert not found["with_attribute"].requires_grad
    assert found["with_attribute"].label == "third"
    assert found["wants_grad"].requires_grad
    assert found["wants_grad"].is_leaf
    assert found["number"].shape == ()
    assert found["number"].item() == 2.5
    assert found["empty"].shape == (2, 0)
    assert found["size"] == torch.Size([2, 3])
    assert type(found["size"]) is torch.Size
    assert found["dtype"] is torch.int16
    assert found["device"] is torch.device("cuda", 1)
    assert found["layout"] is torch.strided
    assert found["counts"] == Counter("abb")
    assert list(found["ordered"]) == ["b", "a"]
    assert type(found["ordered"]) is OrderedDict
    assert found["bytes"] == b"\x00\xff"
    assert found["bytearray"] == bytearray(b"ab")
    assert found["set"] == {1, 2}
    assert found["complex"] == 1 - 2j
    assert found["large"] == 2**70
    assert found["nested"] == [(1, -2.5, None), {"x": [True, "\u00e9"]}]
    for name in (*PLAIN_KINDS, "bfloat16"):
        assert found[name].dtype is getattr(torch, name)
        assert found[name].float().tolist() == [0, 1, 1]


PLAIN_KINDS = ["float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def test_a_file_that_pytorch_wrote():
    found = torch.load(RECORDED / "values.pt")
    check_values(found)
    for name in ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"):
        assert found[name].dtype is getattr(torch, name)
        assert found[name].float().tolist() == [0, 1, 1]
    for name in ("complex64", "complex128"):
        assert found[name].tolist() == [0, 1, 1]
    assert found["meta"].device.type == "meta"
    assert found["meta"].shape == (3, 2)
    assert found["conjugated"].tolist() == [1 - 2j, 1 - 2j]


def test_a_file_in_pytorchs_older_format():
    check_values(torch.load(RECORDED / "legacy.pt"))


@pytest.mark.parametrize("old", [False, True])
def test_what_is_loaded_can_be_saved_again(old):
    found = torch.load(RECORDED / ("legacy.pt" if old else "values.pt"))
    check_values(again(found, _use_new_zipfile_serialization=not old))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_all_binary_protocols(protocol):
    check_values(again(torch.load(RECORDED / "legacy.pt"), pickle_protocol=protocol))


def test_files_mapped_into_memory():
    check_values(torch.load(RECORDED / "values.pt", mmap=True))


@given(
    shape=st.lists(st.integers(0, 4), max_size=4),
    kind=st.sampled_from(
        ["float32", "float16", "bfloat16", "int64", "bool", "complex64", "uint16"]
    ),
    order=st.randoms(use_true_random=False),
)
def test_any_shape_dtype_and_order_of_dimensions(shape, kind, order):
    dims = list(range(len(shape)))
    order.shuffle(dims)
    x = torch.randint(0, 2, shape).to(getattr(torch, kind)).permute(dims)
    y = again(x)
    assert y.dtype is x.dtype
    assert y.shape == x.shape
    assert x.numel() == 0 or y.stride() == x.stride()
    assert torch.equal(x, y)


def test_tensors_that_share_memory_still_do():
    base = torch.zeros(4)
    whole, part = again([base, base[1:3]])
    part.fill_(7)
    assert whole.tolist() == [0, 7, 7, 0]


def test_a_slice_brings_the_memory_it_is_a_part_of():
    part = again(torch.arange(6.0)[2:4])
    assert part.untyped_storage().nbytes() == 24
    assert part.storage_offset() == 2


def test_the_same_tensor_twice_is_one_tensor():
    x = torch.ones(2)
    first, second = again([x, x])
    assert first is second


def test_what_was_computed_is_loaded_as_a_leaf():
    x = again(torch.ones(2, requires_grad=True) * 3)
    assert x.is_leaf
    assert x.requires_grad
    assert x.tolist() == [3, 3]


def test_hooks_are_left_out():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 100)
    y = again(x)
    y.sum().backward()
    assert y.grad.tolist() == [1, 1]


def test_one_memory_under_two_dtypes_is_refused():
    x = torch.ones(2, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        again([x, torch.view_as_real(x)])


def test_a_state_dict_keeps_the_versions_of_its_modules():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    found = again(model.state_dict())
    assert type(found) is OrderedDict
    assert found._metadata == dict(model.state_dict()._metadata)
    assert str(model.load_state_dict(found)) == "<All keys matched successfully>"


def test_tied_weights_stay_tied():
    model = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "b": torch.nn.Linear(2, 2)})
    model["b"].weight = model["a"].weight
    found = again(model.state_dict())
    assert found["a.weight"].data_ptr() == found["b.weight"].data_ptr()


def test_an_optimizer_goes_on_where_it_was():
    def trained(steps_before, steps_after):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        x = torch.randn(4, 3)
        for step in range(steps_before + steps_after):
            if step == steps_before:
                saved = again({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
                model = torch.nn.Linear(3, 1)
                optimizer = torch.optim.Adam(model.parameters())
                model.load_state_dict(saved["model"])
                optimizer.load_state_dict(saved["optimizer"])
            optimizer.zero_grad()
            model(x).pow(2).sum().backward()
            optimizer.step()
        return model.weight.tolist()

    assert trained(2, 3) == trained(5, 0)


def test_the_state_of_a_generator():
    generator = torch.Generator().manual_seed(5)
    torch.rand(3, generator=generator)
    copy = torch.Generator()
    copy.set_state(again(generator.get_state()))
    assert torch.rand(3, generator=copy).tolist() == torch.rand(3, generator=generator).tolist()


def test_numpys_values():
    found = torch.load(RECORDED / "numpy.pt")
    assert type(found["a"]) is np.float32
    assert found["a"] == 1.5
    assert found["b"].tolist() == [0, 1, 2]
    values = {
        "text": np.array(["ab", "c"]),
        "table": np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)),
        "flag": np.bool_(True),
    }
    for protocol in (2, 5):
        found = again(values, pickle_protocol=protocol)
        assert found["text"].tolist() == ["ab", "c"]
        assert found["table"].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert found["table"].dtype == pickle.loads(pickle.dumps(values["table"], protocol)).dtype
        assert found["flag"] == np.True_


# --- places ---------------------------------------------------------------------------------------


def test_paths_and_files(tmp_path):
    class Where:
        def __fspath__(self):
            return str(tmp_path / "c.pt")

    for place in (str(tmp_path / "a.pt"), tmp_path / "b.pt", Where()):
        torch.save(torch.ones(2), place)
        assert torch.load(place).tolist() == [1, 1]
    with open(tmp_path / "d.pt", "wb") as file:
        torch.save(torch.ones(2), file)
    with open(tmp_path / "d.pt", "rb", buffering=0) as file:
        assert torch.load(file).tolist() == [1, 1]


def test_the_folder_in_the_archive_has_the_files_name(tmp_path):
    torch.save(1, tmp_path / "weights.pt")
    with zipfile.ZipFile(tmp_path / "weights.pt") as zipped:
        assert {name.split("/")[0] for name in zipped.namelist()} == {"weights"}


def test_a_renamed_file_can_be_loaded(tmp_path):
    torch.save(torch.ones(2), tmp_path / "a.pt")
    os.rename(tmp_path / "a.pt", tmp_path / "b.bin")
    assert torch.load(tmp_path / "b.bin").tolist() == [1, 1]


def test_pages_that_are_mapped_are_copied_when_written(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(torch.zeros(3), path)
    mapped = torch.load(path, mmap=True)
    mapped += 1
    assert mapped.tolist() == [1, 1, 1]
    assert torch.load(path).tolist() == [0, 0, 0]


def test_shared_mapping_reaches_the_file(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(torch.zeros(3), path)
    with torch.serialization.set_default_mmap_options(torch.serialization.MAP_SHARED):
        torch.load(path, mmap=True).add_(1)
    torch.serialization.set_crc32_options(False)
    try:
        assert torch.load(path).tolist() == [1, 1, 1]
    finally:
        torch.serialization.set_crc32_options(True)


def test_mapping_wants_a_path():
    with pytest.raises(ValueError, match="must be a file path"):
        again(1, {"mmap": True})


def test_location_of_a_tensor_on_a_gpu():
    with torch.cuda.simulate(count=2):
        buffer = io.BytesIO()
        torch.save(torch.ones(2, device="cuda:1"), buffer)
        for place, expected in [
            (None, "cuda:1"),
            ("cpu", "cpu"),
            (torch.device("cuda:0"), "cuda:0"),
            ({"cuda:1": "cuda:0"}, "cuda:0"),
            (lambda storage, location: storage, "cpu"),
            (lambda storage, location: storage.cuda(0), "cuda:0"),
            (lambda storage, location: None, "cuda:1"),
            ("meta", "meta"),
        ]:
            buffer.seek(0)
            found = torch.load(buffer, map_location=place)
            assert str(found.device) == expected
            assert expected == "meta" or found.tolist() == [1, 1]
    buffer.seek(0)
    with pytest.raises(RuntimeError, match=r"torch.cuda.is_available\(\) is False"):
        torch.load(buffer)


def test_the_function_that_maps_is_given_a_storage_and_its_place():
    seen = []

    def note(storage, location):
        seen.append((type(storage), location))
        return storage

    again(torch.ones(1), {"map_location": note})
    assert seen == [(torch.UntypedStorage, "cpu")]


def test_big_endian_files():
    numbers = np.arange(3, dtype=">f4").tobytes()
    buffer = io.BytesIO()
    torch.save(torch.zeros(3), buffer)
    swapped = io.BytesIO()
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(swapped, "w") as new:
        for name in old.namelist():
            other = {"archive/byteorder": b"big", "archive/data/0": numbers}
            new.writestr(name, other.get(name, old.read(name)))
    swapped.seek(0)
    assert torch.load(swapped).tolist() == [0, 1, 2]


def test_a_compressed_archive():
    buffer, packed = io.BytesIO(), io.BytesIO()
    torch.save(torch.arange(100.0), buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    packed.seek(0)
    assert torch.load(packed).tolist() == list(range(100))


# --- whole modules --------------------------------------------------------------------------------


class Net(torch.nn.Module):
    """A module of the program's own."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.inner(x) + 1


def test_a_whole_module_of_pytorchs_needs_names():
    with pytest.raises(UnsafeFile, match=r"torch\.nn\.modules\.container\.Sequential"):
        torch.load(RECORDED / "module.pt")
    names = [torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU]
    with torch.serialization.safe_globals(names):
        model = torch.load(RECORDED / "module.pt")
    assert model(torch.tensor([[1.0, 1.0]])).tolist() == [[6.0]]
    assert torch.serialization.get_safe_globals() == []


def test_layers_of_the_library_need_no_names_without_weights_only():
    model = torch.load(RECORDED / "module.pt", weights_only=False)
    assert model(torch.tensor([[1.0, 1.0]])).tolist() == [[6.0]]
    model.register_forward_hook(lambda module, args, output: output * 2)
    assert model(torch.tensor([[1.0, 1.0]])).tolist() == [[12.0]]


def test_modules_of_the_program_need_names_always():
    model = Net()
    with pytest.raises(UnsafeFile, match="Net"):
        again(model, {"weights_only": False})
    with torch.serialization.safe_globals([Net]):
        found = again(model, {"weights_only": False})
    x = torch.ones(1, 2)
    assert found(x).tolist() == model(x).tolist()


def test_more_of_pythons_own_classes_without_weights_only():
    today = datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    value = {
        "namespace": argparse.Namespace(lr=0.1, name="x"),
        "time": [today, today.date(), today - today],
        "path": pathlib.PurePosixPath("a/b"),
        "recent": deque([1, 2], maxlen=2),
        "counts": defaultdict(list, a=[1]),
    }
    for protocol in (2, 4):
        found = again(value, {"weights_only": False}, pickle_protocol=protocol)
        assert found == value
        assert found["recent"].maxlen == 2
        assert found["counts"]["b"] == []
        with pytest.raises(UnsafeFile):
            again(value, pickle_protocol=protocol)


def test_a_name_can_stand_for_a_class_that_has_moved():
    with torch.serialization.safe_globals([(Counter, "gone.Unknown")]):
        assert torch.load(RECORDED / "unknown.pt") == {"made": Counter()}


def test_the_names_that_would_be_refused():
    unsafe = torch.serialization.get_unsafe_globals_in_checkpoint
    assert unsafe(RECORDED / "unknown.pt") == ["gone.Unknown"]
    assert unsafe(RECORDED / "values.pt") == []
    assert unsafe(RECORDED / "module.pt") == [
        "torch.nn.modules.container.Sequential",
        "torch.nn.modules.linear.Linear",
        "torch.nn.modules.activation.ReLU",
    ]


# --- refusals -------------------------------------------------------------------------------------


def test_a_sparse_tensor_is_refused_by_name():
    with pytest.raises(NotSupported, match="sparse"):
        torch.load(RECORDED / "sparse.pt")


@pytest.mark.parametrize(
    ("content", "error", "phrase"),
    [
        (b"", EmptyFile, "nothing to load"),
        (b"garbage", FileFormatError, "invalid magic number"),
        (pickle.dumps({"a": 1}), FileFormatError, "pickle that torch.save did not write"),
        (b"\x10\0\0\0\0\0\0\0{}", FileFormatError, "load_safetensors"),
        (b"\0" * 257 + b"ustar" + b"\0" * 250, FileFormatError, "tar archive"),
        (b"PK\x03\x04" + b"\0" * 100, FileFormatError, "central directory"),
    ],
)
def test_what_is_no_checkpoint(content, error, phrase):
    with pytest.raises(error, match=phrase):
        torch.load(io.BytesIO(content))


def test_errors_are_the_classes_that_pytorch_raises():
    with pytest.raises(EOFError):
        torch.load(io.BytesIO())
    with pytest.raises(pickle.UnpicklingError):
        torch.load(RECORDED / "unknown.pt")
    with pytest.raises(FileNotFoundError):
        torch.load("/nowhere/at/all.pt")
    with pytest.raises(AttributeError, match="seekable"):
        torch.load(3)
    with pytest.raises(AttributeError, match="'write' attribute"):
        torch.save(1, 3)
    with pytest.raises(TypeError, match="not callable"):
        again(torch.ones(1), {"map_location": 3})


def test_the_refusal_says_which_name_in_which_file_and_what_to_do():
    with pytest.raises(UnsafeFile) as caught:
        torch.load(RECORDED / "unknown.pt")
    assert "gone.Unknown" in caught.value.headline
    assert "unknown.pt" in caught.value.headline
    assert "safe_globals([Unknown])" in caught.value.help[0]


def test_the_refusal_lists_all_that_would_have_to_be_named():
    with pytest.raises(UnsafeFile) as caught:
        torch.load(RECORDED / "module.pt")
    names = "[torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU]"
    assert f"safe_globals({names})" in caught.value.help[0]


def test_pickle_and_deepcopy_still_work():
    import copy

    x = torch.nn.Parameter(torch.ones(2))
    for twin in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert twin.tolist() == [1, 1]
        assert twin.requires_grad
