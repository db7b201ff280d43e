"""The archives themselves: what is written is sound, and what is not sound is refused."""

import io
import struct
import zipfile

import pytest

import lamina as torch
from lamina.errors import FileFormatError
from lamina.io import archive_writer
from lamina.io.archive_reader import ArchiveReader
from lamina.io.archive_writer import ALIGNMENT, ArchiveWriter
from tests.io.hostile import archive, tensor


def written(entries):
    file = io.BytesIO()
    archive = ArchiveWriter(file, "root")
    for name, content in entries.items():
        archive.add(name, content)
    archive.finish()
    archive.close()
    return file


ENTRIES = {"data.pkl": b"abc", "data/0": b"x" * 1000, "data/1": b"", "long name é": b"\0" * 65}


@pytest.mark.parametrize("limit", [0xFFFFFFFF, 900, 100])
def test_bytes_lie_at_multiples_of_64_also_with_64_bit_fields(limit, monkeypatch):
    monkeypatch.setattr(archive_writer, "LARGE", limit)
    file = written(ENTRIES)
    with zipfile.ZipFile(file) as zipped:
        assert zipped.testzip() is None
        assert {name: zipped.read(f"root/{name}") for name in ENTRIES} == ENTRIES
    reader = ArchiveReader(file, "file")
    assert {name: reader.read(f"root/{name}") for name in ENTRIES} == ENTRIES
    assert [entry.start % ALIGNMENT for entry in reader.entries.values()] == [0] * len(ENTRIES)


def test_the_same_content_gives_the_same_bytes():
    first, second = io.BytesIO(), io.BytesIO()
    for file in (first, second):
        torch.save({"a": torch.ones(3)}, file)
    assert first.getvalue() == second.getvalue()


def refused(file, phrase):
    with pytest.raises(FileFormatError, match=phrase) as caught:
        torch.load(file)
    assert caught.value.help


def test_a_changed_byte_is_noticed():
    file = io.BytesIO()
    torch.save(torch.full((100_000,), 1.0), file)
    content = bytearray(file.getvalue())
    content[content.index(struct.pack("<f", 1.0)) + 5000] ^= 1
    refused(io.BytesIO(content), "checksum")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_off(part):
    file = io.BytesIO()
    torch.save({"a": torch.ones(1000)}, file)
    content = file.getvalue()
    refused(io.BytesIO(content[: int(len(content) * part)]), "central directory")


def test_two_entries_of_one_name():
    file = archive(tensor())
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(file, "a") as zipped:
        zipped.writestr("archive/data/0", b"\0" * 16)
    file.seek(0)
    refused(file, "two entries named")


def test_entries_over_the_same_bytes():
    file = archive(tensor(), {"archive/data/1": b"\0" * 16})
    content = bytearray(file.getvalue())
    # Let the directory say that the second storage's bytes are the first one's.
    directory = content.index(b"PK\x01\x02")
    first, second = (content.index(name, directory) for name in (b"data/0", b"data/1"))
    content[second : second + 6] = b"data/0"
    position = slice(first - 8 - 4, first - 8)
    content[second - 12 : second - 8] = content[position]
    refused(io.BytesIO(content), "overlap|two entries|two names")


@pytest.mark.parametrize("name", ["/etc/passwd", "archive/../../x", "archive\\x", "a//b", "C:x"])
def test_names_that_lead_out_of_the_archive(name):
    refused(archive(tensor(), {name: b"x"}), "leads out of it")


def test_a_bomb_of_zeros():
    file = archive(tensor(), {"archive/data/0": b"\0" * (50 << 20)}, zipfile.ZIP_DEFLATED)
    assert len(file.getvalue()) < 100_000
    refused(file, "zip bomb")


def test_a_size_that_is_not_what_comes_out():
    file = archive(tensor(), compression=zipfile.ZIP_DEFLATED)
    content = bytearray(file.getvalue())
    directory = content.index(b"PK\x01\x02", content.index(b"data/0"))
    second = content.index(b"PK\x01\x02", directory + 4)
    struct.pack_into("<I", content, second + 24, 18)
    refused(io.BytesIO(content), "another size")


def test_encrypted_entries():
    content = bytearray(archive(tensor()).getvalue())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    refused(io.BytesIO(content), "encrypted")


def test_an_archive_without_a_pickle():
    refused(archive(b"", {"archive/data.pkl": None}), r"without a data\.pkl")


def test_a_storage_that_is_missing():
    refused(archive(tensor(), {"archive/data/0": None}), "is missing")


@pytest.mark.parametrize("size", [0, 12, 20])
def test_a_storage_of_another_size(size):
    refused(archive(tensor(), {"archive/data/0": b"\0" * size}), f"has {size} bytes")


def test_torchscript_is_named():
    with pytest.raises(NotImplementedError, match="TorchScript"):
        torch.load(archive(tensor(), {"archive/constants.pkl": b"x"}))
