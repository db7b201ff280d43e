"""Losses of class scores: negative log-likelihood, cross-entropy, and margins between classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.autocasting import in_float32
from lamina.core.call import operation
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.core.scattered import Scattered
from lamina.ops.reductions_of_losses import check_reduction, legacy_reduction, reduction_of

__all__: list[str] = []

ndarray = np.ndarray


# --- negative log-likelihood -------------------------------------------------------------------


def _as_batch(values: Any, target: Any) -> tuple[Any, Any]:
    """One row of scores as a batch of one."""
    return (values[None], target[None]) if values.ndim == 1 else (values, target)


def _kept_classes(target: Any, classes: int, ignore_index: int) -> tuple[Any, Any]:
    """Which targets count, and an index that is valid where they don't."""
    kept = target != ignore_index
    # NumPy counts negative indices from the end; PyTorch refuses them.
    return kept, np.where(kept, np.where(target < 0, classes, target), 0)


def _picked(values: Any, index: Any) -> Any:
    """The element of each row (a row runs along dimension 1) that the index names."""
    if values.ndim == 2:
        return values[np.arange(values.shape[0]), index]
    return np.take_along_axis(values, np.expand_dims(index, 1), 1)[:, 0]


def _sample_weights(values: Any, kept: Any, index: Any, weight: Any) -> Any:
    chosen = kept.astype(values.dtype)
    return chosen if weight is None else chosen * weight[index]


