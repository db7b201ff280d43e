"""Files in the safetensors format, with the functions of the package's own `safetensors.torch`.

The package checks and writes the header; the bytes go straight between the file and the tensors.
Source: https://github.com/huggingface/safetensors, the section "Format".
"""

from __future__ import annotations

import importlib
import json
import os
import struct
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np

from lamina import dtypes
from lamina.core.tensor import Tensor
from lamina.devices import CPU, backend_of, is_host, to_device
from lamina.errors import (
    ArgumentTypeError,
    DataMismatch,
    FileFormatError,
    InvalidValue,
    MissingExtra,
    NotSupported,
)
from lamina.io.replacing import replaced
from lamina.ops.making import place_of_device, settle

__all__ = ["load", "load_file", "load_metadata", "save", "save_file"]

_BYTE: Final = np.dtype(np.uint8)
_LONGEST_HEADER: Final = 100_000_000  # the package's own limit

_CODES: Final = {
    dtypes.float64: "F64", dtypes.float32: "F32", dtypes.float16: "F16", dtypes.bfloat16: "BF16",
    dtypes.int64: "I64", dtypes.int32: "I32", dtypes.int16: "I16", dtypes.int8: "I8",
    dtypes.uint64: "U64", dtypes.uint32: "U32", dtypes.uint16: "U16", dtypes.uint8: "U8",
    dtypes.bool_: "BOOL", dtypes.float8_e4m3fn: "F8_E4M3", dtypes.float8_e5m2: "F8_E5M2",
    dtypes.complex64: "C64",
}  # fmt: skip
_KINDS: Final = {code: kind for kind, code in _CODES.items()}


def save_file(
    tensors: Mapping[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write named tensors into a file; it is replaced in one step, as by `lamina.save`.

    Args:
        tensors: by name; contiguous, and no two of them over the same memory.
        filename: the path, by custom ending in `.safetensors`.
        metadata: texts by name, to be kept beside the tensors.

    Raises:
        InvalidValue: (ValueError) For a tensor that is not contiguous.
        DataMismatch: (RuntimeError) For tensors that share memory.
        NotSupported: (NotImplementedError) For a dtype that the format does not have.
        MissingExtra: (ImportError) Without the package `safetensors`.

    >>> import lamina, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"w": lamina.ones(2)}, f"{folder}/w.safetensors", {"format": "pt"})
    ...     load_file(f"{folder}/w.safetensors")
    {'w': tensor([1., 1.])}
    """
    specs, kept = _described(tensors)
    # The package writes by path, into the unfinished file that is about to take the name.
    with replaced(filename) as file:
        _package().serialize_file(specs, file.name, _texts(metadata))
    del kept


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """What `save_file` would write, as bytes.

    >>> import lamina
    >>> load(save({"w": lamina.ones(2)}))
    {'w': tensor([1., 1.])}
    """
    specs, kept = _described(tensors)
    content = bytes(_package().serialize(specs, _texts(metadata)))
    del kept
    return content


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file, by name, on a device.

    Raises:
        FileFormatError: (RuntimeError) If it is no safetensors file.
        NotSupported: (NotImplementedError) For a dtype that Lamina does not have.
        MissingExtra: (ImportError) Without the package `safetensors`.
    """
    place = place_of_device(device)
    _check_file(filename)
    found = {}
    with open(filename, "rb") as file:
        header, start = _header(file)
        for name, entry in header.items():
            first, last = entry["data_offsets"]
            content: Any = np.empty(last - first, _BYTE)
            file.seek(start + first)
            if file.readinto(content) != content.size:
                raise _broken(filename, f"it ends before the tensor {name!r}")
            found[name] = _tensor(content, entry["dtype"], entry["shape"], place)
    return found


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in bytes that `save` gave, by name."""
    package = _package()
    try:
        entries = package.deserialize(data)
    except package.SafetensorError as error:
        raise _broken("this", str(error)) from error
    return {
        name: _tensor(np.frombuffer(entry["data"], _BYTE), entry["dtype"], entry["shape"], CPU)
        for name, entry in entries
    }


def load_metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The texts that a file keeps beside its tensors.

    >>> import lamina, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"w": lamina.ones(2)}, f"{folder}/w.safetensors", {"format": "pt"})
    ...     load_metadata(f"{folder}/w.safetensors")
    {'format': 'pt'}
    """
    return _check_file(filename)


