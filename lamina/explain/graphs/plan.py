"""The order of a backward pass, and what happens at each step, in words.

PyTorch's order, which is Lamina's: of all operations whose gradient is complete, the one that ran
last comes first; a leaf is served as soon as it has all of its gradient.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from lamina.core.general_run import pop_equal
from lamina.explain.graphs.model import Edge, Facts, Node, Step


def steps_of(nodes: Sequence[Node], edges: Sequence[Edge], roots: Sequence[int]) -> list[Step]:
    """The steps of a backward pass from the roots; it ends at a node that will fail."""
    into: list[list[int]] = [[] for _ in nodes]  # edges that lead to a node's inputs
    waiting = [0] * len(nodes)
    for number, edge in enumerate(edges):
        if edge.state != "unwanted":
            into[edge.target].append(number)
            waiting[edge.source] += 1
    arrived: dict[int, list[int]] = {root: [] for root in roots}
    heap = [(-nodes[root].stamp, root) for root in arrived if nodes[root].kind == "operation"]
    heapq.heapify(heap)
    steps: list[Step] = []
    ready = [root for root in arrived if nodes[root].kind == "leaf" and not waiting[root]]

    def serve() -> None:
        while ready:
            leaf = pop_equal(ready)
            steps.append(_served(nodes[leaf], arrived[leaf], edges, nodes))

    serve()
    while heap:
        number = heapq.heappop(heap)[1]
        steps.append(_run(nodes[number], arrived[number], into[number], edges, nodes))
        if nodes[number].problem:
            break
        for sent in into[number]:
            source = edges[sent].source
            waiting[source] -= 1
            if source not in arrived:
                arrived[source] = []
                if nodes[source].kind == "operation":
                    heapq.heappush(heap, (-nodes[source].stamp, source))
            arrived[source].append(sent)
            if nodes[source].kind == "leaf" and not waiting[source]:
                ready.append(source)
        serve()
    return steps


def called(node: Node) -> str:
    """A node in a sentence: its name, or the operation."""
    if node.kind == "operation":
        return f"{node.word} (`{node.name}`)" if node.name else node.word
    return f"`{node.name}`" if node.name else f"a {node.word}"


def _run(
    node: Node, arrived: list[int], sent: list[int], edges: Sequence[Edge], nodes: Sequence[Node]
) -> Step:
    arrival = _arrival(node, arrived, edges, nodes)
    if node.problem:
        words = f"{arrival}. The pass fails here: {_first_line(node.problem)}."
        return Step(node.id, "run", tuple(arrived), (), words)
    if arrived and all(edges[number].state == "undefined" for number in arrived):
        words = f"{arrival}, and passes None on."
    elif sent:
        words = f"{arrival}, and sends {_going([edges[number] for number in sent], nodes)}."
    else:
        words = f"{arrival}, and nothing goes on from here."
    end = "kept in .grad (retain_grad)" if node.keeps_gradient else "dropped"
    return Step(node.id, "run", tuple(arrived), tuple(sent), f"{words} Its own gradient is {end}.")


def _served(leaf: Node, arrived: list[int], edges: Sequence[Edge], nodes: Sequence[Node]) -> Step:
    words = _arrival(leaf, arrived, edges, nodes)
    if arrived and all(edges[number].state == "undefined" for number in arrived):
        end = "its .grad stays as it is."
    elif not leaf.keeps_gradient:
        end = "dropped, since a view made without recording collects none."
    elif leaf.has_gradient:
        end = "added to the .grad that is there already."
    else:
        end = "kept in .grad, which was None."
    return Step(leaf.id, "accumulate", tuple(arrived), (), f"{words}: {end}")


def _arrival(node: Node, arrived: list[int], edges: Sequence[Edge], nodes: Sequence[Node]) -> str:
    """What a node gets, and from where."""
    if not arrived:
        shape = _shape(node.outputs[0]) if node.outputs else ""
        return f"{called(node)}: the pass begins here, with {shape}"
    senders = _listed(list(dict.fromkeys(called(nodes[edges[k].target]) for k in arrived)))
    defined = [edges[number] for number in arrived if edges[number].state != "undefined"]
    if not defined:
        return f"{called(node)} gets None from {senders}"
    results = len({edge.output for edge in defined})
    if results > 1:
        return f"{called(node)} gets gradients of {results} results from {senders}"
    if len(defined) > 1:
        shape = _shape(defined[0].gradient)
        return f"{called(node)} gets {len(defined)} gradients from {senders}, added up: {shape}"
    return f"{called(node)} gets {_gradient(defined[0])} from {senders}"


def _going(sent: Sequence[Edge], nodes: Sequence[Node]) -> str:
    """What goes on to where."""
    words: dict[str, int] = {}
    for edge in sent:
        what = "None" if edge.state == "undefined" else _gradient(edge)
        key = f"{what} to {called(nodes[edge.source])}"
        words[key] = words.get(key, 0) + 1
    return _listed([f"{key}, {count} times" if count > 1 else key for key, count in words.items()])


def _gradient(edge: Edge) -> str:
    """A gradient's shape, and what its numbers are like if that is known."""
    shape = _shape(edge.gradient)
    return shape if edge.values is None else f"{shape} ({edge.values.brief})"


def _shape(facts: Facts) -> str:
    """A shape; scalars, whose `[]` is easily overlooked, by a word."""
    return "a scalar" if facts.shape == () else str(Facts(facts.shape))


def _listed(words: list[str], most: int = 5) -> str:
    shown = words[:most]
    if len(words) > most:
        return ", ".join(shown) + f" and {len(words) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def _first_line(text: str) -> str:
    return text.partition("\n")[0].rstrip(".")
