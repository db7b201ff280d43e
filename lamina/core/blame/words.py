"""Words for tensors, nodes and places in error texts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from lamina import dtypes
from lamina.codegen.later import Later
from lamina.core.positions import user_frame
from lamina.core.records import leaves_behind
from lamina.errors import Place

if TYPE_CHECKING:
    from lamina.core import provenance
else:
    provenance = Later("lamina.core.provenance")

INFERENCE_HELP: Final = "clone it outside inference_mode: `t = t.clone()`, or use no_grad() instead"


def inference_help(tensor: Any) -> str:
    """What to do about a tensor that was made in inference mode."""
    name = a_name(tensor)
    instead = "or make it under torch.no_grad() instead"
    return f"outside inference_mode, clone it: `{name}.clone()`; {instead}"


Note = tuple[Place | None, str]


def this_place() -> Place:
    """The expression that the user's program is at."""
    frame = user_frame(sys._getframe(1))
    return provenance.place_of(frame.f_code, frame.f_lasti)


def called(tensor: Any, default: str = "the tensor") -> str:
    """A tensor's name in the user's frame, in backquotes, or a word for it."""
    name = plain_name(tensor)
    return f"`{name}`" if name else default


def plain_name(tensor: Any) -> str | None:
    """The name of a tensor in the user's frame, if it has one there."""
    return provenance.name_of(tensor, user_frame(sys._getframe(1)))


def name_of_object(value: object) -> str | None:
    """What the user's frame calls any object, such as a generator."""
    return provenance.name_of(value, user_frame(sys._getframe(1)))


def op_word(node: Any) -> str:
    """The operation a node belongs to, as users write it: `tanh` for TanhBackward0."""
    if node.op is not None:
        return op_name(node.op.name)
    if node._word is not None:
        return str(node._word)
    return type(node).__name__.rstrip("0123456789").removesuffix("Backward")


def op_name(name: str) -> str:
    """A declared operation as users write it: `pow` for the internal `pow_number`."""
    if name in _WORDS:
        return _WORDS[name]
    for suffix in _FORMS:
        name = name.removesuffix(suffix)
    return name


_WORDS: Final = {
    "to_copy": "the "
               "conversion", "slice_view": "indexing", "select": "indexing", "index": "indexing",
    "broadcast_to": "expand", "contract": "einsum", "copied": "clone", "rpow": "pow",
    "bernoulli_like": "bernoulli", "linear_of_matrix": "linear",
    "linear_of_batch": "linear", "linear_of_vector": "linear",
    "linear_of_batch_without_bias": "linear",
}  # fmt: skip
_FORMS: Final = (
    "_number", "_tensor", "_tensors", "_all", "_along", "_dim", "_dims", "_scaled", "_of", "_with",
    "_decimals", "_stable", "_src", "_value", "_in_place",
)  # fmt: skip


def node_place(node: Any) -> Place:
    """The expression that recorded a node."""
    return provenance.place_of(node.code, node.lasti)


def made_at(tensor: Any) -> Place | None:
    """The expression that made a tensor, if it is known."""
    node = tensor._node
    if node is not None:
        return node_place(getattr(node, "node", node))
    origin = made_origin(tensor)
    return None if origin is None else provenance.place_of(origin[0], origin[1])


def made_origin(tensor: Any) -> Any:
    """The origin of a tensor as it was made, also if it was frozen or written to since."""
    notes = tensor.__dict__
    return notes.get("created") or tensor._origin or notes.get("was_leaf")


def node_of(tensor: Any) -> Any:
    """The node that made a tensor; None for a leaf."""
    node = tensor._node
    return getattr(node, "node", node)


def leaves_of(tensor: Any, limit: int = 10_000) -> list[Any]:
    """The leaves that a tensor was computed from, nearest first."""
    return leaves_behind(tensor, limit)[1:]


def nodes_behind(*edges: Any, limit: int = 20_000) -> list[Any]:
    """The nodes that edges lead to, and those behind them."""
    found: list[Any] = []
    seen: set[int] = set()
    waiting = list(edges)
    while waiting and len(found) < limit:
        edge = waiting.pop()
        node = getattr(edge, "node", edge)
        if node is None or hasattr(node, "_array") or id(node) in seen:
            continue
        seen.add(id(node))
        found.append(node)
        waiting.extend(node.next)
    return found


def is_move(node: Any) -> bool:
    """Whether a node is a move to another device or a cast to another dtype."""
    op = getattr(node, "op", None)
    return op is not None and op.name == "to_copy"


def move_keyword(node: Any) -> str | None:
    """The keyword of a factory function that makes a move needless: "device" or "dtype"."""
    if not is_move(node) or node.context is None:
        return None
    dtype, where = (node.context.values[node.op.names.index(key)] for key in ("dtype", "device"))
    return "device" if where is not None else "dtype" if dtype is not None else None


def first_name(tensor: Any) -> str | None:
    """The name that a tensor was given where it was made, whatever it is called now."""
    node = node_of(tensor)
    if node is not None and "was_leaf" not in tensor.__dict__:
        return provenance.assigned_name(node.code, node.lasti)
    origin = tensor.__dict__.get("was_leaf") or made_origin(tensor)
    if origin is None:
        return None
    if (
        tensor._is_param
        and "Parameter(" not in provenance.place_of(origin[0], origin[1]).expression
    ):
        return None  # made inside of what is called there: a layer
    return provenance.assigned_name(origin[0], origin[1], chain=True)


def a_name(tensor: Any, default: str = "t") -> str:
    """A name to use for a tensor in code: what it is called here, or was called, or `default`."""
    return plain_name(tensor) or first_name(tensor) or default


def short(text: str, width: int = 50) -> str:
    """An expression cut to a width that fits into a sentence."""
    return text if len(text) <= width else text[: width - 3] + "..."


def listing(names: list[str], most: int = 3) -> str:
    """Names in backquotes: "`a`, `b` and 2 more"."""
    shown = [f"`{name}`" for name in names[:most]]
    if len(names) > most:
        return ", ".join(shown) + f" and {len(names) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def made_note(tensor: Any, word: str = "made here") -> list[Note]:
    """A note that shows where a tensor was made; empty if that is unknown."""
    place = made_at(tensor)
    return [] if place is None else [(place, word)]


def dims(shape: Any) -> str:
    """A shape as PyTorch writes it in errors."""
    return str(list(shape))


_LEGACY: Final = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
    "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
    "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def legacy_type(kind: dtypes.dtype, where: Any = None) -> str:
    """The name of a tensor type as `Tensor.type()` gives it: `torch.FloatTensor`."""
    space = "torch.cuda." if where is not None and where.type == "cuda" else "torch."
    return f"{space}{_LEGACY.get(kind.name, kind.name)}Tensor"


def word_of(kind: dtypes.dtype) -> str:
    """PyTorch's old name of a dtype, which its messages still use: `Float`, `Long`."""
    return _LEGACY.get(kind.name, kind.name)
