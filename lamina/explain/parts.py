"""Tensors that should train as part of a module, and don't: not registered, or in no optimizer."""

from __future__ import annotations

from typing import Any

from lamina.core import records
from lamina.core.blame import reading, repairs
from lamina.core.blame.words import made_at
from lamina.core.living import living_modules
from lamina.core.provenance import place_of
from lamina.errors.places import Note
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation, explained
from lamina.explain.holders import Holding, held_by, optimizers_with
from lamina.explain.subject import Subject
from lamina.nn import Module

DEPTH = 20
"""How far up a tree of modules to look."""


def explain_lost_parameter(subject: Subject) -> Explanation | None:
    """A tensor that a module holds in a way in which it does not register parameters."""
    holding = subject.holding
    if holding is None or holding.kind == "parameter":
        return None
    if holding.kind == "buffer":
        return _buffer(subject, holding)
    if holding.kind == "plain":
        return _plain_tensor(subject, holding)
    return _in_plain_list(subject, holding)


def _buffer(subject: Subject, holding: Holding) -> Explanation:
    return explained(
        Cause.PARAMETER_NOT_REGISTERED,
        f"{subject.called} requires grad, but is registered in {type(holding.module).__name__} as "
        "a buffer: it is not in parameters(), and no optimizer will get it from there",
        subject.made("made here"),
        [f"register it as a parameter: `self.{holding.name} = nn.Parameter(...)`"],
    )


def _plain_tensor(subject: Subject, holding: Holding) -> Explanation:
    place = made_at(subject.tensor)
    text = "" if place is None else place.expression
    repaired = repairs.as_parameter(text)
    kind = type(holding.module).__name__
    reason = "it is a plain tensor"
    if "Parameter(" in text:
        reason = "what the conversion of a Parameter gives is a plain tensor, no longer a Parameter"
    notes: list[Note] = subject.made("this makes a plain tensor")
    if holding.place is not None and holding.place.line != (place.line if place else 0):
        notes.append((holding.place, f"assigned to an attribute of {kind} here"))
    help = [f"make it a parameter: `{repaired}`" if repaired else "wrap it in nn.Parameter(...)"]
    if "Parameter(" in text:
        help.append(
            "or convert the whole module afterwards, with `.to(...)` or `.double()`: that keeps "
            "its parameters"
        )
    return explained(
        Cause.PARAMETER_NOT_REGISTERED,
        f"{subject.called} is not registered in {kind}, so it is missing from parameters(): "
        f"{reason}",
        notes,
        help,
    )


def _in_plain_list(subject: Subject, holding: Holding) -> Explanation:
    kind = type(holding.module).__name__
    sort = "modules" if holding.is_deep else "parameters"
    box = {"dict": "Dict"}.get(holding.kind, "List")
    wanted = f"nn.Module{box}" if holding.is_deep else f"nn.Parameter{box}"
    notes: list[Note] = []
    help = f"use {wanted}, which registers what it holds"
    if holding.place is not None:
        notes.append((holding.place, f"a plain Python {holding.kind}, set here"))
        sides = reading.sides(holding.place.expression)
        if sides is not None:
            help = (
                f"use {wanted}, which registers what it holds: `{sides[0]} = {wanted}({sides[1]})`"
            )
    return explained(
        Cause.PARAMETER_NOT_REGISTERED,
        f"{subject.called} requires grad, but is not registered in {kind}: its `{holding.name}` is "
        f"a plain Python {holding.kind}, and a module does not look inside it for {sort}",
        [*notes, *subject.made("made here")],
        [help],
    )


def is_stale_in_optimizer(tensor: Any) -> bool:
    """Whether an optimizer holds the parameter that a tensor took the place of, and not itself."""
    replaced = tensor.__dict__.get("took_place_of")
    old = None if replaced is None else replaced[0]()
    return old is not None and bool(optimizers_with(old)) and not optimizers_with(tensor)


def explain_missing_in_optimizer(subject: Subject) -> Explanation | None:
    """A registered parameter that took the place of one which an optimizer still holds."""
    holding = subject.holding
    if holding is None or holding.kind != "parameter" or optimizers_with(subject.tensor):
        return None
    replaced = subject.notes.get("took_place_of")
    old = None if replaced is None else replaced[0]()
    holder = next(iter(optimizers_with(old)), None) if old is not None else None
    if replaced is not None and holder is not None:
        return _stale(subject, holder, replaced[1])
    holder = _optimizer_of_siblings(holding)
    if holder is None:
        return None
    return explained(
        Cause.OPTIMIZER_LACKS_PARAMETER,
        f"{subject.called} is a leaf that requires grad, but it is in no optimizer: step() will "
        "not change it",
        [
            *subject.made("made here"),
            *_built(holder, "this optimizer has other parameters of the model"),
        ],
        [_more(holder, subject.name)],
    )


def _stale(subject: Subject, optimizer: Any, position: Any) -> Explanation:
    place = place_of(*position)
    sides = reading.sides(place.expression)
    target = sides[0] if sides else subject.name
    built = _built(optimizer, "the optimizer was built here, with the old one")
    again = built[0][0].expression if built and built[0][0] is not None else ""
    rebuild = (
        f"build a new optimizer after the replacement: `{again}`"
        if again
        else "build a new optimizer"
    )
    return explained(
        Cause.OPTIMIZER_LACKS_PARAMETER,
        f"{subject.called} is a leaf and gets gradients, but step() will not change it: the "
        "optimizer still holds the parameter that it replaced",
        [(place, "replaced here"), *built],
        [f"to change the values only: `with torch.no_grad(): {target}.copy_(...)`",
         f"or {rebuild}", f"or {_more(optimizer, target)}"],
    )  # fmt: skip


def _built(optimizer: Any, remark: str) -> list[Note]:
    position = vars(optimizer).get("_built_at")
    return [] if position is None else [(place_of(*position), remark)]


def _more(optimizer: Any, name: str) -> str:
    return f"add it with `add_param_group({{'params': [{name}]}})`"


def _optimizer_of_siblings(holding: Holding) -> Any:
    """An optimizer that has other parameters of the same module or of one around it."""
    top, modules = holding.module, living_modules(Module)
    for _ in range(DEPTH):
        parent = next((m for m in modules if any(c is top for c in m._modules.values())), None)
        if parent is None:
            break
        top = parent
    family = {id(p) for p in top.parameters()}
    for optimizer in list(records.optimizers):
        if any(id(p) in family for p in held_by(optimizer)):
            return optimizer
    return None