def _is_plain(scores: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> bool:
    """Whether this is the everyday case, on the CPU: rows, of which all count alike.

    Its own way takes half the time for small batches.
    """
    return (
        target.__class__ is ndarray
        and isinstance(scores, ndarray | np.generic)
        and weight is None
        and reduction == "mean"
        and target.ndim == 1
        and target.size > 0
        and ignore_index < 0
        and bool(np.minimum.reduce(target) >= 0)
    )


def _nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Any:
    if _is_plain(input, target, weight, reduction, ignore_index):
        try:
            picked = input[np.arange(input.shape[0]), target]
        except IndexError:
            raise IndexError(f"Target {np.max(target)} is out of bounds.") from None
        return np.add.reduce(picked) * (-1 / input.shape[0])
    batch, classes = _as_batch(input, target)
    kept, index = _kept_classes(classes, batch.shape[1], ignore_index)
    try:
        picked = np.where(kept, _picked(batch, index), 0)
        weights = _sample_weights(batch, kept, index, weight)
    except IndexError:
        bad = (classes < 0) | (classes >= batch.shape[1])
        value = classes[bad & kept].ravel()[0]
        raise IndexError(f"Target {value} is out of bounds.") from None
    if reduction == "none":
        losses = -(picked * weights)
        return losses[0] if input.ndim == 1 else losses
    total = -np.sum(picked * weights)
    return total if reduction == "sum" else total / np.sum(weights)


def _nll_loss_shares(
    g: Any, target: Any, weight: Any, reduction: str, ignore_index: int, shape: Any
) -> tuple[Any, Any]:
    """The gradients of the scores that were read, and their numbers in the rows."""
    if _is_plain(g, target, weight, reduction, ignore_index):
        return g * (-1 / shape[0]), target
    classes = target if len(shape) > 1 else target[None]
    kept, index = _kept_classes(classes, shape[min(len(shape) - 1, 1)], ignore_index)
    weights = _sample_weights(g, kept, index, weight)
    if reduction == "mean":
        g = g / np.sum(weights)
    return np.where(kept, -(g * weights), 0), index


def _nll_loss_scattered(
    F: Any, g: Any, target: Any, weight: Any, reduction: str, ignore_index: int, input_shape: Any
) -> Scattered:
    """The gradient of scores, of which one in each row was read."""
    values, index = _nll_loss_shares(g, target, weight, reduction, ignore_index, input_shape)
    if len(input_shape) == 1:
        return Scattered(values, index, 0)
    return Scattered(
        np.expand_dims(values, 1) if np.ndim(values) else values, np.expand_dims(index, 1), 1
    )


def _nll_loss_spread(
    input: Any, target: Any, weight: Any, reduction: str, ignore_index: int, shape: Any
) -> Any:
    """The transpose of `nll_loss`: puts the losses' gradients where the scores were read."""
    spread = np.zeros_like(input, shape=shape)
    values, index = _nll_loss_shares(input, target, weight, reduction, ignore_index, shape)
    batch = spread if len(shape) > 1 else spread[None]
    if batch.ndim == 2:
        batch[np.arange(batch.shape[0]), index] = values
    else:
        np.put_along_axis(batch, np.expand_dims(index, 1), np.expand_dims(values, 1), 1)
    return spread


nll_loss_spread = operation(
    "nll_loss_spread",
    _nll_loss_spread,
    tensors="input target ?weight",
    grad={
        "input": lambda F, g, target, weight, reduction, ignore_index: F.nll_loss(
            g, target, weight, reduction, ignore_index
        )
    },
    doc="Gradients of negative log-likelihoods, at the scores that they were read from.",
)


def _declare_nll_loss(name: str, node_name: str) -> Any:
    return operation(
        name,
        _nll_loss,
        tensors="input target ?weight",
        grad={
            "input": lambda F, g, target, weight, reduction, ignore_index, input_shape: (
                F.nll_loss_spread(g, target, weight, reduction, ignore_index, input_shape)
            )
        },
        scattered=_nll_loss_scattered,
        node_name=node_name,
        samples=lambda make: [
            sample(make(4, 3), make.integers(4, high=3)),
            sample(make(4, 3), make.integers(4, high=3), make(3, low=0.1), "sum", 1),
            sample(make(2, 3, 2, 2), make.integers(2, 2, 2, high=3), reduction="none"),
        ],
        doc=r"The mean of $-w_{t_i} x_{i, t_i}$: how unlikely log-probabilities make the targets.",
    )


_nll_loss_rows = _declare_nll_loss("nll_loss", "NllLossBackward0")
_nll_loss_maps = _declare_nll_loss("nll_loss_2d", "NllLoss2DBackward0")


def _check_classes(name: str, input: Any, target: Any) -> None:
    """Raise if targets can't be classes of the input's rows."""
    if target._array.dtype.kind not in "iu":
        raise errors.DtypeError(
            f"{name}: expected scalar type Long but found {target.dtype}",
            help=["class indices are int64: `target.long()`"],
        )
    shape = input._array.shape
    wanted = shape[:1] + shape[2:] if len(shape) > 1 else ()
    found = target._array.shape
    if len(shape) == 1 and found == (1,):
        return
    if found != wanted:
        if wanted and found and found[0] != wanted[0]:
            raise errors.BatchMismatch(
                f"Expected input batch_size ({shape[0]}) to match target batch_size ({found[0]}) "
                f"in {name}",
                help=[f"the input's shape is {list(shape)}, the target's {list(found)}"],
            )
        raise errors.InvalidArgument(
            f"{name}: expected target size {list(wanted)}, got {list(found)}",
            help=["one class index for each row of scores; scores are along dimension 1"],
        )


@takes_tensors
def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""How unlikely log-probabilities make the targets: the mean of $-w_{t_i} x_{i, t_i}$.

    Args:
        input: log-probabilities (N, C), (C) or (N, C, d1, ...).
        target: classes (N), () or (N, d1, ...).
        weight: one weight for each class.
        size_average: replaced by `reduction`.
        ignore_index: the class of targets that don't count.
        reduce: replaced by `reduction`.
        reduction: "mean" (over the sum of weights), "sum" or "none".

    >>> import lamina
    >>> scores = lamina.tensor([[-1.0, -2.0], [-3.0, -4.0]])
    >>> lamina.nn.functional.nll_loss(scores, lamina.tensor([0, 1]))
    tensor(2.5000)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_classes("nll_loss", input, target)
    if input._array.ndim == 1 and target._array.ndim == 1:
        target = target[0]
    loss = _nll_loss_rows if input._array.ndim <= 2 else _nll_loss_maps
    return loss(input, target, weight, reduction, ignore_index)


# --- cross-entropy -----------------------------------------------------------------------------


@in_float32
@takes_tensors
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    r"""How unlikely the softmax of scores makes the targets: $-\log \mathrm{softmax}(x)_t$.

    Args:
        input: scores (N, C), (C) or (N, C, d1, ...).
        target: classes (N), () or (N, d1, ...), or probabilities of the input's shape.
        weight: one weight for each class.
        size_average: replaced by `reduction`.
        ignore_index: the class of targets that don't count.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
        label_smoothing: the share of each target that is spread evenly over all classes.

    >>> import lamina
    >>> lamina.nn.functional.cross_entropy(lamina.zeros(2, 4), lamina.tensor([0, 3]))
    tensor(1.3863)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    shape = input._array.shape
    dim = 1 if len(shape) > 1 else 0
    if target._array.dtype.kind not in "iu" and target._array.shape == shape:
        check_reduction(reduction)
        return _soft_cross_entropy(input, target, weight, dim, reduction, label_smoothing)
    logs = traced.log_softmax(input, dim)
    loss = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if label_smoothing:
        smooth = _smooth_part(logs, target, weight, dim, reduction, ignore_index)
        classes = shape[dim]
        return loss * (1 - label_smoothing) + smooth * (label_smoothing / classes)
    return loss


def _along(weight: Any, ndim: int, dim: int) -> Any:
    """Weights of classes in a shape that broadcasts along `dim`."""
    sizes = [1] * ndim
    sizes[dim] = -1
    return weight.reshape(sizes)


def _soft_cross_entropy(
    input: Any, target: Any, weight: Any, dim: int, reduction: str, label_smoothing: float
) -> Any:
    """Cross-entropy against probabilities."""
    classes = input.shape[dim]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = traced.log_softmax(input, dim) * target
    if weight is not None:
        products = products * _along(weight, input._array.ndim, dim)
    if reduction == "none":
        return -products.sum(dim)
    count = max(input.numel() // max(classes, 1), 1) if reduction == "mean" else 1
    return -products.sum() / count if reduction == "mean" else -products.sum()


def _smooth_part(
    logs: Any, target: Any, weight: Any, dim: int, reduction: str, ignore_index: int
) -> Any:
    """What label smoothing adds: the loss against all classes alike."""
    weighted = logs if weight is None else logs * _along(weight, logs._array.ndim, dim)
    kept = target != ignore_index
    losses = traced.where(kept, -weighted.sum(dim), 0.0)
    if reduction != "mean":
        return losses if reduction == "none" else losses.sum()
    if weight is None:
        return losses.sum() / kept.sum()
    return losses.sum() / traced.where(kept, weight[traced.where(kept, target, 0)], 0.0).sum()
