"""The CTC loss: how unlikely step-by-step scores make a sequence of labels, alignment unknown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.call import operation
from lamina.core.op import NOT_WRITTEN, traced
from lamina.core.tensor import wrap
from lamina.ops.constants import constant_like
from lamina.ops.reductions_of_losses import check_reduction

__all__ = ["ctc_loss"]

Lengths = tuple[int, ...]


def _extended(targets: Any, lengths: Lengths, blank: int) -> Any:
    """Each sample's labels with blanks around them: (N, 2 S + 1)."""
    longest = max(lengths, default=0)
    made = np.full_like(targets, blank, shape=(len(lengths), 2 * longest + 1))
    start = 0
    for n, length in enumerate(lengths):
        row = targets[n] if targets.ndim == 2 else targets[start:]
        made[n, 1 : 2 * length : 2] = row[:length]
        start += length
    return made


def _may_skip(labels: Any, blank: int) -> Any:
    """Where a path may come from two states before: between different labels."""
    made = np.zeros_like(labels, dtype=bool)
    made[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return made


def _shifted(values: Any, by: int) -> Any:
    """Values moved `by` states on; minus infinity moves in."""
    made = np.full_like(values, -math.inf)
    if by > 0:
        made[:, by:] = values[:, :-by]
    else:
        made[:, :by] = values[:, -by:]
    return made


def _scores(log_probs: Any, labels: Any) -> Any:
    """The log-probability of each state at each step: (T, N, states)."""
    index = np.broadcast_to(labels, (log_probs.shape[0], *labels.shape))
    return np.take_along_axis(log_probs, index, -1)


def _forward_paths(scores: Any, skip: Any) -> Any:
    """The log-probability of all beginnings of paths that are in a state at a step."""
    steps = [np.full_like(scores[0], -math.inf)]
    steps[0][:, :2] = scores[0][:, :2]
    for step in range(1, scores.shape[0]):
        last = steps[-1]
        total = np.logaddexp(last, _shifted(last, 1))
        total = np.logaddexp(total, np.where(skip, _shifted(last, 2), -math.inf))
        steps.append(total + scores[step])
    return np.stack(steps)


def _negative_log(paths: Any, inputs: Lengths, lengths: Lengths) -> Any:
    """The loss of each sample, from where its last step and its labels end."""
    ends = []
    for n, (steps, length) in enumerate(zip(inputs, lengths, strict=True)):
        if steps == 0:
            ends.append(np.full_like(paths, 0.0 if length == 0 else -math.inf, shape=()))
            continue
        last = paths[steps - 1, n, 2 * length]
        if length:
            last = np.logaddexp(last, paths[steps - 1, n, 2 * length - 1])
        ends.append(last)
    return -np.stack(ends)


def _ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Lengths, target_lengths: Lengths, blank: int,
    zero_infinity: bool,
) -> Any:  # fmt: skip
    del zero_infinity  # only the derivative differs
    labels = _extended(targets, target_lengths, blank)
    paths = _forward_paths(_scores(log_probs, labels), _may_skip(labels, blank))
    return _negative_log(paths, input_lengths, target_lengths)


def _backward_paths(scores: Any, skip: Any, inputs: Lengths, lengths: Lengths) -> Any:
    """The log-probability of all ends of paths that are in a state at a step."""
    made = np.full_like(scores, -math.inf)
    # From a state a path may skip to that two states on, if that one may be skipped to.
    skip_on = np.zeros_like(skip)
    skip_on[:, :-2] = skip[:, 2:]
    for step in reversed(range(scores.shape[0])):
        if step + 1 < scores.shape[0]:
            after = made[step + 1]
            total = np.logaddexp(after, _shifted(after, -1))
            total = np.logaddexp(total, np.where(skip_on, _shifted(after, -2), -math.inf))
            made[step] = total + scores[step]
        for n, (steps, length) in enumerate(zip(inputs, lengths, strict=True)):
            if step == steps - 1:
                ends = slice(max(2 * length - 1, 0), 2 * length + 1)
                made[step, n] = -math.inf
                made[step, n, ends] = scores[step, n, ends]
    return made


