"""The page: one HTML file with all that it needs in it."""

from __future__ import annotations

import html
import json
from importlib import resources
from string import Template
from typing import Any, Final

from lamina.errors import Place
from lamina.explain.graphs.model import GraphModel, Node
from lamina.explain.graphs.view import opened
from lamina.explain.graphs.words import totals_of

ASSETS: Final = resources.files("lamina.explain.graphs") / "assets"
SCRIPTS: Final = (
    "graph.js", "layout.js", "drawing.js", "details.js", "hints.js", "stepping.js", "searching.js",
    "controls.js",
)  # fmt: skip
LIBRARY: Final = "dagre.min.js"
LICENCE: Final = "dagre-LICENSE.txt"


def page_of(model: GraphModel) -> str:
    """The page as text."""
    return Template(_asset("page.html")).substitute(
        title=html.escape(f"Graph of {model.title}"),
        style=_asset("page.css"),
        model=_as_script_text(payload(model)),
        library=_asset(LICENCE) + _without_source_map(_asset(LIBRARY)),
        script="".join(_asset(name) for name in SCRIPTS),
    )


def framed(page: str, height: int = 640) -> str:
    """A page in a frame of its own, so that it and a notebook leave each other alone."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" title="Graph" sandbox="allow-scripts" '
        f'style="width: 100%; height: {height}px; border: 1px solid #8888; border-radius: 6px">'
        "</iframe>"
    )


def payload(model: GraphModel) -> dict[str, Any]:
    """What the page's scripts read. Places are listed once, since many nodes share one."""
    places: dict[Place, int] = {}
    return {
        "title": model.title,
        "totals": totals_of(model),
        "notes": model.notes,
        "nodes": [_node(node, places) for node in model.nodes],
        "edges": [
            {
                "source": edge.source, "target": edge.target, "state": edge.state,
                "gradient": "" if edge.gradient.shape is None else str(edge.gradient),
                "values": "" if edge.values is None else str(edge.values),
                "finite": edge.values is None or edge.values.is_finite,
            }
            for edge in model.edges
        ],
        "groups": [
            {
                "parent": group.parent, "label": group.label, "path": group.path,
                "detail": group.detail, "kind": group.kind,
            }
            for group in model.groups
        ],
        "roots": model.roots,
        "steps": [
            {
                "node": step.node, "action": step.action, "sent": step.sent,
                "sentence": step.sentence,
            }
            for step in model.steps
        ],
        "open": sorted(opened(model)),
        "places": [_place(place) for place in places],
    }  # fmt: skip


def _node(node: Node, places: dict[Place, int]) -> dict[str, Any]:
    known = node.place
    return {
        "kind": node.kind, "word": node.word, "class_name": node.class_name, "name": node.name,
        "outputs": [str(facts) for facts in node.outputs], "group": node.group,
        "place": None if known is None else places.setdefault(known, len(places)),
        "notes": node.notes, "problem": node.problem, "keeps_gradient": node.keeps_gradient,
        "has_gradient": node.has_gradient,
        "kept": [
            {
                "what": kept.what, "facts": str(kept.facts), "bytes": kept.bytes,
                "memory": kept.memory, "held": kept.memory_bytes, "extra": kept.is_extra,
                "node": kept.node,
            }
            for kept in node.kept
        ],
    }  # fmt: skip


def _place(place: Place) -> dict[str, Any]:
    return {
        "file": place.file, "line": place.line, "text": place.text, "start": place.start,
        "end": place.end, "expression": place.expression, "function": place.function,
    }  # fmt: skip


def _as_script_text(value: Any) -> str:
    """JSON that cannot end the script it stands in, whatever the program's source says."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(sign, code)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _without_source_map(script: str) -> str:
    """A library without the line that sends developer tools to another file."""
    lines = script.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("//# sourceMappingURL"))
