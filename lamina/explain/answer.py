"""`why`: explains one tensor."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from lamina.core.blame import reading
from lamina.core.positions import user_frame
from lamina.core.provenance import argument_names, place_of
from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError
from lamina.explain.computed import explain_computed, source_names
from lamina.explain.explanation import Explanation
from lamina.explain.foreign import explain_foreign
from lamina.explain.history import in_words, steps_to
from lamina.explain.leaf import explain_leaf
from lamina.explain.loaded import loaded_torch
from lamina.explain.subject import Subject
from lamina.explain.untracked import explain_untracked


def why(tensor: Any, loss: Any = None) -> Explanation:
    """Say why a tensor is a leaf or not, and what becomes of its gradient.

    The answer has a `cause`, a `verdict`, `places` in your program and `help`; printed, it looks
    like an error message:

        `h` is not a leaf: it was computed from `w`, and its gradient was passed on, not kept
          train.py:4   h = w * w
                           ^^^^^ computed here
          help: to keep it, call `h.retain_grad()` before backward(); the leaf's own is in `w.grad`

    Tensors of PyTorch's own are explained too, as far as their graph tells: it knows no places.

    Args:
        tensor: the tensor to explain.
        loss: what is, or was, differentiated: tells of a leaf without a gradient whether it is
            reached from there.
    """
    if isinstance(tensor, Tensor):
        return explanation_of(tensor, loss=loss)
    torch = loaded_torch()
    if torch is not None and isinstance(tensor, torch.Tensor):
        return explain_foreign(torch, tensor, user_frame(sys._getframe(1)), loss=loss)
    raise _not_a_tensor(tensor)


def explanation_of(
    tensor: Tensor, name: str | None = None, loss: Tensor | None = None
) -> Explanation:
    """What `why` answers; `name` is what to call the tensor, where whoever asks knows better."""
    subject = Subject(tensor, name, loss)
    if not tensor.requires_grad:
        return explain_untracked(subject)
    if subject.node is not None:
        steps = steps_to(subject.node)
        history = in_words(steps, source_names(subject))
        return replace(explain_computed(subject), steps=steps, history=history)
    return explain_leaf(subject)


def _not_a_tensor(value: Any) -> ArgumentTypeError:
    frame = user_frame(sys._getframe(1))
    place = place_of(frame.f_code, frame.f_lasti)
    given = next(iter(argument_names(place)), "")
    owner = reading.receiver(given) if given.endswith(".grad") else None
    help = ["pass one tensor, such as `model.weight`"]
    if value is None and owner is not None:
        help = [f"ask about the tensor itself: `why({owner})` tells why its .grad is None"]
    return ArgumentTypeError(
        f"why() explains a Tensor, not {'None' if value is None else type(value).__name__}",
        [(place, "asked here")],
        help,
    )
