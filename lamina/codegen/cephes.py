"""The numbers of single-precision log, sin and cos in the Cephes library (Moshier).

They stand in its files logf.c and sinf.c. PyTorch's normal float32 numbers come from these
polynomials: `core/generator_math` has the steps for NumPy, `kernels/tasks/random_normals` those for
machine code.
"""

from __future__ import annotations

import math
import struct
from typing import Final


def _float32(*numbers: float) -> tuple[float, ...]:
    """The nearest float32 of each."""
    return tuple(struct.unpack("f", struct.pack("f", number))[0] for number in numbers)


LOG: Final = _float32(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
SIN: Final = _float32(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS: Final = _float32(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
"""Coefficients, the highest power first."""

LOG_2: Final = _float32(0.693359375, -2.12194440e-4)
QUARTER_PI: Final = _float32(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
"""log 2 in two parts, pi / 4 in three: the first so short that their products are exact."""

SQRT_HALF, TWO_PI, PER_QUARTER_PI = _float32(math.sqrt(0.5), 2 * math.pi, 4 / math.pi)
