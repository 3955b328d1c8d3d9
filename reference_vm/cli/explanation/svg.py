"""The graph of an explained plan as SVG, drawn here: readable in light and dark, and read aloud.

The picture has a title and a description, and so has every box; nothing is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final
from xml.sax.saxutils import escape

from reference_vm.cli.explanation import words
from reference_vm.cli.explanation.diagram import Diagram, diagram
from reference_vm.cli.explanation.labels import wire_label
from reference_vm.cli.explanation.layout import LINE, PAD, Lane, Layout, Placed, Route, layout
from reference_vm.passes.explanation import FunctionPlan, Plan

_LIGHT_LANES: Final = (
    ("#eaf2fb", "#1f5f9e"),
    ("#fdf1e3", "#a05a00"),
    ("#e8f6ec", "#1f7a3f"),
    ("#f4ecfb", "#6f3ba8"),
)
"""Background and edges of the lanes, in turn."""

_DARK_LANES: Final = (
    ("#0f1c2b", "#79b4ee"),
    ("#281b0d", "#e5ab62"),
    ("#0f2316", "#76cf93"),
    ("#20152c", "#c199ee"),
)

_STYLE: Final = """
  .page { fill: #ffffff } .ink { fill: #1b1f24 } .faint { fill: #57606a }
  .box { fill: #ffffff; stroke-width: 1.5 } .end { stroke-dasharray: 5 3 }
  .wire { fill: none; stroke: #8c959f; stroke-width: 1.5 } .tip { fill: #8c959f }
  .cross { fill: none; stroke: #b3261e; stroke-width: 2.5 } .crosstip { fill: #b3261e }
  .received { fill: #b3261e }
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre }
  .head { font-size: 14px; font-weight: 600 } .bold { font-weight: 600 }
"""

_DARK: Final = """
  .page { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9da7b3 }
  .box { fill: #161b22 }
  .wire { stroke: #6e7681 } .tip { fill: #6e7681 }
  .cross { stroke: #ff9a8f } .crosstip { fill: #ff9a8f } .received { fill: #ff9a8f }
"""

_GAP: Final = 24


def svg(plan: Plan) -> str:
    """Return one picture of all functions of ``plan``, one below the other."""
    graphs = [(f, diagram(f, plan.devices)) for f in plan.functions]
    placed = [(f, graph, layout(graph)) for f, graph in graphs]
    width = max((at.width for _, _, at in placed), default=0)
    height = sum(at.height + _GAP for _, _, at in placed)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        f' width="{width}" height="{height}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(_title(plan))}</title>',
        f'<desc id="desc">{escape(_description(plan, graphs))}</desc>',
        f"<style>{_STYLE}{_lane_style(plan)}",
        f"@media (prefers-color-scheme: dark) {{{_DARK}{_lane_style(plan, dark=True)}}}</style>",
        "<defs>",
        _marker("tip"),
        _marker("crosstip"),
        "</defs>",
        f'<rect class="page" width="{width}" height="{height}"/>',
    ]
    top = 0
    for _, graph, at in placed:
        lines.append(f'<g transform="translate(0 {top})">')
        lines.extend(_drawn(graph, at, plan))
        lines.append("</g>")
        top += at.height + _GAP
    return "\n".join((*lines, "</svg>", ""))


def _title(plan: Plan) -> str:
    names = ", ".join(f"@{f.name}" for f in plan.functions)
    return f"Where {names} runs, and what is copied"


def _description(plan: Plan, graphs: list[tuple[FunctionPlan, Diagram]]) -> str:
    parts = []
    for function, graph in graphs:
        for device in graph.lanes:
            operators = sum(1 for o in function.operators if o.device == device)
            parts.append(f"{words.count(operators, 'operator')} on {words.device(device)}")
        crossing = [w for w in graph.wires if w.crosses]
        values = sum(len(w.values) for w in crossing)
        parts.append(f"{words.count(values, 'value')} read on another device than they are made on")
    return f"{'; '.join(parts)}. Each column is a device; time runs downwards."


def _lane_style(plan: Plan, *, dark: bool = False) -> str:
    colours = _DARK_LANES if dark else _LIGHT_LANES
    rows = []
    for index in range(len(plan.devices)):
        fill, stroke = colours[index % len(colours)]
        rows.append(f"  .lane{index} {{ fill: {fill} }} .edge{index} {{ stroke: {stroke} }}")
    return "\n".join((*rows, ""))


def _marker(name: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path class="{name}" d="M0 0 8 4 0 8z"/></marker>'
    )


def _drawn(graph: Diagram, at: Layout, plan: Plan) -> Iterator[str]:
    numbers = [plan.devices.index(d) for d in graph.lanes]
    for number, lane in zip(numbers, at.lanes, strict=True):
        yield from _lane(lane, number, at.height)
    for route in sorted(at.routes, key=lambda r: r.wire.crosses):
        yield _route(route, graph)
    for placed in at.boxes:
        yield from _box(placed, plan.devices.index(placed.box.device), graph)


def _lane(lane: Lane, number: int, height: int) -> Iterator[str]:
    yield (
        f'<rect class="lane{number}" x="{lane.x + 4}" y="8" width="{lane.width - 8}" '
        f'height="{height - 16}" rx="8"/>'
    )
    x = lane.x + lane.width // 2
    yield f'<text class="ink head" x="{x}" y="34" text-anchor="middle">{escape(lane.title)}</text>'


def _route(route: Route, graph: Diagram) -> str:
    kind, tip = ("cross", "crosstip") if route.wire.crosses else ("wire", "tip")
    points = route.points
    path = [f"M{points[0][0]:.0f} {points[0][1]:.0f}"]
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (y1 + y2) / 2
        curve = f"C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {y2:.0f}"
        path.append(f"V{y2:.0f}" if x1 == x2 else curve)
    ends = [str(graph.boxes[i].device) for i in (route.wire.start, route.wire.end)]
    title = f"{wire_label(route.wire, graph.name)}: {' to '.join(dict.fromkeys(ends))}"
    return (
        f'<path class="{kind}" marker-end="url(#{tip})" d="{"".join(path)}">'
        f"<title>{escape(title)}</title></path>"
    )


def _box(placed: Placed, number: int, graph: Diagram) -> Iterator[str]:
    box = placed.box
    everything = [words.variable(o.name, graph.name) + f" = {o.op}" for o in box.operators]
    everything.extend(words.variable(v.name, graph.name) for v in box.values)
    yield f"<g><title>{escape(f'{box.kind} on {box.device}: ' + ', '.join(everything))}</title>"
    end = "" if box.kind == "operators" else " end"
    yield (
        f'<rect class="box edge{number}{end}" x="{placed.x}" y="{placed.y}" '
        f'width="{placed.width}" height="{placed.height}" rx="6"/>'
    )
    x, y = placed.x + PAD, placed.y + PAD + LINE - 5
    for line in placed.received:
        yield f'<text class="received" x="{x}" y="{y}">{escape(line)}</text>'
        y += LINE
    y += PAD if placed.received else 0
    for index, line in enumerate(placed.lines):
        kind = "ink" if index else "ink bold"
        yield f'<text class="{kind}" x="{x}" y="{y}">{escape(line)}</text>'
        y += LINE
    yield "</g>"


__all__ = ["svg"]
