"""How variables vary together: covariance and correlation of the rows of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.op import traced
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.ops.product_checks import check_tensors, legacy, refuse

__all__ = ["corrcoef", "cov"]


def _check_input(name: str, input: Tensor) -> None:
    check_tensors(name, ("input", input))
    if input.ndim > 2:
        raise refuse(
            f"{name}(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions",
            "rows are variables and columns observations: reshape to (variables, observations)",
        )
    if input._array.dtype.kind == "b":
        raise refuse(f"{name}(): bool dtype is not supported for input", "convert it: `.float()`")


def _check_weights(name: str, weights: Tensor, count: int, kinds: str, wanted: str) -> None:
    """Raise for weights that are no vector of one number, not negative, for each observation."""
    if weights.ndim > 1:
        raise refuse(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights.ndim} dimensions"
        )
    if weights._array.dtype.kind not in kinds:
        raise refuse(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with {legacy(weights)} "
            "dtype"
        )
    if weights.numel() != count:
        raise refuse(
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {weights.numel()} != {count}"
        )
    if not weights.is_meta and bool((weights < 0).any()):
        raise refuse(f"cov(): {name} cannot be negative")


def _weights_of(count: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    if fweights is not None:
        _check_weights("fweights", fweights, count, "iu", "integral")
    if aweights is not None:
        _check_weights("aweights", aweights, count, "fV", "floating point")
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights
    return fweights * aweights


def _freedom(
    count: int, weights: Tensor | None, aweights: Tensor | None, correction: int
) -> Tensor | int:
    """What the sum of products is divided by; never below zero, and warned of at zero."""
    if weights is None:
        freedom: Any = count - correction
    elif correction and aweights is not None:
        freedom = weights.sum() - correction * (weights * aweights).sum() / weights.sum()
    else:
        freedom = weights.sum() - correction
    if not getattr(freedom, "is_meta", False) and freedom <= 0:
        warn(
            errors.DoubtfulValue(
                "cov(): degrees of freedom is <= 0. Correction should be strictly less than the "
                "number of observations.",
                [(this_place(), "asked for here")],
                ["columns are observations; give more of them, or correction=0"],
            )
        )
        freedom = freedom * 0
    return freedom


@native
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    r"""The covariance matrix of variables: $C_{ij} = \sum_k w_k (x_{ik} - \mu_i)
    \overline{(x_{jk} - \mu_j)} \,/\, \left(\sum_k w_k - c\right)$.

    Args:
        input: A matrix whose rows are variables and whose columns are observations, or a vector of
            observations of one variable. Whole numbers are taken as floating-point ones.
        correction: `c`: what is taken from the number of observations; 1 has no bias.
        fweights: How often each observation was made, whole numbers; 1 if None.
        aweights: How much each observation counts, floating-point numbers; 1 if None. The divisor
            is then `sum(w) - c * sum(w * aweights) / sum(w)`.

    Raises:
        InvalidArgument: More than two dimensions, or weights that do not fit.

    >>> import lamina
    >>> lamina.cov(lamina.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    _check_input("cov", input)
    x = input.reshape(1, -1) if input.ndim < 2 else input
    count = x.shape[1]
    weights = _weights_of(count, fweights, aweights)
    freedom = _freedom(count, weights, aweights, correction)
    if weights is None:
        mean = x.sum(1, keepdim=True) / count
    else:
        mean = (x * weights).sum(1, keepdim=True) / weights.sum()
    away = x - mean
    weighted = away if weights is None else away * weights
    with np.errstate(all="ignore"):  # no degree of freedom: warned of, and NaN or infinite
        result: Tensor = weighted @ traced.conj_transpose(away) / freedom
    return result.squeeze() if result.numel() == 1 else result


@native
def corrcoef(input: Any) -> Tensor:
    r"""Pearson's correlation matrix of variables: $R_{ij} = C_{ij} / \sqrt{C_{ii} C_{jj}}$.

    Args:
        input: A matrix whose rows are variables, or a vector for one variable; see `cov`.

    >>> import lamina
    >>> lamina.corrcoef(lamina.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    _check_input("corrcoef", input)
    covariance = cov(input)
    if covariance.ndim == 0:
        return covariance / covariance
    spread = covariance.diagonal().sqrt()
    result = covariance / spread[:, None] / spread[None, :]
    if result.is_complex():
        return traced.complex(result.real.clamp(-1, 1), result.imag.clamp(-1, 1))
    return result.clamp(-1, 1)
