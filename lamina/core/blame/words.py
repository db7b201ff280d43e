"""Words for tensors, nodes and places in error texts."""

from __future__ import annotations

import sys
from typing import Any, Final

from lamina import dtypes
from lamina.core.provenance import name_of, place_of, user_frame
from lamina.errors import Place

INFERENCE_HELP: Final = "clone it outside inference_mode: `t = t.clone()`, or use no_grad() instead"

Note = tuple[Place | None, str]


def this_place() -> Place:
    """The expression that the user's program is at."""
    frame = user_frame(sys._getframe(1))
    return place_of(frame.f_code, frame.f_lasti)



def called(tensor: Any, default: str = "the tensor") -> str:
    """A tensor's name in the user's frame, in backquotes, or a word for it."""
    name = plain_name(tensor)
    return f"`{name}`" if name else default


def plain_name(tensor: Any) -> str | None:
    """The name of a tensor in the user's frame, if it has one there."""
    return name_of(tensor, user_frame(sys._getframe(1)))


def op_word(node: Any) -> str:
    """The operation a node belongs to, as users write it: `tanh` for TanhBackward0."""
    if node.op is not None:
        word: str = node.op.name
        return word
    return str(node.name()).removesuffix("0").removesuffix("Backward")


def node_place(node: Any) -> Place:
    """The expression that recorded a node."""
    return place_of(node.code, node.lasti)


def made_at(tensor: Any) -> Place | None:
    """The expression that made a tensor, if it is known."""
    node = tensor._node
    if node is not None:
        return node_place(getattr(node, "node", node))
    origin = tensor._origin
    return None if origin is None else place_of(origin[0], origin[1])


def made_note(tensor: Any, word: str = "made here") -> list[Note]:
    """A note that shows where a tensor was made; empty if that is unknown."""
    place = made_at(tensor)
    return [] if place is None else [(place, word)]


def dims(shape: Any) -> str:
    """A shape as PyTorch writes it in errors."""
    return str(list(shape))


def describe(tensor: Any) -> str:
    """Type and shape in PyTorch's words, as in `torch.FloatTensor [2, 3]`."""
    return f"{legacy_type(tensor.dtype, tensor.device)} {dims(tensor._array.shape)}"


_LEGACY: Final = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
    "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
    "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def legacy_type(kind: dtypes.dtype, where: Any = None) -> str:
    """The name of a tensor type as `Tensor.type()` gives it: `torch.FloatTensor`."""
    space = "torch.cuda." if where is not None and where.type == "cuda" else "torch."
    return f"{space}{_LEGACY.get(kind.name, kind.name)}Tensor"
