"""A line search for the strong Wolfe conditions.

The loss must fall by a part of what the slope promises, and the slope must become flatter. From
Nocedal and Wright, "Numerical optimization" (2nd edition, 2006), algorithms 3.5 and 3.6, with the
cubic interpolation of equation 3.59. A trial step that comes too near to an end of its bracket
twice is moved away from it by a tenth, as in Mark Schmidt's minFunc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

__all__ = ["Point", "strong_wolfe"]

_LEAST_FALL: Final = 1e-4
_FLATNESS: Final = 0.9
_LEAST_BRACKET: Final = 1e-9


class Point(NamedTuple):
    """A point on the line: the length of the step to it, and what was found there."""

    step: Any
    loss: float
    grad: Any
    slope: Any


def strong_wolfe(
    evaluate: Callable[[Any], Point], step: Any, start: Point, size: Any, most: int
) -> tuple[Point, int]:
    """Find a point on a line that satisfies the strong Wolfe conditions.

    Args:
        evaluate: Computes the point at a length of step.
        step: The first length to try.
        start: The point at length 0.
        size: The largest element of the direction.
        most: How many lengths are tried after the first.

    Returns:
        The point, the best one seen if there was none; and how many were evaluated.
    """
    before, point = start, evaluate(step)
    tries = 0
    bracket: list[Point] | None = None
    while tries < most and bracket is None:
        if _is_too_high(point, start) or (tries > 1 and point.loss >= before.loss):
            bracket = [before, point]
        elif _is_flat(point, start):
            return point, tries + 1
        elif point.slope >= 0:
            bracket = [before, point]
        else:
            bounds = point.step + 0.01 * (point.step - before.step), point.step * 10
            before, point = point, evaluate(_interpolated(before, point, bounds))
            tries += 1
    if bracket is None:
        bracket = [start, point]
    return _narrowed(evaluate, bracket, start, size, tries, most)


def _narrowed(
    evaluate: Callable[[Any], Point],
    bracket: list[Point],
    start: Point,
    size: Any,
    tries: int,
    most: int,
) -> tuple[Point, int]:
    """Make a bracket around a good point smaller until a trial is one."""
    low = _lower(bracket)
    was_near = False
    while tries < most:
        if abs(bracket[1].step - bracket[0].step) * size < _LEAST_BRACKET:
            break
        step, was_near = _inside(_interpolated(bracket[0], bracket[1]), bracket, was_near)
        point = evaluate(step)
        tries += 1
        if _is_too_high(point, start) or point.loss >= bracket[low].loss:
            bracket[1 - low] = point
            low = _lower(bracket)
            continue
        is_good = _is_flat(point, start)
        if not is_good and point.slope * (bracket[1 - low].step - bracket[low].step) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = point
        if is_good:
            break
    return bracket[low], tries + 1


def _lower(bracket: list[Point]) -> int:
    return 0 if bracket[0].loss <= bracket[1].loss else 1


def _is_too_high(point: Point, start: Point) -> bool:
    """Whether the loss fell by less than a part of what the slope at the start promises."""
    return bool(point.loss > start.loss + _LEAST_FALL * point.step * start.slope)


def _is_flat(point: Point, start: Point) -> bool:
    return bool(abs(point.slope) <= -_FLATNESS * start.slope)


def _inside(step: Any, bracket: list[Point], was_near: bool) -> tuple[Any, bool]:
    """A trial step, moved away from the ends of the bracket if the last was near to one too."""
    ends = [point.step for point in bracket]
    low, high = min(ends), max(ends)
    margin = 0.1 * (high - low)
    if min(high - step, step - low) >= margin:
        return step, False
    if not (was_near or step >= high or step <= low):
        return step, True
    return (high - margin if abs(step - high) < abs(step - low) else low + margin), False


def _interpolated(one: Point, other: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points, with their slopes, is least; between two bounds."""
    first, last = (one, other) if one.step <= other.step else (other, one)
    low, high = bounds or (first.step, last.step)
    bend = one.slope + other.slope - 3 * (one.loss - other.loss) / (one.step - other.step)
    square = bend**2 - one.slope * other.slope
    if not square >= 0:
        return (low + high) / 2.0
    root = square**0.5
    width = last.step - first.step
    share = (last.slope + root - bend) / (last.slope - first.slope + 2 * root)
    return min(max(last.step - width * share, low), high)
