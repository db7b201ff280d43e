"""The op record: one statement declares an operation, and everything else follows from it.

    exp = unary("exp", np.exp, grad=lambda F, g, out: g * out, doc="...")
    gather = operation("gather", _gather, grad={"input": lambda F, g, input_shape, dim, index: ...})

The kernel is a function of raw arrays with the public signature. A rule's parameter names say what
it needs, and so what is kept for it: an input's name, `out` (or `out0`, `out1`), `<input>_shape`,
any other parameter of the kernel, or `needs`. An input without a rule has no derivative;
`NOT_WRITTEN` raises an error that names the op; `ZERO` is a derivative that is zero everywhere.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, final

from lamina import errors
from lamina.core.blame.words import op_name
from lamina.core.node import Node
from lamina.core.numpy_names import renamed
from lamina.core.parameters import defaults_of, innermost, parameters_of, positional_count
from lamina.late_names import OPERATIONS

Rule = Callable[..., Any]


@final
class Namespace:
    """The functions that rules may call, by name. There is one for raw arrays, one for tensors."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<functions of {self._name}>"

    def __getattr__(self, name: str) -> Any:
        # A rule may need an operation of a chapter that nobody has loaded yet.
        if name in OPERATIONS:
            importlib.import_module(OPERATIONS[name])
            if name in vars(self):
                return vars(self)[name]
        raise AttributeError(f"no op named {name!r} is declared for {self._name}")


raw: Final = Namespace("raw arrays")
traced: Final = Namespace("tensors")


def offer(name: str, on_arrays: Callable[..., Any], on_tensors: Callable[..., Any]) -> None:
    """Let rules call a function that is no declared operation, such as a factory."""
    setattr(raw, name, on_arrays)
    setattr(traced, name, on_tensors)


catalogue: Final[dict[str, Op]] = {}
"""Every declared operation by name: what the tests go through."""


def NOT_WRITTEN(F: Any, g: Any) -> Any:
    """The derivative exists, and nobody has written it down yet: in its place stands `_missing`."""
    raise AssertionError("an operation has a rule of its own instead, which knows its name")


def is_written(rule: Rule | None) -> bool:
    """Whether an operation's rule gives a derivative."""
    return rule is not None and innermost(rule) is not NOT_WRITTEN


def _missing(name: str, input: str) -> Rule:
    """The rule of a derivative that nobody has written down yet; for one input, or for all ("")."""

    @functools.wraps(NOT_WRITTEN)
    def rule(F: Any, g: Any) -> Any:
        word = op_name(name).removeprefix("special_") + f": {input}" * bool(input)
        raise errors.NotDifferentiable(
            f"the derivative for '{word}' is not implemented",
            help=["if no gradient is wanted through it, pass `x.detach()` in place of `x`"],
        )

    return rule


def ZERO(F: Any, g: Any) -> Any:
    """The derivative is zero wherever it exists."""
    return F.zeros_like(g)


def SAME(F: Any, g: Any) -> Any:
    """The gradient passes through unchanged."""
    return g


class Joint(NamedTuple):
    """One rule for all inputs that says for each which kept values its gradient needs."""

    rule: Rule
    kept_for: Mapping[str, str]


# What promotion does with the dtypes of the tensor inputs before the kernel sees them.
KEEP: Final = "keep"
PROMOTE: Final = "promote"
TO_FLOAT: Final = "to float"

# What the tangent of an operation's result is made by (forward mode): its derivative rule
# differentiated by the gradient, which always works; or the operation itself on the tangents; or
# the derivative rule on the tangents; or the operation with one factor after another replaced.
GENERAL: Final = "general"
LINEAR: Final = "linear"
POINTWISE: Final = "pointwise"
PRODUCT: Final = "product"