# --- the parts ------------------------------------------------------------------------------------


def _package() -> Any:
    try:
        return importlib.import_module("safetensors")
    except ImportError:
        raise MissingExtra(
            "files in the safetensors format need the package safetensors",
            help=["pip install 'lamina[full]'", "or use lamina.save and lamina.load"],
        ) from None


def _broken(name: Any, what: str) -> FileFormatError:
    return FileFormatError(
        f"{os.fspath(name)} is no sound safetensors file: {what}",
        help=["for what torch.save wrote, use lamina.load"],
    )


def _texts(metadata: Mapping[str, str] | None) -> dict[str, str] | None:
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ArgumentTypeError(
                f"safetensors metadata must be texts by name, not {key!r}: {value!r:.60}",
                help=["write numbers as texts: {'epoch': '3'}"],
            )
    return None if metadata is None else dict(metadata)


def _described(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Any], list[Any]]:
    """What the package wants to know of each tensor, and the arrays that must live meanwhile."""
    if not isinstance(tensors, Mapping):
        raise ArgumentTypeError(
            f"Expected a dict of [str, torch.Tensor] but received {type(tensors).__name__}",
            help=["give named tensors, such as model.state_dict()"],
        )
    package, specs, kept = _package(), {}, []
    for name, tensor in tensors.items():
        _check(name, tensor)
        if not is_host(tensor._array):
            tensor = tensor.cpu()
        array = tensor._array
        kept.append(array)
        specs[name] = package.TensorSpec(
            dtype=tensor.dtype.name,
            shape=tuple(array.shape),
            data_ptr=array.ctypes.data,
            data_len=array.nbytes,
        )
    _check_shared(tensors)
    return specs, kept


def _check(name: Any, tensor: Any) -> None:
    if not isinstance(name, str) or not isinstance(tensor, Tensor):
        raise ArgumentTypeError(
            f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor).__name__}",
            help=["safetensors files hold tensors by name; keep other values in `metadata`"],
        )
    if not tensor.is_contiguous():
        raise InvalidValue(
            f"You are trying to save a non contiguous tensor: `{name}`",
            help=["lay its elements side by side first: `.contiguous()`"],
        )
    if tensor.dtype not in _CODES:
        raise NotSupported(
            f"safetensors files have no {tensor.dtype} (tensor `{name}`)",
            help=["save its real and imaginary parts, or use lamina.save"],
        )


def _check_shared(tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors over the same memory: loading would make several of them."""
    spans = sorted(
        (str(tensor.device), tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes, name)
        for name, tensor in tensors.items()
        if tensor.nbytes and not tensor.is_meta
    )
    for first, second in pairwise(spans):
        if first[0] == second[0] and second[1] < first[2]:
            raise DataMismatch(
                f"Some tensors share memory, this will lead to duplicate memory on disk and "
                f"potential differences when loading them again: {{{first[3]!r}, {second[3]!r}}}",
                help=[
                    "save one of them, and tie them again after loading",
                    "or use lamina.save, which keeps what is shared",
                ],
            )


def _check_file(filename: str | os.PathLike[str]) -> dict[str, str]:
    """Have the package check a file's header; returns its metadata."""
    package = _package()
    try:
        with package.safe_open(os.fspath(filename), framework="np") as opened:
            found = opened.metadata()
    except package.SafetensorError as error:
        raise _broken(filename, str(error)) from error
    return dict(found or {})


def _header(file: Any) -> tuple[dict[str, Any], int]:
    """What a checked file says of its tensors, and where their bytes begin."""
    (length,) = struct.unpack("<Q", file.read(8))
    header: dict[str, Any] = json.loads(file.read(min(length, _LONGEST_HEADER)))
    header.pop("__metadata__", None)
    return header, 8 + length


def _tensor(content: Any, code: str, shape: Any, place: Any) -> Tensor:
    kind = _KINDS.get(code)
    if kind is None:
        raise NotSupported(f"Lamina has no elements of the safetensors type {code}")
    array = content.view(kind.numpy).reshape(tuple(shape))
    return settle(to_device(array, backend_of(place).device), "load_file", False)