def _ctc_slope(
    log_probs: Any, targets: Any, input_lengths: Lengths, target_lengths: Lengths, blank: int,
    zero_infinity: bool,
) -> Any:  # fmt: skip
    """The derivative of each sample's loss, where probabilities of a step stay normalized."""
    labels = _extended(targets, target_lengths, blank)
    skip = _may_skip(labels, blank)
    scores = _scores(log_probs, labels)
    forward = _forward_paths(scores, skip)
    loss = _negative_log(forward, input_lengths, target_lengths)
    with np.errstate(invalid="ignore"):
        backward = _backward_paths(scores, skip, input_lengths, target_lengths)
        through = forward + backward - scores
        through = np.where(np.isneginf(forward) | np.isneginf(backward), -math.inf, through)
        shares = np.exp(through + loss[None, :, None])
    one_hot = np.expand_dims(labels, -1) == constant_like(labels, np.arange(log_probs.shape[2]))
    expected = np.swapaxes(
        np.matmul(np.swapaxes(shares, 0, 1), one_hot.astype(log_probs.dtype)), 0, 1
    )
    made = np.exp(log_probs) - expected
    for n, steps in enumerate(input_lengths):
        made[steps:, n] = 0
    if zero_infinity:
        made = np.where(np.isinf(loss)[None, :, None], 0, made)
    return made


operation(
    "ctc_slope",
    _ctc_slope,
    tensors="log_probs targets",
    grad={"log_probs": NOT_WRITTEN},
    doc="The derivative of each sample's CTC loss.",
)


def _rule(
    F: Any, g: Any, log_probs: Any, targets: Any, input_lengths: Lengths, target_lengths: Lengths,
    blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    slope = F.ctc_slope(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
    return F.unsqueeze(g, -1) * slope


# No samples: PyTorch's derivative, given here, is that of scores before a log_softmax, and so not
# what differences of the loss with respect to `log_probs` show.
_ctc = operation(
    "ctc_loss",
    _ctc_loss,
    tensors="log_probs targets",
    grad={"log_probs": _rule},
    doc="How unlikely log-probabilities of steps make sequences of labels.",
)


def _lengths(lengths: Any) -> Lengths:
    if hasattr(lengths, "tolist"):
        lengths = lengths.tolist()
    return tuple(map(int, lengths if hasattr(lengths, "__iter__") else (lengths,)))


def _check(log_probs: Any, targets: Any, inputs: Lengths, lengths: Lengths, blank: int) -> None:
    steps, count, classes = log_probs._array.shape
    if not 0 <= blank < classes:
        raise errors.InvalidArgument(
            f"ctc_loss: blank must be in label range: it is {blank}, of {classes} labels"
        )
    if len(inputs) != count or len(lengths) != count:
        raise errors.InvalidArgument(
            f"ctc_loss: input_lengths and target_lengths must be of size {count}, but are of size "
            f"{len(inputs)} and {len(lengths)}"
        )
    if any(not 0 <= length <= steps for length in inputs):
        raise errors.InvalidArgument(
            f"ctc_loss: Expected input_lengths to have value at most {steps}, but got "
            f"{list(inputs)}"
        )
    shape = targets._array.shape
    room = shape[-1] if len(shape) == 2 else None
    if any(length < 0 or (room is not None and length > room) for length in lengths):
        raise errors.InvalidArgument(
            f"ctc_loss: Expected target_lengths to fit targets of size {list(shape)}, but got "
            f"{list(lengths)}"
        )


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """How unlikely scores of steps make a sequence of labels, whatever the alignment.

    Args:
        log_probs: log-probabilities of labels at each step: (T, N, C) or (T, C).
        targets: labels (N, S), or all samples' labels in one row.
        input_lengths: how many steps each sample has.
        target_lengths: how many labels each sample has.
        blank: the label that stands for none.
        reduction: "mean" (of losses over target lengths), "sum" or "none".
        zero_infinity: whether losses of impossible sequences count as zero.
    """
    check_reduction(reduction)
    batched = log_probs._array.ndim == 3
    if not batched:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets._array.ndim == 1 else targets
    inputs, lengths = _lengths(input_lengths), _lengths(target_lengths)
    _check(log_probs, targets, inputs, lengths, blank)
    losses = _ctc(log_probs, targets, inputs, lengths, blank, zero_infinity)
    if zero_infinity:
        losses = traced.where(losses == math.inf, 0.0, losses)
    if reduction == "mean":
        divisors = np.array([max(length, 1) for length in lengths], losses._array.dtype)
        return (losses / wrap(constant_like(losses._array, divisors), None)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses if batched else losses.squeeze(0)
