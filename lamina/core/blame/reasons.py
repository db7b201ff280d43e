"""Why a graph ended: the record of a cut in words, with the places and the repair."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Final, NamedTuple

from lamina.core import origins, records
from lamina.core.blame import reading, repairs
from lamina.core.blame.words import Note, op_name, short
from lamina.core.definitions import earlier_assignment
from lamina.core.provenance import assigned_name, place_of
from lamina.errors import Place


class Reason(NamedTuple):
    """Why a tensor does not require grad."""

    kind: str
    """One of the CUT_ reasons of `origins`, or "never"."""
    words: str
    """The end of a sentence about the tensor: "it was computed under no_grad"."""
    notes: list[Note]
    help: list[str]


NEVER: Final = "never"

_INDEX_OPS: Final = frozenset(
    {"argmax", "argmin", "argsort", "searchsorted", "bucketize", "nonzero"}
)
_COMPARISONS: Final = frozenset({"gt", "ge", "lt", "le", "eq", "ne", "isclose", "logical_and",
                                 "logical_or", "logical_not", "isfinite", "isnan"})  # fmt: skip


def cause_of(tensor: Any) -> Any:
    """The origin that a tensor's lack of history goes back to; None if nothing is known."""
    origin = tensor._origin
    return None if origin is None else (origin[4] or origin)


def reason_for(tensor: Any) -> Reason:
    """Why a tensor does not require grad, in words."""
    cause = cause_of(tensor)
    if cause is None:
        return Reason(NEVER, "no input of its computation requires grad", [], [_ASK])
    code, lasti, op, reason = cause[:4]
    place = place_of(code, lasti)
    if reason is None:
        return _never(tensor, cause, place)
    return reason_in_words(reason, op, place)


_ASK: Final = "set requires_grad=True where the data is made, or call requires_grad_() on it"


def _never(tensor: Any, cause: Any, place: Place) -> Reason:
    """Nothing was cut: no input ever required grad."""
    read_out = values_read_out(cause)
    if read_out is not None:
        return read_out
    made = tensor.__dict__.get("created") or tensor._origin
    text = "" if made is None else place_of(made[0], made[1]).expression
    if tensor._is_param and reading.keyword_source(text, "requires_grad") == "False":
        name = assigned_name(made[0], made[1])
        return Reason(
            NEVER,
            "this Parameter was made with requires_grad=False",
            [(place_of(made[0], made[1]), "made here, with requires_grad=False")],
            [f"leave out requires_grad=False, or call `{name or 'parameter'}.requires_grad_()`"],
        )
    if cause is tensor._origin and tensor._origin[2] in _CREATED:
        return Reason(
            NEVER,
            "it was made without requires_grad",
            [(place, "made here, without requires_grad")],
            [_ASK],
        )
    name = assigned_name(cause[0], cause[1], chain=True)
    subject = f"`{name}` was made here" if name else "made here"
    return Reason(
        NEVER,
        "no input of its computation requires grad",
        [(place, f"{subject}, without requires_grad")],
        [f"ask for gradients before computing: `{name}.requires_grad_()`, or requires_grad=True "
         "where it is made" if name else _ASK],
    )  # fmt: skip


_CREATED: Final = frozenset({
    "tensor", "from_numpy", "as_tensor", "zeros", "ones", "full", "empty", "rand", "randn",
    "arange",
    "linspace", "eye", "Tensor", "unpickled", "randint", "zeros_like", "ones_like", "full_like",
})  # fmt: skip


def values_read_out(cause: Any) -> Reason | None:
    """A tensor made of numbers that were read out of another one, as the source shows."""
    if cause[2] not in _FROM_DATA:
        return None
    place = place_of(cause[0], cause[1])
    found = reading.read_out_of(place.expression) or _turned_into_numbers(cause[0], place)
    notes: list[Note] = [(place, "made from plain numbers here")]
    if found is None:
        source = _assignment_read(cause[0], place.line, reading.first_argument(place.expression))
        found = None if source is None else reading.read_out_of(source.expression)
        if source is None or found is None:
            return None
        notes.insert(0, (source, "the values are read out here"))
    call, tensor = found
    help = f"compute with the tensor `{tensor}` itself"
    if reading.list_argument(place.expression) is not None:
        help = "keep the elements tensors, and put them together with torch.stack([...])"
    return Reason(
        origins.CUT_COPIED,
        f"`{short(call)}` reads the values out as plain numbers, which leaves the graph",
        notes,
        [help],
    )


