"""Making files that nobody should write: pickles by hand, archives with any entries."""

import io
import struct
import zipfile


def text(value):
    """The opcode that pushes a text."""
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def number(value):
    """The opcode that pushes a whole number."""
    raw = value.to_bytes(max(1, (value.bit_length() + 8) // 8), "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def numbers(values):
    """The opcodes that push a tuple of whole numbers."""
    return b"(" + b"".join(number(value) for value in values) + b"t"


def named(module, name):
    """The opcode that pushes a class or function."""
    return b"c" + f"{module}\n{name}\n".encode()


def storage(key="0", count=4, kind="FloatStorage", location="cpu"):
    """The opcodes that push a storage."""
    parts = [text("storage"), named("torch", kind), text(key), text(location), number(count)]
    return b"(" + b"".join(parts) + b"tQ"


def tensor(offset=0, size=(4,), stride=(1,), requires_grad=False, of=None):
    """The opcodes that push a tensor."""
    parts = [
        storage() if of is None else of,
        number(offset),
        numbers(size),
        numbers(stride),
        b"\x88" if requires_grad else b"\x89",
        b"N",
    ]
    return named("torch._utils", "_rebuild_tensor_v2") + b"(" + b"".join(parts) + b"tR"


def archive(pickled, entries=None, compression=zipfile.ZIP_STORED, whole=False):
    """A checkpoint with this pickle and one storage of four floats, or with these entries."""
    if not whole:
        pickled = b"\x80\x02" + pickled + b"."
    content = {"archive/data.pkl": pickled, "archive/data/0": struct.pack("<4f", 1, 2, 3, 4)}
    content.update(entries or {})
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as zipped:
        for name, data in content.items():
            if data is not None:
                zipped.writestr(name, data)
    file.seek(0)
    return file
