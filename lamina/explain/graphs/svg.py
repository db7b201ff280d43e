"""A static picture of a graph: SVG that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import escape as escaped
from xml.sax.saxutils import quoteattr

from lamina.devices.byte_counts import bytes_in_words
from lamina.explain.graphs.layered import Point, placed
from lamina.explain.graphs.model import GraphModel
from lamina.explain.graphs.view import Box, opened, view_of
from lamina.explain.graphs.words import clipped, content_of, extra_bytes, printable, totals_of

MARGIN: Final = 16.0
CHARACTER: Final = 7.25
"""The width of a character of 12 pixels in any monospaced font, a little more than 0.6 of it."""
LINE: Final = 16.0
MOST_CHARACTERS: Final = 34

STYLE: Final = """
svg { color-scheme: light dark; }
text { font: 12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  fill: #1d2026; text-anchor: middle; }
.first { font-weight: 700; }
.soft { fill: #5b626e; }
rect { fill: #ffffff; stroke: #868e9b; stroke-width: 1.2; }
.paper { fill: #ffffff; stroke: none; }
.leaf rect { fill: #e5f4f0; stroke: #0a6b5e; stroke-width: 1.7; }
.data rect { fill: none; stroke-dasharray: 4 3; }
.group rect { fill: #eef1f7; stroke: #7386a8; }
.root rect { stroke: #1d2026; stroke-width: 2.2; }
.problem rect { stroke: #b3003c; stroke-width: 2.4; }
path { fill: none; stroke: #98a0ad; stroke-width: 1.3; }
.unwanted { stroke-dasharray: 3 4; }
marker path { fill: #98a0ad; stroke: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #eceef1; }
  .soft { fill: #a8b0bc; }
  rect { fill: #20242a; stroke: #747d8b; }
  .paper { fill: #16181c; }
  .leaf rect { fill: #15332e; stroke: #5fd0bb; }
  .group rect { fill: #252c3a; stroke: #8ba1c9; }
  .root rect { stroke: #eceef1; }
  .problem rect { stroke: #ff7a9c; }
  path { stroke: #6d7685; }
  marker path { fill: #6d7685; }
}
"""


class Drawn(NamedTuple):
    """A box as it is drawn: its class, its lines, and what a pointer on it shows."""

    kind: str
    lines: list[str]
    hint: str


def escape(text: str) -> str:
    """A text as XML writes it."""
    return escaped(printable(text))


def svg_of(model: GraphModel) -> str:
    """The picture as text."""
    view = view_of(model, opened(model))
    boxes = [_drawn(model, box) for box in view.boxes]
    sizes = [_size(box) for box in boxes]
    layout = placed(sizes, [(source, target) for source, target, _ in view.links])
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    title = escape(f"Graph of {model.title}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="title description">',
        f'<title id="title">{title}</title>',
        f'<desc id="description">{escape(_described(model))}</desc>',
        f"<style>{STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0,0.6L7.4,4L0,7.4z"/></marker></defs>',
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>',
    ]
    for (_, _, wanted), points in zip(view.links, layout.lines, strict=True):
        kind = "" if wanted else ' class="unwanted"'
        parts.append(f'<path{kind} d="{_curve(points)}" marker-end="url(#arrow)"/>')
    for box, size, centre in zip(boxes, sizes, layout.centres, strict=True):
        parts.append(_box(box, size, centre))
    return "\n".join([*parts, "</svg>", ""])


def _described(model: GraphModel) -> str:
    """What a screen reader says: the operations in the order in which they ran."""
    said = [totals_of(model) + "."]
    for node in model.nodes[:60]:
        if node.kind == "operation":
            sources = [model.nodes[e.source] for e in model.edges if e.target == node.id]
            names = ", ".join(source.name or source.word for source in sources)
            what = f"{node.word} ({node.name})" if node.name else node.word
            said.append(f"{what}, {node.outputs[0]}, from {names}." if names else f"{what}.")
    return " ".join(said)


def _drawn(model: GraphModel, box: Box) -> Drawn:
    nodes = [model.nodes[number] for number in box.nodes]
    is_root = any(number in model.roots for number in box.nodes)
    more = " root" * is_root + " problem" * any(node.problem for node in nodes)
    kept = extra_bytes(nodes)
    keeps = f"keeps {bytes_in_words(kept)}" if kept else ""
    if box.group is not None:
        group = model.groups[box.group]
        name = group.path if group.kind == "module" else group.label
        lines = [f"{name} {group.detail}".rstrip(), content_of(nodes), keeps]
        return Drawn("group" + more, [line for line in lines if line], "")
    node = nodes[0]
    first = f"{node.word} {node.name or ''}" if node.kind == "operation" else node.name
    lines = [(first or node.word).strip()]
    if node.kind == "operation" and node.place is not None:
        lines.append(node.place.expression)
    lines.append(f"{node.outputs[0]}" + (f", {keeps}" if keeps else ""))
    hint = "" if node.place is None else f"{node.place}  {node.place.text}"
    return Drawn(node.kind + more, [line for line in lines if line], hint)


def _size(box: Drawn) -> Point:
    longest = max(len(clipped(line, MOST_CHARACTERS)) for line in box.lines)
    return longest * CHARACTER + 30, len(box.lines) * LINE + 14


def _box(box: Drawn, size: Point, centre: Point) -> str:
    width, height = size
    left, top = MARGIN + centre[0] - width / 2, MARGIN + centre[1] - height / 2
    is_tensor = box.kind.partition(" ")[0] in ("leaf", "data")
    corner = height / 2 if is_tensor else 7
    parts = [f'<g class={quoteattr(box.kind)} transform="translate({left:.1f},{top:.1f})">']
    if box.hint:
        parts.append(f"<title>{escape(box.hint)}</title>")
    parts.append(f'<rect width="{width:.1f}" height="{height:.1f}" rx="{corner:.1f}"/>')
    for row, line in enumerate(box.lines):
        kind = "soft" if row else "first"
        shown = escape(clipped(line, MOST_CHARACTERS))
        at = f'x="{width / 2:.1f}" y="{row * LINE + 19:.1f}"'
        parts.append(f'<text class="{kind}" {at}>{shown}</text>')
    return "".join([*parts, "</g>"])


def _curve(points: Sequence[Point]) -> str:
    """Straight down where an edge passes a layer, curved between layers."""
    moved = [(x + MARGIN, y + MARGIN) for x, y in points]
    path = f"M{moved[0][0]:.1f},{moved[0][1]:.1f}"
    for k in range(1, len(moved)):
        (x, y), (to_x, to_y) = moved[k - 1], moved[k]
        if k % 2 == 0:
            path += f"L{to_x:.1f},{to_y:.1f}"
        else:
            middle = (y + to_y) / 2
            path += f"C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}"
    return path