def _assignment_read(code: CodeType, line: int, text: str | None, hops: int = 3) -> Place | None:
    """Where a name in an expression was given values that had been read out of a tensor."""
    for name in reading.names_in(text or "") if hops else ():
        source = earlier_assignment(code, line, name)
        if source is None:
            continue
        if reading.read_out_of(source.expression) is not None:
            return source
        further = _assignment_read(code, source.line, source.expression, hops - 1)
        if further is not None:
            return further
    return None


def _turned_into_numbers(code: CodeType, place: Place) -> tuple[str, str] | None:
    """The `float(t)` in an expression that was seen to read a tensor with a history, and `t`."""
    for cut in records.cuts:
        if cut.code is code and cut.op in NUMBERS:
            call = place_of(cut.code, cut.lasti).expression
            if call and call in place.expression:
                return call, reading.first_argument(call) or "t"
    return None


NUMBERS: Final = ("float()", "complex()")
"""What cuts by Python's own functions are called in the records."""

_FROM_DATA: Final = frozenset(
    {"tensor", "as_tensor", "asarray", "from_numpy", "Tensor", "new_tensor"}
)


def reason_in_words(reason: str, op: str, place: Place) -> Reason:
    """A cut of the graph by an operation at a place."""
    if reason in (origins.CUT_NO_GRAD, origins.CUT_INFERENCE):
        return _switched_off(reason, place)
    if op in NUMBERS:
        return _number_taken(place)
    if reason in _BY_REASON:
        return _BY_REASON[reason](place)
    if reason == origins.CUT_INTEGER and op not in _INDEX_OPS:
        return _integers(op, place)
    return _not_differentiable(reason, op, place)


def _number_taken(place: Place) -> Reason:
    """Python's `float` or `complex` was called."""
    text = place.expression
    return Reason(
        origins.CUT_COPIED,
        f"`{short(text)}` reads the value out as a plain number, which leaves the graph",
        [(place, "read out here")],
        [f"compute with the tensor `{reading.first_argument(text) or text}` itself"],
    )


def _data_taken(place: Place) -> Reason:
    """`.data` was read."""
    text = place.expression
    source = reading.receiver(text)
    return Reason(
        origins.CUT_DATA,
        f"`{short(text)}` is cut off from the graph" if text
        else ".data is cut off from the graph",
        [(place, "cut here: .data is a tensor without history")],
        [f"use `{source}` itself instead of `{text}`" if source
         else "use the tensor itself instead of .data"],
    )  # fmt: skip


def _copied(place: Place) -> Reason:
    """A tensor was made of another one's values."""
    return Reason(
        origins.CUT_COPIED,
        "it holds copies of numbers, in a new leaf that is not connected to where they came from",
        [(place, "the values were copied here, without their history")],
        _instead_of_copy(place.expression),
    )


def _unrecorded_gradient(place: Place) -> Reason:
    """It is a gradient of a pass that was not recorded."""
    repaired = _with_create_graph(place.expression)
    return Reason(
        origins.CUT_BACKWARD,
        "a gradient has no history unless it is computed with create_graph=True",
        [(place, "this gradient was computed here without create_graph=True, so not recorded")],
        [f"to differentiate it again, compute it with create_graph=True: `{repaired}`"
         if repaired else "compute it with create_graph=True"],
    )  # fmt: skip


def _frozen(place: Place) -> Reason:
    """All that it was computed from had its flag switched off."""
    return Reason(
        origins.CUT_FROZEN,
        "it was computed from frozen tensors only",
        [(place, "frozen here: requires_grad was switched off")],
        ["to train the frozen tensors, unfreeze them: `requires_grad_(True)`; for gradients of "
         "the data, give it requires_grad=True"],
    )  # fmt: skip


def _integers(op: str, place: Place) -> Reason:
    """An operation gave integers, among other results or alone."""
    if op != "to_copy":
        return Reason(
            origins.CUT_INTEGER,
            f"the indices that {op_name(op)} gives are integers, which carry no gradient",
            [(place, "the indices leave the graph here")],
            [f"use the values that {op_name(op)} gives beside them: `.values`"],
        )
    return Reason(
        origins.CUT_INTEGER,
        f"{_of(op)} gives integers, which cannot carry a gradient",
        [(place, "becomes integer here, and leaves the graph")],
        _instead_of_integers(op, place.expression),
    )


