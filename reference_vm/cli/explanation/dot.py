"""The graph of an explained plan in the DOT language, for Graphviz and what else reads it."""

from __future__ import annotations

from collections.abc import Iterator

from reference_vm.cli.explanation import words
from reference_vm.cli.explanation.diagram import Box, Diagram, Wire, diagram
from reference_vm.cli.explanation.labels import lines_of, wire_label
from reference_vm.passes.explanation import Plan


def dot(plan: Plan) -> str:
    """Return one ``digraph`` for each function of ``plan``."""
    graphs = (diagram(function, plan.devices) for function in plan.functions)
    return "".join(f"{line}\n" for graph in graphs for line in _graph(graph))


def _graph(graph: Diagram) -> Iterator[str]:
    yield f"digraph {_quoted(graph.name)} {{"
    yield "  node [shape=box, fontname=monospace];"
    for lane, vdevice in enumerate(graph.lanes):
        yield f"  subgraph cluster_{lane} {{"
        yield f"    label={_quoted(words.device(vdevice))};"
        for index, box in enumerate(graph.boxes):
            if box.device == vdevice:
                yield f"    n{index} [label={_label(box, graph.name)}];"
        yield "  }"
    yield from (_edge(wire, graph.name) for wire in graph.wires)
    yield "}"


def _label(box: Box, function: str) -> str:
    return _quoted("".join(f"{line}\n" for line in lines_of(box, function)), end="\\l")


def _edge(wire: Wire, function: str) -> str:
    if not wire.crosses:
        return f"  n{wire.start} -> n{wire.end};"
    label = _quoted(wire_label(wire, function))
    return f"  n{wire.start} -> n{wire.end} [style=bold, label={label}];"


def _quoted(text: str, end: str = "\\n") -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", end)
    return f'"{escaped}"'


__all__ = ["dot"]
