"""What a graph is to those who draw it: plain records of numbers and words.

Readers (`own_reader`, `torch_reader`) make these records from a library's graph; `text`, `svg` and
`page` draw them. Nothing here holds a tensor, so a model outlives the graph that it describes, and
`as_json` gives all of it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, final

from lamina.errors import Place

OPERATION: Final = "operation"
LEAF: Final = "leaf"
DATA: Final = "data"

NodeKind = Literal["operation", "leaf", "data"]
"""An operation; a leaf that collects a gradient; or a tensor that needs none and was kept."""


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a tensor or a gradient: its shape and dtype, None where nobody can tell."""

    shape: tuple[int, ...] | None = None
    dtype: str | None = None

    def __str__(self) -> str:
        shape = "[?]" if self.shape is None else str(list(self.shape))
        return shape if self.dtype is None else f"{shape} {self.dtype}"


@final
@dataclass(frozen=True, slots=True)
class Kept:
    """One value that an operation keeps for its derivative.

    Args:
        what: What it is to the operation, such as "input", "mat2" or "its result".
        facts: Its shape and dtype.
        bytes: The size of its elements.
        memory: A number for the piece of memory that it lies in: counted once.
        memory_bytes: The size of that piece: a view keeps its whole base alive.
        is_extra: Whether it was computed on the way. Leaves, and data that the program holds under
            a name, are there anyway and cost nothing more.
        node: The node of the graph that it is the result of, or the leaf that it is.
    """

    what: str
    facts: Facts
    bytes: int
    memory: int
    memory_bytes: int
    is_extra: bool
    node: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Node:
    """An operation, a leaf, or data.

    Args:
        id: Its number; operations are numbered as they ran, after all that they were computed from.
        kind: Which of the three it is.
        word: The operation as users write it, such as "tanh"; for a tensor "leaf" or "data".
        class_name: The graph's name for it, such as "TanhBackward0".
        name: What the program calls the result: a variable, or the path of a parameter.
        outputs: The results, or the tensor itself.
        kept: What is kept for backward.
        place: The expression that it comes from.
        stamp: When the operation ran: numbers of one counter, 0 for tensors.
        group: The innermost group that it belongs to.
        notes: What else is worth saying, one sentence each.
        problem: Why a backward pass will fail here; empty if it will not.
        keeps_gradient: Whether the gradient that arrives is kept in `.grad`.
        has_gradient: Whether `.grad` holds one already, to which the next one is added.
    """

    id: int
    kind: NodeKind
    word: str
    class_name: str
    name: str | None
    outputs: tuple[Facts, ...]
    kept: tuple[Kept, ...] = ()
    place: Place | None = None
    stamp: int = 0
    group: int | None = None
    notes: tuple[str, ...] = ()
    problem: str = ""
    keeps_gradient: bool = False
    has_gradient: bool = False


@final
@dataclass(frozen=True, slots=True)
class Values:
    """What the numbers of one gradient are like: measured in a rehearsal of the backward pass."""

    norm: float
    largest: float
    nans: int
    infinities: int
    zeros: int
    count: int

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are."""
        return not (self.nans or self.infinities)

    @property
    def brief(self) -> str:
        """The norm, and what is remarkable."""
        parts = [f"norm {self.norm:.4g}"]
        parts += [f"{self.nans} NaN"] * (self.nans > 0)
        parts += [f"{self.infinities} infinite"] * (self.infinities > 0)
        parts += ["all zero"] * (self.count > 0 and self.zeros == self.count)
        return ", ".join(parts)

    def __str__(self) -> str:
        return f"{self.brief}, largest {self.largest:.4g}"


GradientState = Literal["defined", "undefined", "unknown", "unwanted"]
"""A gradient goes along an edge; None goes; nobody can tell; or none is computed, as for data."""


@final
@dataclass(frozen=True, slots=True)
class Edge:
    """The result of `source` is an input of `target`; its gradient goes the other way.

    Args:
        source: The node that made the tensor.
        target: The operation that used it.
        output: Which result of `source` it is.
        input: Which input of `target` it is.
        state: Whether a gradient goes along it.
        gradient: The gradient's shape and dtype.
        values: What its numbers are like, if they were computed.
    """

    source: int
    target: int
    output: int
    input: int
    state: GradientState
    gradient: Facts
    values: Values | None = None


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that can be folded into one box: a module's call, or a part of a long program.

    Args:
        id: Its number.
        parent: The group around it.
        label: What it is called, such as "blocks.0".
        path: The whole path, such as "model.blocks.0"; that of the group around it for a part.
        detail: The module's class, or the lines of a part.
        kind: "module", or "part" where a long stretch was divided.
    """

    id: int
    parent: int | None
    label: str
    path: str
    detail: str
    kind: Literal["module", "part"]


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One step of the backward pass.

    Args:
        node: The node whose gradient is complete now.
        action: "run" for an operation: its derivative turns this gradient into those of its inputs;
            "accumulate" for a leaf: the gradient is added to `.grad`.
        arrived: The edges on which it came, as their places in `GraphModel.edges`; the pass's
            start has none.
        sent: The edges on which gradients go on.
        sentence: What happens, in words.
    """

    node: int
    action: Literal["run", "accumulate"]
    arrived: tuple[int, ...]
    sent: tuple[int, ...]
    sentence: str


@final
@dataclass(frozen=True, slots=True)
class GraphModel:
    """A graph: what there is, what belongs together, and what a backward pass would do.

    Args:
        title: What the graph is of.
        library: "lamina" or "torch".
        nodes: In the order of their numbers.
        edges: From what was computed to what it was used for.
        groups: In the order of their numbers; a group comes after its parent.
        roots: The nodes that the backward pass begins at.
        steps: The backward pass, in the order of PyTorch's engine.
        kept_bytes: The memory of all that is kept and was computed on the way, each piece once.
        notes: What is to be said of the whole.
    """

    title: str
    library: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...]
    roots: tuple[int, ...]
    steps: tuple[Step, ...]
    kept_bytes: int
    notes: tuple[str, ...] = ()

    def count(self, kind: NodeKind) -> int:
        """How many nodes of a kind there are."""
        return sum(node.kind == kind for node in self.nodes)

    def as_json(self) -> dict[str, Any]:
        """All of it as dicts, lists, numbers and strings."""
        found = asdict(self)
        for node in found["nodes"]:
            node["place"] = _place_as_json(node["place"])
        return found


def _place_as_json(place: Place | None) -> dict[str, Any] | None:
    return None if place is None else {
        "file": place.file, "line": place.line, "text": place.text, "start": place.start,
        "end": place.end, "expression": place.expression, "function": place.function,
    }  # fmt: skip
