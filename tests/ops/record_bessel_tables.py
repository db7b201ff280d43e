"""Computes the Chebyshev expansions of lamina/ops/bessel_tables.py, with mpmath and 50 digits.

    .venv-oracle/bin/python tests/ops/record_bessel_tables.py

The functions that are expanded are smooth on their whole interval: powers, exponentials, logarithms
and the first zeros are taken out of Bessel's and Airy's functions first (DLMF 10.8, 10.17, 10.31,
10.40 and 9.7 give the forms).
"""

from pathlib import Path

from mpmath import mp, mpf

mp.dps = 50
NODES = 72
TARGET = Path(__file__).parents[2] / "lamina/ops/bessel_tables.py"

J0_ZEROS = [mp.besseljzero(0, k) for k in (1, 2)]
J1_ZEROS = [mp.besseljzero(1, k) for k in (1, 2)]


def without_zeros(x, zeros):
    return mp.fprod(x * x - zero * zero for zero in zeros)


def phase(order, x):
    return x - (2 * order + 1) * mp.pi / 4


def even_part(order, x):
    """P of DLMF 10.17.3."""
    chi = phase(order, x)
    return mp.sqrt(mp.pi * x / 2) * (
        mp.besselj(order, x) * mp.cos(chi) + mp.bessely(order, x) * mp.sin(chi)
    )


def odd_part(order, x):
    """x Q of DLMF 10.17.3."""
    chi = phase(order, x)
    return (
        x
        * mp.sqrt(mp.pi * x / 2)
        * (mp.bessely(order, x) * mp.cos(chi) - mp.besselj(order, x) * mp.sin(chi))
    )


def airy_parts(zeta):
    """The even part and zeta times the odd part of DLMF 9.7.9, at x = -(3 zeta / 2)^(2/3)."""
    x = (3 * zeta / 2) ** (mpf(2) / 3)
    chi, scale = zeta - mp.pi / 4, mp.sqrt(mp.pi) * x ** mpf("0.25")
    ai, bi = mp.airyai(-x), mp.airybi(-x)
    even = scale * (ai * mp.cos(chi) - bi * mp.sin(chi))
    return even, zeta * scale * (ai * mp.sin(chi) + bi * mp.cos(chi))


def airy_decay(zeta):
    x = (3 * zeta / 2) ** (mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(mp.pi) * x ** mpf("0.25") * mp.exp(zeta)


LOW_ZETA, HIGH_ZETA = 2 * mpf(2) ** mpf("1.5") / 3, 2 * mpf(5) ** mpf("1.5") / 3

# name: (what is expanded, the argument at t in [-1, 1])
TABLES = {
    "I0_NEAR": (lambda x: mp.exp(-x) * mp.besseli(0, x), lambda t: 4 * (t + 1)),
    "I0_FAR": (lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(0, x), lambda t: 16 / (t + 1)),
    "I1_NEAR": (lambda x: mp.exp(-x) * mp.besseli(1, x) / x, lambda t: 4 * (t + 1)),
    "I1_FAR": (lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(1, x), lambda t: 16 / (t + 1)),
    "K0_NEAR": (
        lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x),
        lambda t: mp.sqrt(2 * (t + 1)),
    ),
    "K0_FAR": (lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(0, x), lambda t: 4 / (t + 1)),
    "K1_NEAR": (
        lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)),
        lambda t: mp.sqrt(2 * (t + 1)),
    ),
    "K1_FAR": (lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(1, x), lambda t: 4 / (t + 1)),
    "J0_NEAR": (
        lambda x: mp.besselj(0, x) / without_zeros(x, J0_ZEROS),
        lambda t: mp.sqrt(32 * (t + 1)),
    ),
    "J1_NEAR": (
        lambda x: mp.besselj(1, x) / x / without_zeros(x, J1_ZEROS),
        lambda t: mp.sqrt(32 * (t + 1)),
    ),
    "Y0_NEAR": (
        lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x),
        lambda t: mp.sqrt(32 * (t + 1)),
    ),
    "Y1_NEAR": (
        lambda x: (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x,
        lambda t: mp.sqrt(32 * (t + 1)),
    ),
    "P0_FAR": (lambda x: even_part(0, x), lambda t: mp.sqrt(128 / (t + 1))),
    "Q0_FAR": (lambda x: odd_part(0, x), lambda t: mp.sqrt(128 / (t + 1))),
    "P1_FAR": (lambda x: even_part(1, x), lambda t: mp.sqrt(128 / (t + 1))),
    "Q1_FAR": (lambda x: odd_part(1, x), lambda t: mp.sqrt(128 / (t + 1))),
    "AIRY_MIDDLE": (mp.airyai, lambda t: (7 * t - 3) / 2),
    "AIRY_FAR": (airy_decay, lambda t: 2 * LOW_ZETA / (t + 1)),
    "AIRY_EVEN": (lambda z: airy_parts(z)[0], lambda t: HIGH_ZETA * mp.sqrt(2 / (t + 1))),
    "AIRY_ODD": (lambda z: airy_parts(z)[1], lambda t: HIGH_ZETA * mp.sqrt(2 / (t + 1))),
}


def expansion(function, argument):
    """Coefficients of T_0, T_1, ...; the first is halved. Those below 1e-17 of it are left out."""
    angles = [(2 * k + 1) * mp.pi / (2 * NODES) for k in range(NODES)]
    values = [mp.re(function(argument(mp.cos(angle)))) for angle in angles]
    found = [
        2 * mp.fdot(values, [mp.cos(j * angle) for angle in angles]) / NODES for j in range(NODES)
    ]
    found[0] /= 2
    largest = max(abs(c) for c in found)
    while abs(found[-1]) < largest * mpf("4e-18"):
        found.pop()
    return found


def as_text(name, coefficients):
    rows = [f"{name} = ("]
    line = "   "
    for c in coefficients:
        number = f" {float(c)!r},"
        if len(line + number) > 99:
            rows.append(line)
            line = "   "
        line += number
    return "\n".join([*rows, line, ")  # fmt: skip"])


def main():
    parts = [
        '"""Chebyshev expansions of the smooth parts of Bessel\'s and Airy\'s functions.',
        "",
        "Made by tests/ops/record_bessel_tables.py, which says what is expanded, and in what.",
        '"""',
        "",
    ]
    for name, (function, argument) in TABLES.items():
        coefficients = expansion(function, argument)
        print(name, len(coefficients), mp.nstr(coefficients[-1], 3))
        parts.append(as_text(name, coefficients))
    TARGET.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
