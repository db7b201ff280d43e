r"""Kullback-Leibler divergences: $KL(p \| q) = \int p(x) \log \frac{p(x)}{q(x)} dx$.

Formulas are registered for pairs of classes, and found for their subclasses too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.distributions.distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Any]
_REGISTRY: dict[tuple[type, type], Formula] = {}
_FOUND: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Any:
    """Decorate a function (p, q) that gives the divergence for two classes and their subclasses.

    Raises:
        ArgumentTypeError: What are no classes of distributions.

    >>> from lamina.distributions import Normal, register_kl
    >>> class Special(Normal): pass
    >>> @register_kl(Special, Special)
    ... def kl_special(p, q):
    ...     return (p.loc - q.loc).abs()
    """
    for given, name in ((type_p, "type_p"), (type_q, "type_q")):
        if not isinstance(given, type) or not issubclass(given, Distribution):
            raise errors.ArgumentTypeError(
                f"Expected {name} to be a Distribution subclass but got {given}"
            )

    def declare(function: Formula) -> Formula:
        _REGISTRY[type_p, type_q] = function
        _FOUND.clear()
        return function

    return declare


def _formula(type_p: type, type_q: type) -> Formula | None:
    """The formula of the nearest pair of classes: nearest in p first, or in q first."""
    known = _FOUND.get((type_p, type_q))
    if known is not None:
        return known
    steps = {
        (p, q): (type_p.__mro__.index(p), type_q.__mro__.index(q))
        for p, q in _REGISTRY
        if issubclass(type_p, p) and issubclass(type_q, q)
    }
    if not steps:
        return None
    left = min(steps, key=lambda pair: steps[pair])
    right = min(steps, key=lambda pair: steps[pair][::-1])
    if _REGISTRY[left] is not _REGISTRY[right]:
        pairs = [f"kl_divergence({p.__name__}, {q.__name__})" for p, q in (left, right)]
        here = f"kl_divergence({type_p.__name__}, {type_q.__name__})"
        warn(
            f"Ambiguous {here}. Please register_kl({left[0].__name__}, {right[1].__name__}): "
            f"{pairs[0]} is taken, and {pairs[1]} would do too",
            RuntimeWarning,
        )
    _FOUND[type_p, type_q] = _REGISTRY[left]
    return _REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence of p from q, for each distribution of the batch.

    Raises:
        NotSupported: No formula is registered.

    >>> from lamina.distributions import Normal
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    formula = _formula(type(p), type(q))
    if formula is None:
        raise errors.NotSupported(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}",
            [(this_place(), "asked for here")],
            ["write one: `@register_kl(P, Q)` over a function of (p, q)"],
        )
    result: Tensor = formula(p, q)
    return result
