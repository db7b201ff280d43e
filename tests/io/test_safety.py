"""Files by people with bad intentions: no code runs, nothing grows without bounds."""

import io
import os
import pickle
import struct
import time
import tracemalloc

import pytest

import lamina as torch
from lamina.errors import FileFormatError, NotSupported, UnsafeFile
from tests.io.hostile import archive, named, number, numbers, storage, tensor, text


def load(pickled, **load_args):
    return torch.load(archive(pickled), **load_args)


def call(function, *arguments):
    """The opcodes of a call."""
    return function + b"(" + b"".join(arguments) + b"tR"


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"), ("posix", "system"), ("nt", "system"), ("builtins", "eval"),
        ("__builtin__", "eval"), ("builtins", "exec"), ("builtins", "getattr"), ("sys", "modules"),
        ("subprocess", "Popen"), ("operator", "attrgetter"), ("functools", "partial"),
        ("numpy.testing._private.utils", "runstring"), ("torch", "load"), ("torch.hub", "load"),
        ("lamina", "load"), ("lamina.io.names", "Names"), ("lamina.nn", "functional"),
        ("torch.nn", "Module.__init__"), ("torch.nn.functional", "conv2d"), ("pickle", "loads"),
        ("importlib", "import_module"), ("torch._utils", "_rebuild_everything"), ("", ""),
        ("torch.storage", "_load_from_bytes"), ("builtins", "object"), ("builtins", "type"),
        ("copyreg", "_reconstructor"), ("codecs", "decode"), ("collections", "namedtuple"),
        ("shutil", "rmtree"), ("pathlib", "Path.unlink"), ("torch.serialization", "load"),
    ],
)  # fmt: skip
def test_no_other_name_is_looked_up(module, name, weights_only):
    with pytest.raises(UnsafeFile, match="not an allowed global"):
        load(call(named(module, name), text("echo")), weights_only=weights_only)
    stack_global = text(module) + text(name) + b"\x93"
    with pytest.raises(UnsafeFile, match="not an allowed global"):
        load(stack_global, weights_only=weights_only)


