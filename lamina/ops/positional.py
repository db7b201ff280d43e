"""Functions of `nn.functional` in the form that `torch` itself has: by position, modes as numbers.

Programs call them for what they save in checks. `torch.embedding(weight, indices)` is
`nn.functional.embedding(indices, weight)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.ops import lookup, norms, padding, pair_loss, probability_loss, sampling

__all__ = [
    "affine_grid_generator",
    "binary_cross_entropy_with_logits",
    "constant_pad_nd",
    "cosine_embedding_loss",
    "embedding",
    "frobenius_norm",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "nuclear_norm",
    "poisson_nll_loss",
    "triplet_margin_loss",
]

_REDUCTIONS: Final = ("none", "mean", "sum")
_INTERPOLATIONS: Final = ("bilinear", "nearest", "bicubic")
_PADDINGS: Final = ("zeros", "border", "reflection")


def _named(names: Sequence[str], number: int, what: str) -> str:
    """The name of a mode that is given as a number."""
    if not 0 <= number < len(names):
        raise errors.InvalidArgument(
            f"{number} is not a valid value for {what}",
            [(this_place(), "called here")],
            [f"it can be {', '.join(f'{k} ({name})' for k, name in enumerate(names))}"],
        )
    return names[number]


def _reduction(number: int) -> str:
    return _named(_REDUCTIONS, number, "reduction")


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of `weight` at the indices. A `padding_idx` of -1 is none.

    >>> import lamina
    >>> lamina.embedding(lamina.eye(3), lamina.tensor([2, 0]))
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    padding = None if padding_idx < 0 else padding_idx
    return lookup.embedding(
        indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


@native
def constant_pad_nd(input: Any, pad: Sequence[int], value: Any = 0) -> Any:
    """A copy with a value at the ends of its last dimensions: `nn.functional.pad`."""
    return padding.pad(input, pad, "constant", value)


@native
def grid_sampler(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """An image or volume read at the places of a grid: `nn.functional.grid_sample`.

    Args:
        input: Images (N, C, H, W), or volumes (N, C, D, H, W).
        grid: Places (N, H, W, 2), or (N, D, H, W, 3).
        interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
        padding_mode: 0 zeros, 1 border, 2 reflection.
        align_corners: Whether -1 and 1 are the centres of the outermost elements.
    """
    mode = _named(_INTERPOLATIONS, interpolation_mode, "interpolation_mode")
    outside = _named(_PADDINGS, padding_mode, "padding_mode")
    return sampling.grid_sample(input, grid, mode, outside, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta: Any, size: Sequence[int], align_corners: bool) -> Any:
    """The places of a grid moved by an affine map: `nn.functional.affine_grid`."""
    return sampling.affine_grid(theta, size, align_corners)


# --- losses: `reduction` is 0 for none (which is what PyTorch takes if it is left out), 1 for the
# mean, 2 for the sum -----------------------------------------------------------------------------


@native
def kl_div(input: Any, target: Any, reduction: int = 0, *, log_target: bool = False) -> Any:
    """The divergence of logarithms of probabilities from a target: `nn.functional.kl_div`.

    The mean over elements is given without that one's warning.
    """
    name = _reduction(reduction)
    is_mean = name == "mean"
    losses = probability_loss.kl_div(
        input, target, reduction="none" if is_mean else name, log_target=log_target
    )
    return losses.mean() if is_mean else losses


@native
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0
) -> Any:
    """The loss of logits: `nn.functional.binary_cross_entropy_with_logits`."""
    return probability_loss.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight
    )


@native
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int
) -> Any:
    """The loss of counts: `nn.functional.poisson_nll_loss`."""
    return probability_loss.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_reduction(reduction)
    )


@native
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = 0) -> Any:
    """The loss of distances: `nn.functional.hinge_embedding_loss`."""
    return pair_loss.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0
) -> Any:
    """The loss of an order: `nn.functional.margin_ranking_loss`."""
    return pair_loss.margin_ranking_loss(
        input1, input2, target, margin, reduction=_reduction(reduction)
    )


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0
) -> Any:
    """The loss of angles: `nn.functional.cosine_embedding_loss`."""
    return pair_loss.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_reduction(reduction)
    )


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: int = 0,
) -> Any:  # fmt: skip
    """The loss of being nearer to one than to the other: `nn.functional.triplet_margin_loss`."""
    return pair_loss.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction)
    )


# --- norms ---------------------------------------------------------------------------------------


@native
def frobenius_norm(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:
    """The root of the sum of squares along dimensions; `linalg.norm` is the newer function."""
    return norms.vector_norm(input, 2, dim or None, keepdim, out=out)


@native
def nuclear_norm(input: Any, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None) -> Any:
    """The sum of singular values; `linalg.matrix_norm` is the newer function."""
    if isinstance(dim, bool):  # the form without dimensions
        dim, keepdim = (-2, -1), dim
    return norms.matrix_norm(input, "nuc", dim, keepdim, out=out)
