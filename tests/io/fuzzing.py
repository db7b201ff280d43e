"""Damaged and hostile checkpoints by chance, and what loading one may do.

Run as a script for many more of them than the tests take: python -m tests.io.fuzzing 100000
"""

import codecs
import io
import os
import random
import struct
import sys
import zipfile
from collections import OrderedDict

import lamina as torch
from lamina.errors import EmptyFile, FileFormatError, NotSupported, UnsafeFile
from tests.io import hostile

DOCUMENTED = (EmptyFile, FileFormatError, NotSupported, UnsafeFile)

OPCODES = bytes(b"()0122NJKMGXUTCBtabe]}lsudhjqrcRbQ" + bytes(range(0x80, 0x99)) + b".ILSFVgpioP")
NAMES = [
    ("os", "system"), ("builtins", "eval"), ("builtins", "set"), ("builtins", "bytearray"),
    ("collections", "OrderedDict"), ("torch._utils", "_rebuild_tensor_v2"), ("torch", "Size"),
    ("torch._utils", "_rebuild_parameter"), ("torch", "device"), ("torch", "FloatStorage"),
    ("torch._tensor", "_rebuild_from_type_v2"), ("numpy", "dtype"), ("numpy", "ndarray"),
    ("numpy._core.multiarray", "scalar"), ("numpy._core.multiarray", "_reconstruct"),
    ("torch.nn.modules.linear", "Linear"), ("_codecs", "encode"), ("argparse", "Namespace"),
    ("torch._utils", "_rebuild_tensor_v3"), ("torch", "float32"), ("collections", "deque"),
]  # fmt: skip


def sound_files():
    """Files that are what they should be, to start from."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step()
    value = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "rest": [torch.arange(6).view(2, 3).t(), OrderedDict(a=1.5), "text", {1, 2}, b"x", None],
        "half": torch.ones(3, dtype=torch.float16),
    }
    for arguments in (
        {},
        {"pickle_protocol": 4},
        {"_use_new_zipfile_serialization": False},
    ):
        buffer = io.BytesIO()
        torch.save(value, buffer, **arguments)
        yield buffer.getvalue()
    buffer = io.BytesIO()
    torch.save(model, buffer)
    yield buffer.getvalue()


def damaged(content, chance):
    """The bytes with some of them changed, left out, doubled or moved."""
    content = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at = chance.randrange(len(content))
        size = chance.choice([1, 2, 4, 8, 50])
        kind = chance.randrange(6)
        if kind == 0:
            content[at] = chance.randrange(256)
        elif kind == 1:
            content[at : at + 4] = struct.pack("<I", chance.choice([0, 1, 2**31, 2**32 - 1]))
        elif kind == 2:
            del content[at : at + size]
        elif kind == 3:
            content[at:at] = content[at : at + size]
        elif kind == 4:
            content[at:at] = bytes([chance.choice(OPCODES)])
        else:
            del content[at:]
        content = content or bytearray(b"\0")
    return bytes(content)


def with_other_pickle(content, chance):
    """An archive whose pickle alone is damaged, so that the reader gets as far as that."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, damaged(data, chance) if name.endswith(".pkl") else data)
    return changed.getvalue()


def made_up(chance):
    """An archive with a pickle of opcodes by chance."""
    pieces = [
        lambda: hostile.named(*chance.choice(NAMES)),
        lambda: hostile.number(chance.choice([0, 1, 2, 3, 4, -1, 2**40, 2**70])),
        lambda: hostile.text(chance.choice(["storage", "0", "cpu", "latin1", "f4", "O8", "conj"])),
        lambda: hostile.tensor(),
        lambda: hostile.storage(),
        lambda: bytes([chance.choice(OPCODES)]),
        lambda: chance.choice(
            [b"(", b"t", b")", b"R", b"b", b"\x81", b"Q", b"}", b"]", b"s", b"a"]
        ),
        lambda: b"q\1",
        lambda: b"h\1",
    ]
    pickled = b"".join(chance.choice(pieces)() for _ in range(chance.randrange(1, 40)))
    return hostile.archive(pickled).getvalue()


def hostile_files(count, seed):
    """So many files, the same for the same seed."""
    chance = random.Random(seed)
    sound = list(sound_files())
    zipped = [content for content in sound if content.startswith(b"PK")]
    for number in range(count):
        if number % 3 == 0:
            yield damaged(chance.choice(sound), chance)
        elif number % 3 == 1:
            yield with_other_pickle(chance.choice(zipped), chance)
        else:
            yield made_up(chance)


def prepare():
    """Have Python import what `pickletools` decodes old texts with: that is no code of a file's."""
    codecs.lookup("raw-unicode-escape")


def outcome(content, weights_only):
    """The class of error that loading raises; None if it succeeds. Other errors come through."""
    try:
        torch.load(io.BytesIO(content), weights_only=weights_only)
    except DOCUMENTED as error:
        str(error)
        return type(error)
    return None


def main(count):
    def watch(event, arguments):
        # What a pickle could reach for; imports by the library itself have happened by now.
        if event in ("os.system", "subprocess.Popen", "exec", "os.mkdir", "socket.connect"):
            raise AssertionError(f"{event} {arguments}")

    files = hostile_files(count, int.from_bytes(os.urandom(4)))
    outcome(next(files), False)
    prepare()
    sys.addaudithook(watch)
    for number, content in enumerate(files):
        try:
            outcome(content, number % 2 == 0)
        except Exception:
            with open(f"fuzz-{number}.pt", "wb") as file:
                file.write(content)
            raise


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