@final
class Op:
    """One operation: its kernel, its rules, what they keep, its dtypes, samples and words."""

    constants: tuple[int, ...] = ()
    """Which of several outputs never require grad, such as the pivots of an LU factorization."""
    is_flat = False
    """Whether in-place results count as differentiable, with zeros: comparisons."""
    tangent: str = GENERAL
    """How forward mode finds the tangent of the result."""
    takes_number = False
    """Whether the second input is always a number: then the node shows no edge for it."""
    check: Callable[..., None] | None = None
    """Called with the inputs before promotion hides their dtypes; raises if they don't fit."""

    def __init__(
        self,
        name: str,
        kernel: Callable[..., Any],
        *,
        tensors: Sequence[str] | None,
        grad: Mapping[str, Rule] | Joint | Rule | None,
        node_name: str | None,
        dtypes: str,
        is_view: bool,
        result: type | None,
        halves_in_float: bool,
        samples: Any,
        doc: str,
        node_base: type[Node],
        scattered: Rule | None = None,
        of_scattered: Rule | None = None,
    ) -> None:
        self.name = name
        self.kernel = kernel
        self.names = parameters_of(kernel)
        self.defaults = defaults_of(kernel)
        self.positional = positional_count(kernel)
        self.tensor_names = tuple(tensors) if tensors is not None else self.names[:1]
        self._position = {key: position for position, key in enumerate(self.names)}
        tensor_names = [key.strip("*?#@~") for key in self.tensor_names]
        self.tensor_positions = tuple([self._position[key] for key in tensor_names])
        # (position, mark): what may stand there instead of a tensor; see `operation`.
        self.inputs = tuple(zip(self.tensor_positions, map(_mark, self.tensor_names), strict=True))
        self.dtypes = dtypes
        self.is_view = is_view
        # The NumPy ufunc that is the kernel, if one is: it can write into its first operand.
        self.ufunc: Any = None
        self.result = result
        self.halves_in_float = halves_in_float
        self.samples = samples
        self.doc = doc
        only: Mapping[str, str] = {}
        if isinstance(grad, Joint):
            grad, only = grad
        self._declare_rules(grad, only)
        self.scattered, self.of_scattered = scattered, of_scattered
        # The op's own class of node: `type(t.grad_fn).__name__` tells what was done.
        self.node_class = type(
            node_name or camel(name) + "Backward0",
            (node_base,),
            {
                "__slots__": (),
                "op": self,
                "__module__": "lamina.core.node",
                "can_scatter": scattered is not None,
                **self.saved_properties(),
            },
        )
        self._kept: dict[tuple[bool, ...], tuple[bool, ...]] = {}

    def _declare_rules(
        self, grad: Mapping[str, Rule] | Rule | None, only: Mapping[str, str]
    ) -> None:
        """Find out what the rules ask for, and so what a call must keep."""
        self.joint = grad if callable(grad) else None
        self.rules: dict[int, Rule] = self._rules_by_position(grad)
        self.slots: tuple[tuple[str, Any], ...] = ()
        self.getters: dict[int, tuple[tuple[str, Any], ...]] = {}
        self._read_rules()
        # What must be kept for the gradient of each input: all that its rule asks for, mostly.
        self.kept_for = self.getters | {
            self.names.index(name): tuple(map(self._source_of, text.split()))
            for name, text in only.items()
        }
        self.is_differentiable = grad is not None

    def _rules_by_position(self, grad: Mapping[str, Rule] | Rule | None) -> dict[int, Rule]:
        if grad is None:
            return {}
        if callable(grad):
            return dict.fromkeys(self.tensor_positions, grad)
        is_partial = any(map(is_written, grad.values()))
        rules = {
            self._position.get(key, -1): rule
            if is_written(rule)
            else _missing(self.name, key if is_partial else "")
            for key, rule in grad.items()
        }
        if not rules.keys() <= set(self.tensor_positions):
            raise TypeError(f"{self.name}: a rule for an input that is no tensor: {sorted(grad)}")
        return rules

    def _read_rules(self) -> None:
        """Turn the rules' parameter names into what to keep and where to find it again."""
        slots: list[tuple[str, Any]] = []
        for position, rule in self.rules.items():
            wanted = parameters_of(rule)[2:]
            found = tuple(self._source_of(name) for name in wanted)
            self.getters[position] = found
            slots += [s for s in found if s[0] in ("in", "out") and s not in slots]
        self.slots = tuple(slots)

    def _source_of(self, name: str) -> tuple[str, Any]:
        position = self._position.get(name)
        if position is not None:
            return ("in" if position in self.tensor_positions else "static"), position
        if name.startswith("out") and (name == "out" or name[3:].isdigit()):
            return "out", int(name[3:] or 0)
        if name == "needs":
            return "needs", None
        base, _, kind = name.rpartition("_")
        if kind in ("shape", "dtype") and self._position.get(base) in self.tensor_positions:
            return kind, self._position[base]
        raise TypeError(f"{self.name}: a rule asks for {name!r}, which is nothing this op has")

    @functools.cached_property
    def steps_back(self) -> tuple[tuple[int, int, Rule, tuple[tuple[str, int], ...]], ...]:
        """For each input with a rule: its position, its number among the tensors, the rule, and
        where what the rule asks for is found: ("kept", slot), or a place in a node's context.
        """
        return tuple(
            (position, k, self.rules[position], self._places_of(self.getters[position]))
            for k, position in enumerate(self.tensor_positions)
            if position in self.rules
        )

    @functools.cached_property
    def scattering(self) -> dict[str, tuple[Rule, tuple[tuple[str, int], ...]]]:
        """The rules `scattered` and `of_scattered`, and where what they ask for is found.

        They are given only what `grad` asks for too.
        """
        rules = {"scattered": self.scattered, "of_scattered": self.of_scattered}
        return {
            key: (rule, self._places_of(map(self._source_of, parameters_of(rule)[2:])))
            for key, rule in rules.items()
            if rule is not None
        }

    def _places_of(self, sources: Iterable[tuple[str, Any]]) -> tuple[tuple[str, int], ...]:
        """Where a node finds sources."""
        return tuple(
            ("kept", self.slots.index((kind, place)))
            if kind in ("in", "out")
            else (kind, self.tensor_positions.index(place) if kind in ("shape", "dtype") else place)
            for kind, place in sources
        )

    def kept_slots(self, needs: tuple[bool, ...]) -> tuple[bool, ...]:
        """Which slots must be kept when gradients are wanted for the inputs that `needs` names."""
        kept = self._kept.get(needs)
        if kept is None:
            used = {
                source
                for position, wanted in zip(self.tensor_positions, needs, strict=True)
                if wanted
                for source in self.kept_for.get(position, ())
            }
            kept = self._kept[needs] = tuple(slot in used for slot in self.slots)
        return kept

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The values of all parameters in order; TypeError (naming the op) if they don't fit."""
        names, defaults = self.names, self.defaults
        if len(args) > self.positional:
            raise self._misfit(
                f"takes {self.positional} positional arguments but {len(args)} were given"
            )
        values = list(args)
        used = 0
        for name in names[len(args) :]:
            if name in kwargs:
                values.append(kwargs[name])
                used += 1
            elif name in defaults:
                values.append(defaults[name])
            else:
                return self._bind_numpy_names(args, kwargs)
        return values if used == len(kwargs) else self._bind_numpy_names(args, kwargs)

    def _bind_numpy_names(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Bind a call that did not fit: there may be NumPy's names in it."""
        free = self.names[len(args) :]
        known = renamed(kwargs, free)
        if known is not None:
            return self.bind(args, known)
        for name in kwargs:
            if name not in free:
                twice = name in self.names
                trouble = "got multiple values for" if twice else "got an unexpected keyword"
                raise self._misfit(f"{trouble} argument '{name}'")
        missing = next(name for name in free if name not in kwargs and name not in self.defaults)
        raise self._misfit(f"missing 1 required argument: '{missing}'")

    def _misfit(self, trouble: str) -> errors.ArgumentTypeError:
        return errors.ArgumentTypeError(
            f"{self.name}() {trouble}",
            help=[f"its signature is {self.name}{inspect.signature(self.kernel)}"],
        )

    def saved_properties(self) -> dict[str, property]:
        """`_saved_self`, `_saved_other`, `_saved_result`, ...: what a node shows of what it keeps.

        Properties of the node class, since a `__getattr__` there would slow every read of every
        attribute (0.05 us, and the backward loop reads ten a node).
        """
        first = self.names[self.tensor_positions[0]] if self.tensor_positions else ""
        public = {first: "self", "out": "result"}
        sources = {self.names[p] if kind == "in" else "out": (kind, p) for kind, p in self.slots}
        found = {
            f"_saved_{public.get(name, name)}": property(_reader(self.slots.index(source)))
            for name, source in sources.items()
        }
        found |= {
            f"_raw{name}": property(_raw_reader(self.slots.index(sources[key])))
            for name, key in [(f"_saved_{public.get(k, k)}", k) for k in sources]
        }
        statics = [n for k, n in enumerate(self.names) if k not in self.tensor_positions]
        return found | {
            f"_saved_{n}": property(_static_reader(self.names.index(n))) for n in statics
        }


def _mark(declared: str) -> str:
    return declared[0] if declared[0] in "*?#" else ""


class Declared(Protocol):
    """A declared operation as users call it: a function on tensors that carries its record."""

    op: Op
    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


def _reader(slot: int) -> Callable[[Any], Any]:
    return lambda node: node.unpack(traced, slot)


def _raw_reader(slot: int) -> Callable[[Any], Any]:
    return lambda node: node.raw_saved(slot)


def _static_reader(position: int) -> Callable[[Any], Any]:
    return lambda node: node.context.values[position]


def camel(name: str) -> str:
    """`log_softmax` as the names of nodes have it: `LogSoftmax`."""
    return "".join(part.capitalize() for part in name.split("_"))
