"""`why` for tensors of PyTorch: what can be known of them from outside.

PyTorch notes neither where a tensor was made nor why a graph ended: less can be said than of
Lamina's own tensors, and what is not known is not guessed.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, Final, final

import numpy as np

from lamina.core.blame import reading
from lamina.core.blame.words import listing
from lamina.core.names import name_of
from lamina.core.provenance import argument_names, place_of
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation, explained
from lamina.explain.history import middle_left_out
from lamina.explain.untracked import VIEW_OUTSIDE

MOVE: Final = "ToCopyBackward0"
NODES_LOOKED_AT: Final = 20_000


@final
class ForeignSubject:
    """A tensor of PyTorch's, and what the program in a frame calls it."""

    def __init__(self, torch: Any, tensor: Any, frame: FrameType, name: str | None) -> None:
        self.torch, self.tensor, self.frame = torch, tensor, frame
        given = next(iter(argument_names(place_of(frame.f_code, frame.f_lasti))), "")
        is_said = name is None and reading.is_reference(given)
        self._name = given if is_said else name or name_of(tensor, frame)

    @property
    def name(self) -> str:
        """The name to use in code."""
        return self._name or "t"

    @property
    def called(self) -> str:
        """The name to use in a sentence."""
        return f"`{self._name}`" if self._name else "the tensor"

    def names_of(self, tensors: list[Any]) -> list[str]:
        """What the program calls some tensors, as far as it does."""
        return [found for one in tensors if (found := name_of(one, self.frame))]


def explain_foreign(
    torch: Any, tensor: Any, frame: FrameType, name: str | None = None, loss: Any = None
) -> Explanation:
    """Why a tensor of PyTorch's is a leaf or not, and what becomes of its gradient.

    Args:
        torch: PyTorch.
        tensor: The tensor.
        frame: The user's frame, for names.
        name: What to call the tensor; None to look it up.
        loss: What is, or was, differentiated; with it one sees whether the tensor is reached.
    """
    subject = ForeignSubject(torch, tensor, frame, name)
    if not tensor.requires_grad:
        return _untracked(subject)
    return _leaf(subject, loss) if tensor.is_leaf else _computed(subject)


# --- without requires_grad -----------------------------------------------------------------------


def _untracked(subject: ForeignSubject) -> Explanation:
    tensor = subject.tensor
    intro = f"{subject.called} is a leaf that does not require grad, and its .grad is never filled"
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return explained(
            Cause.INTEGER_DTYPE,
            f"{intro}: it is {tensor.dtype}, and only floating-point and complex numbers carry "
            "gradients",
            help=[f"convert it first: `{subject.name}.float().requires_grad_()`"],
        )
    if tensor.is_inference():
        return explained(
            Cause.INFERENCE_TENSOR,
            f"{intro}: it was made in inference mode, and can take no part in a graph",
            help=[f"clone it outside inference_mode: `{subject.name}.clone()`"],
        )
    if isinstance(tensor, subject.torch.nn.Parameter):
        return explained(
            Cause.FROZEN,
            f"{intro}: it is a Parameter that is frozen, its requires_grad is off",
            help=[f"to train it: `{subject.name}.requires_grad_()`"],
        )
    return explained(
        Cause.UNTOLD,
        f"{intro}: nothing that it was computed from required grad, or the history was cut off; "
        "PyTorch keeps no record of which",
        help=[
            f"if it is data of yours: `{subject.name}.requires_grad_()` before computing with it",
            "if it was computed: look for detach(), .data, no_grad, .item() and numpy on the way; "
            "run with Lamina (`lamina run`), why() shows the line",
        ],
    )


# --- leaves --------------------------------------------------------------------------------------


def _leaf(subject: ForeignSubject, loss: Any) -> Explanation:
    grad = subject.tensor.grad
    if grad is not None:
        return _filled(subject, grad)
    if subject.tensor._is_view():
        return explained(
            Cause.NOT_RECORDED,
            f"{subject.called} {VIEW_OUTSIDE}",
            help=["take the view outside no_grad, where operations are recorded"],
        )
    if loss is None:
        return explained(
            Cause.BACKWARD_NOT_RUN,
            f"{subject.called} is a leaf that requires grad, and its .grad is None: no backward() "
            "has reached it, or zero_grad() has cleared it since",
            help=[
                "call backward() on a result computed from it, and read .grad before zero_grad()",
                f"to see whether a loss leads to it: `why({subject.name}, loss=loss)`",
            ],
        )
    if any(leaf is subject.tensor for leaf in leaves_behind(loss)):
        return explained(
            Cause.BACKWARD_NOT_RUN,
            f"{subject.called} is a leaf that requires grad, and the loss leads to it, but its "
            ".grad is None: backward() has not run, or zero_grad() has cleared it since",
            help=["call backward() on the loss, and read .grad before zero_grad()"],
        )
    text = "it has no history" if loss.grad_fn is None else "no path leads from it to this leaf"
    return explained(
        Cause.NOT_REACHED,
        f"{subject.called} is a leaf without a gradient: the loss does not reach it, since {text}",
        help=[
            f"compute the loss from `{subject.name}`, without detach(), .data, no_grad, .item() or "
            "numpy on the way"
        ],
    )


