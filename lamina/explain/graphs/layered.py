"""Places for the boxes of a small graph, in layers from top to bottom, for the static picture.

The layered method of Sugiyama, Tagawa and Toda (1981): layers by the longest path, long edges
divided by bends, fewer crossings by sweeps over neighbours' mean places, then columns. The page has
a better layout from its library; this one needs no JavaScript.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

SWEEPS: Final = 12
BETWEEN_BOXES: Final = 24.0
BETWEEN_LAYERS: Final = 46.0
BEND_WIDTH: Final = 8.0

Point = tuple[float, float]


class Placed(NamedTuple):
    """Centres of the boxes, the points of each edge from source to target, and the whole size."""

    centres: list[Point]
    lines: list[list[Point]]
    width: float
    height: float


def placed(sizes: Sequence[Point], edges: Sequence[tuple[int, int]]) -> Placed:
    """Find places for boxes of these sizes; edges lead from earlier boxes to later ones."""
    layer = _layers(len(sizes), edges)
    widths = [width for width, _ in sizes]
    chains: list[list[int]] = []
    layers: list[list[int]] = [[] for _ in range(max(layer, default=0) + 1)]
    for box, own in enumerate(layer):
        layers[own].append(box)
    links: list[tuple[int, int]] = []
    for source, target in edges:
        chain = [source]
        for between in range(layer[source] + 1, layer[target]):
            chain.append(len(widths))
            layers[between].append(len(widths))
            widths.append(BEND_WIDTH)
        chain.append(target)
        chains.append(chain)
        links += pairwise(chain)
    above, below = _neighbours(len(widths), links)
    _uncross(layers, above, below)
    columns = _columns(layers, widths, above, below)
    return _drawn(sizes, layers, chains, columns, widths)


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path to each box; what nothing leads to stands just above its first use."""
    into: list[list[int]] = [[] for _ in range(count)]
    uses: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        into[target].append(source)
        uses[source].append(target)
    order, waiting = [], [len(sources) for sources in into]
    ready = [box for box in range(count) if not waiting[box]]
    layer = [0] * count
    while ready:
        box = ready.pop()
        order.append(box)
        for target in uses[box]:
            layer[target] = max(layer[target], layer[box] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for box in reversed(order):
        if not into[box] and uses[box]:
            layer[box] = min(layer[target] for target in uses[box]) - 1
    return layer


def _neighbours(
    count: int, links: Sequence[tuple[int, int]]
) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in links:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _uncross(layers: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Order the boxes of each layer by the mean place of their neighbours, down and up again."""
    place: dict[int, float] = {}
    for row in layers:
        place.update({box: float(k) for k, box in enumerate(row)})
    for sweep in range(SWEEPS):
        rows, near = (layers, above) if sweep % 2 == 0 else (layers[::-1], below)
        for row in rows:
            wanted = {
                box: sum(place[other] for other in near[box]) / len(near[box])
                if near[box]
                else place[box]
                for box in row
            }
            row.sort(key=lambda box: wanted[box])
            place.update({box: float(k) for k, box in enumerate(row)})


def _columns(
    layers: Sequence[Sequence[int]],
    widths: Sequence[float],
    above: list[list[int]],
    below: list[list[int]],
) -> list[float]:
    """A horizontal place for each box: near the mean of its neighbours, and clear of its row."""
    x = [0.0] * len(widths)
    for row in layers:
        at = 0.0
        for box in row:
            x[box] = at + widths[box] / 2
            at += widths[box] + BETWEEN_BOXES
    for sweep in range(SWEEPS):
        rows, near = (layers, above) if sweep % 2 == 0 else (layers[::-1], below)
        for row in rows:
            wanted = [
                sum(x[other] for other in near[box]) / len(near[box]) if near[box] else x[box]
                for box in row
            ]
            for box, found in zip(row, _spread(row, wanted, widths), strict=True):
                x[box] = found
    left = min((x[box] - widths[box] / 2 for row in layers for box in row), default=0.0)
    return [value - left for value in x]


def _spread(row: Sequence[int], wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones, in this order and without overlap.

    Boxes that would overlap form a block, which moves as one to the mean of its wishes: the
    "pool adjacent violators" of isotonic regression.
    """
    offset, offsets = 0.0, []
    for k, box in enumerate(row):
        if k:
            offset += (widths[row[k - 1]] + widths[box]) / 2 + BETWEEN_BOXES
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []
    for want, own in zip(wanted, offsets, strict=True):
        mean, size = want - own, 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean = (mean * size + other * count) / (size + count)
            size += count
        blocks.append((mean, size))
    means = [mean for mean, size in blocks for _ in range(size)]
    return [mean + own for mean, own in zip(means, offsets, strict=True)]


def _drawn(
    sizes: Sequence[Point],
    layers: Sequence[Sequence[int]],
    chains: Sequence[Sequence[int]],
    columns: Sequence[float],
    widths: Sequence[float],
) -> Placed:
    """Rows get their heights, and edges their points."""
    y = [0.0] * len(columns)
    heights = [0.0] * len(columns)
    at = 0.0
    for row in layers:
        tallest = max((sizes[box][1] for box in row if box < len(sizes)), default=0.0)
        for box in row:
            y[box] = at + tallest / 2
            heights[box] = sizes[box][1] if box < len(sizes) else tallest
        at += tallest + BETWEEN_LAYERS
    lines = []
    for chain in chains:
        points = [(columns[chain[0]], y[chain[0]] + heights[chain[0]] / 2)]
        for bend in chain[1:-1]:
            points.append((columns[bend], y[bend] - heights[bend] / 2))
            points.append((columns[bend], y[bend] + heights[bend] / 2))
        points.append((columns[chain[-1]], y[chain[-1]] - heights[chain[-1]] / 2))
        lines.append(points)
    width = max((columns[box] + widths[box] / 2 for row in layers for box in row), default=0.0)
    centres = [(columns[box], y[box]) for box in range(len(sizes))]
    return Placed(centres, lines, width, max(at - BETWEEN_LAYERS, 0.0))
