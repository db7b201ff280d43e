"""`graph`: draws what tensors were computed from."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from lamina.core.blame.reasons import reason_for
from lamina.core.positions import user_frame
from lamina.core.provenance import argument_names, name_of, place_of
from lamina.core.tensor import Tensor
from lamina.core.versions import next_stamp
from lamina.core.views import inherits_flag
from lamina.devices.dispatched import visit
from lamina.errors import ArgumentTypeError, NoGraph
from lamina.explain.graphs import own_reader, torch_reader
from lamina.explain.graphs.calls import Call, CallLog
from lamina.explain.graphs.drawn import Graph
from lamina.explain.graphs.naming import scopes_of
from lamina.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook


def graph(target: Any, *inputs: Any, values: bool = False, **keywords: Any) -> Graph:
    """What a tensor was computed from, and what a backward pass from it does.

    The answer prints as text, and `save("graph.html")` writes a page to look at: tensors and
    operations with their source, what is kept for backward, and the pass step by step.

    Args:
        target: A tensor, or a sequence of tensors; or a module or function, which is called with
            `inputs` and `keywords` and whose result is drawn. Then it is noted which module made
            what; for tensors the parameters tell. PyTorch's own are understood too.
        inputs, keywords: The arguments of the call.
        values: Whether to compute the gradients as well, to tell their norms, NaN and zeros. This
            changes no `.grad`, frees nothing and calls no hooks; the pass must be possible.

    Raises:
        NoGraph: Where nothing requires grad.
        ArgumentTypeError: For anything else than tensors or what returns them.

    >>> import lamina
    >>> w = lamina.tensor([1.0, 2.0], requires_grad=True)
    >>> drawn = lamina.explain.graph((w * w).sum())
    >>> [node.word for node in drawn.model.nodes]
    ['leaf', 'mul', 'sum']
    >>> drawn.model.steps[-1].sentence
    '`w` gets 2 gradients from mul, added up: [2]: kept in .grad, which was None.'
    """
    frame = user_frame(sys._getframe(1))
    if torch_reader.understands(target):
        return Graph(torch_reader.read_any(target, inputs, keywords, frame, values))
    calls: list[Call] | None = None
    if callable(target) and not isinstance(target, Tensor):
        with call_log() as log:
            target = target(*inputs, **keywords)
            calls = log.calls() or None
        if torch_reader.understands(target):
            return Graph(torch_reader.read_any(target, (), {}, frame, values))
    roots = _roots(target, frame)
    return Graph(own_reader.read(roots, scopes=scopes_of(frame), calls=calls, with_values=values))


def call_log() -> CallLog:
    """A log of the calls of Lamina's modules, to be used in `with`."""

    def after(hook: Callable[..., None]) -> Any:
        return register_module_forward_hook(hook, always_call=True)

    return CallLog(next_stamp, register_module_forward_pre_hook, after)


def has_graph(tensor: Tensor) -> bool:
    """Whether a backward pass can begin at a tensor."""
    return tensor.requires_grad and not (tensor.grad_fn is None and inherits_flag(tensor))


def _roots(target: Any, frame: types.FrameType) -> Sequence[Tensor]:
    """The tensors to draw."""
    found: list[Tensor] = []
    visit(target, (Tensor,), found.append)
    place = place_of(frame.f_code, frame.f_lasti)
    if not found:
        raise ArgumentTypeError(
            f"graph() draws tensors, and {type(target).__name__} has none",
            [(place, "asked here")],
            ["pass a tensor that was computed, such as the loss; or a module and its inputs"],
        )
    roots = [tensor for tensor in found if has_graph(tensor)]
    if not roots:
        first = found[0]
        reason = reason_for(first)
        name = name_of(first, frame) or next(iter(argument_names(place)), "") or "the tensor"
        raise NoGraph(
            f"`{name}` has no graph to draw, since it does not require grad: {reason.words}",
            [*reason.notes, (place, "asked here")],
            reason.help,
        )
    return roots
