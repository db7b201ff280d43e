"""The von Mises distribution, of angles."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina import dtypes
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import broadcast_all, lazy_property
from lamina.ops.comparison import where
from lamina.ops.modified_bessel import i0e, i1e
from lamina.ops.random import rand

__all__ = ["VonMises"]


class VonMises(Distribution):
    r"""The von Mises distribution, of angles: $p(x) = e^{\kappa \cos(x - \mu)} / (2 \pi
    I_0(\kappa))$.

    Args:
        loc: The mean angle $\mu$, in radians.
        concentration: $\kappa$ > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> VonMises(lamina.tensor(0.0), lamina.tensor(1.0)).log_prob(lamina.tensor(0.0))
    tensor(-1.0738)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        r"""The mean angle $\mu$."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        r"""$\mu$."""
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        r"""The circular variance, $1 - I_1(\kappa) / I_0(\kappa)$."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        kappa = self.concentration
        log_bessel = i0e(kappa).log() + kappa
        return kappa * (value - self.loc).cos() - math.log(2 * math.pi) - log_bessel

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random angles from -pi to pi.

        Best and Fisher (1979), "Efficient simulation of the von Mises distribution": numbers of a
        wrapped Cauchy distribution, accepted or not; computed in float64.
        """
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc = self.loc.to(dtypes.float64).expand(shape)
            kappa = self.concentration.to(dtypes.float64).expand(shape)
            r = _proposal(kappa)
            angle, done = loc.new_zeros(shape), loc.new_zeros(shape) > 0
            while not bool(done.all()):
                u1, u2, u3 = rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accepted = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                # As in PyTorch: what was accepted before gives way to what is accepted now.
                angle = where(accepted, (u3 - 0.5).sign() * f.acos(), angle)
                done = done | accepted
            turned = (angle + math.pi + loc) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)


def _proposal(kappa: Tensor) -> Tensor:
    """The parameter of the proposals; for tiny kappa the first terms of its series."""
    tau = 1 + (1 + 4 * kappa**2).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
    return where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
