"""Computes the polynomials of lamina/codegen/llvm/vector_tables.py, with mpmath and 40 digits.

    .venv-oracle/bin/python tests/codegen/record_vector_tables.py

Each is the Chebyshev interpolation of a smooth function on an interval, as powers of the distance
from a point near its middle, at which the first coefficient is hardly rounded. (Muller, Elementary
Functions, chapter 3: such an interpolation is seldom a bit worse than the best polynomial.) The
degree is the least with which what is left out stays below a bound, a few bits under the last
place of the result.
"""

from pathlib import Path

from mpmath import mp, mpf

mp.dps = 40
NODES = 64
TARGET = Path(__file__).parents[2] / "lamina/codegen/llvm/vector_tables.py"
BITS = {"float": 24, "double": 53}
TINY = mpf(10) ** -30


def odd(function):
    """(f(x) / x - 1) / x^2 in x^2, of an odd function whose slope at 0 is 1."""

    def part(square):
        x = mp.sqrt(square)
        return (function(x) / x - 1) / square

    return part


def erf_excess(square):
    """erf(x) / x - 1 in x^2."""
    x = mp.sqrt(square)
    return mp.erf(x) / x - 1


def scaled_complement(shift):
    """e^(x^2) erfc(x) / t in t = 1 / (x + shift)."""

    def part(t):
        x = 1 / t - shift
        return mp.exp(x * x) * mp.erfc(x) / t

    return part


def inverse_erf(w):
    """erfinv(x) / x in w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w))
    if w < 5:
        return mp.erfinv(x) / x
    y, logarithm = mp.sqrt(w), -w - mp.log(1 + x)  # erfc(y) = 1 - x = e^-w / (1 + x), by Newton
    for _ in range(60):
        complement = mp.erfc(y)
        step = (mp.log(complement) - logarithm) * complement * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y += step
        if abs(step) < mpf(10) ** -35:
            break
    return y / x


def log_gamma_part(x):
    """lgamma(x) / ((x - 1) (x - 2)), whose zeros are taken out."""
    if min(abs(x - 1), abs(x - 2)) < TINY:
        x += TINY
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def cosine_part(square):
    """(cos(x) - 1 + x^2 / 2) / x^4 in x^2."""
    return (mp.cos(mp.sqrt(square)) - 1 + square / 2) / (square * square)


def both(function, low, high, spare=3):
    return dict.fromkeys(BITS, (function, low, high, spare))


# name: for each kind (what is interpolated, from, to, how many bits below the last place)
TABLES = {
    "ERF_NEAR": both(erf_excess, TINY, 1, 4),
    "ERFC_MIDDLE": {"float": (mp.erfc, 1, mpf("3.93"), 3)},
    "SCALED_TO_6": {"double": (scaled_complement(2), mpf(1) / 8, mpf(1) / 3, 0)},
    "SCALED": {
        "float": (scaled_complement(mpf("2.5")), 1 / mpf("12.6"), 1 / mpf("3.5"), 4),
        "double": (scaled_complement(3), 1 / mpf("30.4"), mpf(1) / 4, 4),
    },
    "ERFINV_NEAR": both(inverse_erf, TINY, 5),
    "ERFINV_FAR": {
        "float": (lambda s: inverse_erf(s * s), mp.sqrt(5), mpf(4), 2),
        "double": (lambda s: inverse_erf(s * s), mp.sqrt(5), mpf(4), 2),
    },
    "ERFINV_END": {"double": (lambda s: inverse_erf(s * s), mpf(4), mpf("6.1"), 2)},
    "SIN": both(odd(mp.sin), TINY, (mp.pi / 4) ** 2, 6),
    "COS": both(cosine_part, mpf(10) ** -8, (mp.pi / 4) ** 2, 6),
    "ASIN": both(odd(mp.asin), TINY, mpf(1) / 4, 2),
    "ATAN": both(odd(mp.atan), TINY, 1),
    "SINH": both(odd(mp.sinh), TINY, 1),
}


def series_of(function, low, high, tolerance):
    """The Chebyshev coefficients that matter, the first one halved."""
    half, centre = (high - low) / 2, (high + low) / 2
    angles = [(2 * k + 1) * mp.pi / (2 * NODES) for k in range(NODES)]
    values = [function(centre + half * mp.cos(angle)) for angle in angles]
    series = [
        2 * mp.fdot(values, [mp.cos(j * angle) for angle in angles]) / NODES for j in range(NODES)
    ]
    series[0] /= 2
    left_out = mpf(0)
    while left_out + abs(series[-1]) < tolerance:
        left_out += abs(series.pop())
    return series


def powers(series, low, high, middle):
    """A Chebyshev series as powers of the distance from a point."""
    half, centre = (high - low) / 2, (high + low) / 2
    step = [(middle - centre) / half, 1 / half]
    before, now = [mpf(1)], step  # T_0 and T_1, then by the recurrence
    total = [mpf(0)] * len(series)
    for j, factor in enumerate(series):
        for k, coefficient in enumerate(before):
            total[k] += factor * coefficient
        if j < len(series) - 1:
            longer = [mpf(0)] * (len(now) + 1)
            for k, coefficient in enumerate(now):
                longer[k] += 2 * step[0] * coefficient
                longer[k + 1] += 2 * step[1] * coefficient
            for k, coefficient in enumerate(before):
                longer[k] -= coefficient
            before, now = now, longer
    return total


def rounding(number, kind):
    """How far a number is from the nearest one of a kind, in units of the last place."""
    mantissa = mp.frexp(number)[0] * 2 ** BITS[kind]
    return abs(mantissa - mp.nint(mantissa))


def best_powers(function, low, high, kind, spare):
    """The point near the middle at which the first coefficient is rounded least, and all."""
    low, high = mpf(low), mpf(high)
    series = series_of(function, low, high, mpf(2) ** -(BITS[kind] + spare))
    if low < mpf(10) ** -7:
        return mpf(0), powers(series, low, high, mpf(0))
    places = [mp.nint((low + high) * 512 + k) / 1024 for k in range(-16, 17)]
    found = [(place, powers(series, low, high, place)) for place in places]
    return min(found, key=lambda each: rounding(each[1][0], kind))


def as_text(name, kinds):
    rows = [f"{name}: Final[Table] = {{"]
    for kind, (function, low, high, spare) in kinds.items():
        middle, coefficients = best_powers(function, low, high, kind, spare)
        print(name, kind, len(coefficients) - 1)
        rows.append(f'    "{kind}": ({float(middle)!r}, (')
        line = "       "
        for c in coefficients:
            number = f" {float(c)!r},"
            if len(line + number) > 99:
                rows.append(line)
                line = "       "
            line += number
        rows += [line, "    )),"]
    return "\n".join([*rows, "}  # fmt: skip"])


HEAD = '''"""Polynomials for functions on lanes: the middle of an interval, and powers from there.

Made by tests/codegen/record_vector_tables.py, which says of what, and on which interval.
"""

from typing import Final

Table = dict[str, tuple[float, tuple[float, ...]]]
'''


def main():
    parts = [HEAD, *(as_text(name, kinds) for name, kinds in TABLES.items())]
    TARGET.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