def _switched_off(reason: str, place: Place) -> Reason:
    """Computed while recording was off."""
    mode = "inference_mode" if reason == origins.CUT_INFERENCE else "no_grad"
    notes: list[Note] = [(place, "computed here, not recorded")]
    switch = getattr(reason, "place", None)
    off = None if switch is None else place_of(*switch)
    text = "" if off is None else off.text.strip()
    if "set_grad_enabled" in text and not text.startswith("with"):
        notes.insert(0, (off, "recording is switched off from here on"))
        return Reason(
            str(reason),
            "it was computed while recording was switched off by set_grad_enabled(False)",
            notes,
            ["use it as a context manager, which switches back by itself: "
             "`with torch.set_grad_enabled(False):`; or call torch.set_grad_enabled(True) before"],
        )  # fmt: skip
    if "set_grad_enabled" in text and reason == origins.CUT_NO_GRAD:
        mode = "set_grad_enabled(False)"
    if off is not None and off != place:
        notes.append((off, "recording is off inside this"))
    repair = f"compute it outside {mode}, where operations are recorded"
    if mode == "inference_mode":
        repair += "; a `clone()` made outside is a normal tensor"
    return Reason(str(reason), f"it was computed under {mode}, so not recorded", notes, [repair])


def _detached(place: Place) -> Reason:
    text = place.expression
    if "Parameter(" in text:
        return Reason(
            origins.CUT_DETACH,
            "nn.Parameter makes a new leaf, cut off from what it was computed from",
            [(place, "a new leaf without history begins here")],
            [
                "compute it anew in forward() from the parameter it depends on, or assign it "
                "without nn.Parameter"
            ],
        )
    source = reading.receiver(text)
    if text.endswith(".detach_()"):
        return Reason(
            origins.CUT_DETACH,
            f"`{short(text)}` took its history away",
            [(place, "detached here, in place")],
            [f"leave out `{short(text)}`, or detach another tensor: `{source}.detach()`"],
        )
    if text and "detach" not in text:
        return Reason(
            origins.CUT_DETACH,
            f"`{short(text)}` gives a tensor without history",
            [(place, "detached here")],
            ["use the tensor or the parameter itself where a gradient is needed"],
        )
    return Reason(
        origins.CUT_DETACH,
        f"`{short(text)}` is detached: the graph ends there" if text else "detach() ends the graph",
        [(place, "detached here: its history ends")],
        [f"use `{source}` itself instead of `{text}`" if source and text.endswith(".detach()")
         else "leave out the detach()"],
    )  # fmt: skip


_BY_REASON: Final[dict[str, Callable[[Place], Reason]]] = {
    origins.CUT_DATA: _data_taken,
    origins.CUT_DETACH: _detached,
    origins.CUT_COPIED: _copied,
    origins.CUT_BACKWARD: _unrecorded_gradient,
    origins.CUT_FROZEN: _frozen,
}


def _instead_of_copy(text: str) -> list[str]:
    parts = reading.list_argument(text)
    if parts is not None:
        return [f"keep the graph: `torch.stack({parts})`"]
    source = reading.first_argument(text)
    if source is not None:
        source = reading.bracketed(source)
        return [f"to copy and stay in the graph, write `{source}.clone()`; to leave it, "
                f"`{source}.detach().clone()`"]  # fmt: skip
    return ["use torch.stack([...]) or `.clone()`, which stay in the graph"]


def _with_create_graph(text: str) -> str | None:
    return repairs.with_keyword(text, "create_graph", "True")


def _instead_of_integers(op: str, text: str) -> list[str]:
    if op != "to_copy":
        return ["stay in floating point where a gradient is needed"]
    source = reading.receiver(text) or "x"
    if not reading.is_reference(source):
        return [
            "stay in floating point where a gradient is needed",
            "to round forward and let the gradient pass unchanged (straight-through), with "
            f"`x = {source}`: `x + (x.trunc() - x).detach()`",
        ]
    return [
        "stay in floating point where a gradient is needed",
        f"to round forward and let the gradient pass unchanged (straight-through): "
        f"`{source} + ({source}.trunc() - {source}).detach()`",
        "a position to look up can be learned by interpolation: weight the two neighbouring "
        "entries",
    ]


def _not_differentiable(reason: str, op: str, place: Place) -> Reason:
    words = f"{_of(op)} is not differentiable"
    help = ["use a differentiable operation where the gradient has to pass"]
    if op in _INDEX_OPS:
        words = f"{_of(op)} gives an index, which has no derivative"
        help = [
            "for a choice that can be learned, weight with softmax; for the value, use max() or "
            "min()"
        ]
        if op == "argmax":
            help.append(
                "to train a classifier, give its scores to cross_entropy, a differentiable loss"
            )
    elif op in _COMPARISONS:
        words = "a comparison gives true or false, which has no derivative"
        help = ["use a soft form: `torch.sigmoid((x - threshold) / width)`"]
    return Reason(reason, words, [(place, "not differentiable: the graph ends here")], help)


def _of(op: str) -> str:
    return "this cast" if op == "to_copy" else op_name(op)