class Trap:
    """Pickles as a call of `os.mkdir`."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("protocol", range(6))
def test_nothing_is_run(tmp_path, protocol, weights_only):
    path = str(tmp_path / "made")
    whole = pickle.dumps(Trap(path), protocol)
    with pytest.raises((UnsafeFile, FileFormatError)):
        torch.load(archive(whole, whole=True), weights_only=weights_only)
    assert not os.path.exists(path)


def test_a_name_that_runs_code_is_called_out():
    with pytest.raises(UnsafeFile, match="do not trust this file"):
        load(named("os", "system"))


def test_names_are_not_imported():
    import sys

    assert "antigravity" not in sys.modules
    with pytest.raises(UnsafeFile):
        load(named("antigravity", "geohash"))
    assert "antigravity" not in sys.modules


def test_what_is_allowed_cannot_be_changed():
    attributes = b"}" + text("numel") + number(3) + b"s"
    for target in (
        named("torch", "Tensor"),
        named("torch", "Size"),
        tensor(),
        b"]",
        b"}",
        text("x"),
    ):
        with pytest.raises(FileFormatError, match=r"changes|attributes"):
            load(target + attributes + b"b")
    with pytest.raises(FileFormatError, match="calls"):
        load(call(named("torch", "Tensor"), number(3)))


def test_an_activation_is_a_value_and_not_called():
    relu = named("torch.nn.functional", "relu")
    assert load(relu, weights_only=False) is torch.relu
    with pytest.raises(FileFormatError, match="calls a function"):
        load(call(relu, tensor()), weights_only=False)
    with pytest.raises(UnsafeFile):
        load(relu)


def test_the_storage_of_a_tensor_must_be_one():
    for instead in (number(3), b"N", text("cpu"), tensor()):
        with pytest.raises(FileFormatError):
            load(tensor(of=instead))


# --- sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (5,), (1,)), (1, (4,), (1,)), (4, (1,), (1,)), (0, (2, 2), (3, 1)), (0, (2,), (4,)),
        (-1, (2,), (1,)), (0, (-1,), (1,)), (0, (2,), (-1,)), (2**62, (1,), (1,)),
        (2**64, (1,), (1,)), (0, (2**62,), (1,)), (0, (2**62, 2**62), (0, 0)), (0, (2, 2), (1,)),
        (0, (2**40,) * 3, (0, 0, 0)), (0, (1,) * 65, (1,) * 65), (0, (2, 1), (1, 2**63)),
        (5, (0,), (1,)), (0, (0, 2**40, 2**40), (1, 1, 1)),
    ],
)  # fmt: skip
def test_tensors_lie_inside_their_storage(offset, size, stride):
    with pytest.raises(FileFormatError, match=r"a tensor has|out of bounds|of a tensor are"):
        load(tensor(offset, size, stride))


def test_tensors_that_repeat_elements_take_no_memory():
    found = load(tensor(0, (2**40,), (0,)))
    assert found.shape == (2**40,)
    assert found.untyped_storage().nbytes() == 16


def test_integers_do_not_require_grad():
    with pytest.raises(FileFormatError, match="requires grad"):
        load(tensor(requires_grad=True, of=storage(count=4, kind="IntStorage")))


@pytest.mark.parametrize("count", [-1, 3, 5, 2**62, 2**80])
def test_storages_have_the_size_that_they_say(count):
    with pytest.raises(FileFormatError):
        load(tensor(0, (1,), (1,), of=storage(count=count)))


def test_one_storage_has_one_size():
    with pytest.raises(FileFormatError, match="two sizes"):
        load(tensor() + tensor(of=storage(count=8, kind="DoubleStorage")) + b"\x86")


@pytest.mark.parametrize("location", ["mps", "cuda:x", "cpu:99999999999", "", "disk:/etc/passwd"])
def test_locations(location):
    with pytest.raises(FileFormatError, match="data location"):
        load(tensor(of=storage(location=location)))


@pytest.mark.parametrize("name", ["disk", "cuda:x", "", "cpu:-1"])
def test_devices_that_do_not_exist(name):
    with pytest.raises(FileFormatError, match="device cannot take"):
        load(call(named("torch", "device"), text(name)))


def test_a_key_does_not_lead_out_of_the_archive():
    for key in ("../data.pkl", "/etc/passwd", "x" * 100, "0/../0"):
        with pytest.raises(FileFormatError, match=r"missing|persistent id"):
            load(tensor(of=storage(key=key)))


# --- memory and time ------------------------------------------------------------------------------


def refused_cheaply(pickled, megabytes=100, seconds=5.0, error=FileFormatError):
    """That a pickle is refused, within so much memory and time."""
    file = archive(pickled)
    tracemalloc.start()
    began = time.perf_counter()
    try:
        with pytest.raises(error):
            torch.load(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < megabytes << 20
    assert time.perf_counter() - began < seconds


def test_a_bytearray_of_a_terabyte():
    refused_cheaply(call(named("builtins", "bytearray"), number(1 << 40)), megabytes=8)


def test_lengths_beyond_the_end():
    for opcode in (b"B", b"X", b"T"):
        refused_cheaply(opcode + struct.pack("<I", 0xFFFFFFF0), megabytes=8)
    for opcode in (b"\x8d", b"\x8e", b"\x96", b"\x95"):
        refused_cheaply(opcode + struct.pack("<Q", 1 << 60), megabytes=8)
    refused_cheaply(b"\x8b" + struct.pack("<I", 0x7FFFFFFF), megabytes=8)


def test_a_memo_with_a_far_index():
    found = load(b"]" + b"r" + struct.pack("<I", 0xFFFFFFFF))
    assert found == []


def test_copies_of_a_long_text():
    encode = named("_codecs", "encode") + b"q\1"
    long = text("x" * 1_000_000) + b"q\2"
    again = b"h\1(h\2" + text("latin1") + b"tR"
    refused_cheaply(b"(" + encode + long + again * 1000 + b"t")


def test_copies_of_a_long_list():
    long = b"](" + b"K\1" * 200_000 + b"eq\2"
    again = named("builtins", "set") + b"(h\2tR"
    refused_cheaply(b"(" + long + again * 1000 + b"t")


def test_a_key_that_takes_a_year_to_hash():
    nested = b"K\1" + b"\x85q\1h\1\x86" * 1
    for _ in range(60):
        nested += b"q\1" + b"h\1" + b"\x86"
    refused_cheaply(b"}" + nested + b"Ns", megabytes=8)
    refused_cheaply(b"\x8f(" + nested + b"\x90", megabytes=8)
    refused_cheaply(b"(" + nested + b"\x91", megabytes=8)


def test_a_value_that_takes_a_year_to_print():
    nested = b"]q\1"
    for _ in range(60):
        nested += b"](h\1h\1eq\1"
    nested = b"(" + nested + b"t0h\1\x85"
    for function in [
        ("builtins", "set"),
        ("torch", "Size"),
        ("torch", "device"),
        ("numpy", "dtype"),
    ]:
        refused_cheaply(named(*function) + nested + b"R", megabytes=8)
    refused_cheaply(nested + b"Q", megabytes=8)
    refused_cheaply(tensor(of=nested), megabytes=8)
    refused_cheaply(b"}" + nested + b"Ns", megabytes=8)


def test_a_tensor_that_takes_a_year_to_compare():
    endless = tensor(0, (2**40,), (0,))
    refused_cheaply(endless + b"Q", megabytes=8)
    for function in [
        ("builtins", "set"), ("torch", "Size"), ("torch", "device"), ("numpy", "dtype"),
        ("_codecs", "encode"), ("collections", "OrderedDict"), ("collections", "Counter"),
        ("torch.serialization", "_get_layout"), ("torch._tensor", "_rebuild_from_type_v2"),
        ("builtins", "complex"), ("builtins", "bytearray"), ("numpy._core.multiarray", "scalar"),
    ]:  # fmt: skip
        for count in (1, 2, 4):
            pickled = named(*function) + b"(" + endless * count + b"tR"
            refused_cheaply(pickled, megabytes=8, error=(FileFormatError, NotSupported))
    for parts in (b"(" + endless + b"NNNNt", b"(" + endless + b"NNNNNt"):
        refused_cheaply(parts + b"Q", megabytes=8)


def test_keys_that_collide():
    step = 2**61 - 1
    keys = b"".join(number(k * step) + b"N" for k in range(20_000))
    refused_cheaply(b"}(" + keys + b"u")


def test_deep_nesting_does_no_harm():
    deep = b"]" * 50_000 + b"a" * 49_999
    found = load(deep)
    depth = 0
    while found:
        found, depth = found[0], depth + 1
    assert depth == 49_999
    refused_cheaply(b"}" + b")" + b"\x85" * 200_000 + b"Ns")


def test_a_conjugate_of_very_many_elements():
    flag = b"}" + text("conj") + b"\x88s"
    parts = [
        storage(kind="ComplexFloatStorage", count=2),
        number(0),
        numbers([2**40]),
        numbers([0]),
    ]
    parts += [b"\x89", b"N", flag]
    refused_cheaply(call(named("torch._utils", "_rebuild_tensor_v2"), *parts), megabytes=8)


def test_an_array_of_numpys_that_says_another_size():
    dtype = call(named("numpy", "dtype"), text("f8"), b"\x89", b"\x88")
    empty = call(
        named("numpy._core.multiarray", "_reconstruct"),
        named("numpy", "ndarray"), b"K\0\x85", b"C\1b",
    )  # fmt: skip
    for shape in ([3], [2**60], [-1], [2**40, 2**40]):
        state = b"(" + number(1) + numbers(shape) + dtype + b"\x89" + b"C\x10" + b"\0" * 16 + b"t"
        refused_cheaply(empty + state + b"b", megabytes=8)


@pytest.mark.parametrize("code", ["O", "O8", "V8", "f4,f4", "U99999999999", "x", "f3", "M8[ns]"])
def test_numpys_types_are_plain(code):
    with pytest.raises(FileFormatError):
        load(call(named("numpy", "dtype"), text(code), b"\x89", b"\x88"))


def test_numpys_scalars_do_not_unpickle():
    inner = pickle.dumps(Trap("/nowhere"), 2)
    dtype = call(named("numpy", "dtype"), text("O8"), b"\x89", b"\x88")
    with pytest.raises(FileFormatError):
        load(
            call(
                named("numpy.core.multiarray", "scalar"), dtype, b"C" + bytes([len(inner)]) + inner
            )
        )


# --- broken pickles ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pickled",
    [
        b"", b"a", b"0", b"1", b"2", b"t", b"e", b"u", b"s", b"R", b"b", b"Q", b"h\1", b"j\1\0\0\0",
        b"\x93", b"\x81", b"\x92", b"\x91", b"(", b"(.", b"(Na", b"N(Q", b"Ne", b"](", b"}(Nu",
        b"}]Ns", b"NNR", b"N)R", b"\x85", b"c", b"cos", b"cos\nsystem", b"c\xff\n\xff\n",
        b"I1\n", b"S'x'\n", b"i__main__\nx\n", b"\x82\1", b"P1\n", b"\x80\x07", b"NNNQ",
            b"K\1Q", b"\x97", b"\x98", b"X\3\0\0\0\xff\xff\xff",
        b"(NNNNNtQ", b"]}b", b"q\1", b"\x94", b"F1\n", b"L1L\n", b"o", b"G\0",
    ],
)  # fmt: skip
def test_broken_pickles_are_refused(pickled):
    with pytest.raises((FileFormatError, UnsafeFile)):
        torch.load(archive(b"\x80\x02" + pickled, whole=True))


@pytest.mark.parametrize(
    "name",
    ["_rebuild_qtensor", "_rebuild_sparse_tensor", "_rebuild_nested_tensor"],
)
def test_kinds_of_tensors_that_are_not_there(name):
    with pytest.raises(NotSupported, match="does not have"):
        load(call(named("torch._utils", name), number(1)))


def test_an_old_file_that_says_it_is_large():
    buffer = io.BytesIO()
    torch.save(torch.zeros(4), buffer, _use_new_zipfile_serialization=False)
    content = buffer.getvalue()
    # The count of elements: in the pickle, and before the bytes.
    for old, new in [(b"K\x04N", b"M\xff\xffN"), (b"\4" + b"\0" * 7, b"\5" + b"\0" * 7)]:
        assert old in content
        with pytest.raises(FileFormatError):
            torch.load(io.BytesIO(content.replace(old, new)))
    for length in range(0, len(content) - 1, 7):
        with pytest.raises((FileFormatError, EOFError)):
            torch.load(io.BytesIO(content[:length]))


def test_a_file_that_is_refused_does_not_stay_open(tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(archive(named("os", "system")).getvalue())
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(20):
        with pytest.raises(UnsafeFile):
            torch.load(path)
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after <= before + 1
