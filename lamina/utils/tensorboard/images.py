"""Pictures as they stand in event files: compressed as PNG, without a package for images.

The format is that of the PNG specification, third edition (W3C, 2025): a signature, and chunks of a
length, a name, data and a checksum.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any, Final

import numpy as np

from lamina import errors

__all__ = ["grid", "pixels", "png"]

# The number that PNG gives to pictures of 1, 2, 3, and 4 numbers a pixel.
_COLOUR_TYPES: Final = {1: 0, 2: 4, 3: 2, 4: 6}


def pixels(image: np.ndarray[Any, Any], formats: str) -> np.ndarray[Any, Any]:
    """A picture as bytes of shape (height, width, channels), of whatever order its dimensions are.

    Bytes stay as they are; other numbers are taken to go from 0 to 1. One channel becomes three.

    Args:
        formats: What the dimensions are, such as "CHW", "HWC" or "HW"; with an "N", for several
            pictures, they are put into a grid.
    """
    wanted = formats.upper()
    if len(wanted) != image.ndim or len(set(wanted)) != len(wanted) or set(wanted) - set("NCHW"):
        raise errors.DatasetMismatch(
            f"size of input tensor and input format are different: the shape is "
            f"{tuple(image.shape)}, and dataformats is {formats!r}",
            help=["name each dimension by one of the letters N, C, H and W"],
        )
    if "C" not in wanted:
        image, wanted = image[..., None], wanted + "C"
    if "N" in wanted:
        image = grid(image.transpose([wanted.index(letter) for letter in "NHWC"]))
    else:
        image = image.transpose([wanted.index(letter) for letter in "HWC"])
    if image.dtype != np.uint8:
        image = (image.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)
    return np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image


def grid(images: np.ndarray[Any, Any], columns: int = 8) -> np.ndarray[Any, Any]:
    """Pictures of shape (N, H, W, C) side by side, in rows of eight."""
    count, height, width, channels = images.shape
    across = min(count, columns)
    down = math.ceil(count / across)
    whole = np.zeros((down * across, height, width, channels), images.dtype)
    whole[:count] = images
    rows = whole.reshape(down, across, height, width, channels).transpose(0, 2, 1, 3, 4)
    return rows.reshape(down * height, across * width, channels)


def png(image: np.ndarray[Any, Any]) -> bytes:
    """Bytes of shape (height, width, channels) as a PNG file."""
    height, width, channels = image.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    # Each row begins with the number of its filter: 0 is none.
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = image.reshape(height, -1)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
