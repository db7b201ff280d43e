"""Who asks for a name: an import statement, or an expression, or a question such as `hasattr`?

Python answers a failed `from torch import x` and `import torch.x` with words of its own, which name
no repair. What it is doing can be read from the frames, so the right error is raised before that.
"""

from __future__ import annotations

import dis
import types

from lamina.core.positions import internal_files
from lamina.core.provenance import place_of
from lamina.errors import Place

__all__ = ["is_from_import", "is_import", "is_written_out", "place_outside"]

_IMPORT_FROM = dis.opmap["IMPORT_FROM"]
_ATTRIBUTES = {dis.opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in dis.opmap}


def is_from_import(frame: types.FrameType) -> bool:
    """Whether a frame is at an instruction that takes a name out of a module: `from m import x`."""
    return frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM


def is_written_out(frame: types.FrameType) -> bool:
    """Whether a program takes a name by writing it: not by `hasattr`, nor by `getattr`."""
    return frame.f_code.co_code[frame.f_lasti] in (_IMPORT_FROM, *_ATTRIBUTES)


def is_import(frame: types.FrameType | None) -> bool:
    """Whether a finder that runs below `frame` is asked by an import, or only by `find_spec`."""
    while frame is not None and _is_import_system(frame):
        if frame.f_code.co_name == "_find_and_load_unlocked":
            return True
        frame = frame.f_back
    return False


def place_outside(frame: types.FrameType | None) -> Place | None:
    """The place in the user's program from which `frame` was reached."""
    while frame is not None:
        if not _is_import_system(frame) and frame.f_code.co_filename not in internal_files:
            return place_of(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return None


def _is_import_system(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith("<frozen importlib")