def _filled(subject: ForeignSubject, grad: Any) -> Explanation:
    values = _values(grad)
    called = f"{subject.called} is a leaf that requires grad, and its .grad"
    if values is not None and np.isnan(values).any():
        return explained(
            Cause.NAN,
            f"{called} has NaN in it",
            help=["run the pass again under torch.autograd.detect_anomaly()"],
        )
    if values is not None and values.size and not values.any():
        return explained(
            Cause.ZERO_GRADIENT,
            f"{called} is all zeros: it was set to zero, or at these values what was "
            "differentiated does not change with it",
            help=["look for a mask or factor of 0, relu or clamp out of their range, and round"],
        )
    return explained(Cause.FINE, f"{called} is filled")


def _values(tensor: Any) -> Any:
    if tensor.is_sparse or tensor.is_meta:
        return None
    found = tensor.detach().cpu()
    return (found if found.dtype.is_complex else found.double()).numpy()


# --- computed tensors ----------------------------------------------------------------------------


def _computed(subject: ForeignSubject) -> Explanation:
    tensor, node = subject.tensor, subject.tensor.grad_fn
    leaves = leaves_behind(tensor)
    names = subject.names_of(leaves)
    history = _history(subject, names)
    if tensor.retains_grad:
        state = "holds" if tensor.grad is not None else "will hold, after a backward pass,"
        return explained(
            Cause.FINE,
            f"{subject.called} is not a leaf, but retain_grad() was called: its .grad {state} the "
            "gradient",
            history,
        )
    own = "; the leaf's own is in " + listing([f"{one}.grad" for one in names]) if names else ""
    keep = f"to keep its gradient, call `{subject.name}.retain_grad()` before backward(){own}"
    first = node.next_functions[0][0] if node.next_functions else None
    if node.name() == MOVE and hasattr(first, "variable"):
        return explained(
            Cause.MOVED_AFTER_REQUIRES_GRAD,
            f"{subject.called} is not a leaf: a move or cast of the leaf made it, which is a "
            "recorded operation",
            history,
            [f"ask for gradients last: `{subject.name}.detach().requires_grad_()`", keep],
        )
    source = f"computed from {listing(names)}" if names else "computed from other tensors"
    return explained(
        Cause.NON_LEAF_NOT_RETAINED,
        f"{subject.called} is not a leaf: it was {source}, by {node.name()}, and its gradient is "
        "passed on, not kept",
        history,
        [keep],
    )


def _history(subject: ForeignSubject, names: list[str]) -> list[Any]:
    """The names of the nodes, oldest first, as a remark; nothing where there is just one."""
    nodes = operations_behind(subject.tensor)
    if len(nodes) < 2:
        return []
    nodes.sort(key=lambda one: one._sequence_nr())
    shown = middle_left_out([one.name() for one in nodes])
    start = f" from {listing(names)}" if names else ""
    return [(None, f"it came about{start} by: {', '.join(shown)}")]


def nodes_behind(node: Any, limit: int = NODES_LOOKED_AT) -> list[Any]:
    """The nodes of PyTorch's that one leads to, itself included."""
    found: list[Any] = []
    seen: set[Any] = set()
    waiting = [node]
    while waiting and len(found) < limit:
        one = waiting.pop()
        if one is None or one in seen:
            continue
        seen.add(one)
        found.append(one)
        waiting.extend(following for following, _ in one.next_functions)
    return found


def operations_behind(tensor: Any, limit: int = NODES_LOOKED_AT) -> list[Any]:
    """The nodes of the operations that a tensor of PyTorch's was computed by."""
    return [node for node in nodes_behind(tensor.grad_fn, limit) if not hasattr(node, "variable")]


def leaves_behind(tensor: Any) -> list[Any]:
    """The leaves that a tensor of PyTorch's was computed from."""
    return [node.variable for node in nodes_behind(tensor.grad_fn) if hasattr(node, "variable")]
