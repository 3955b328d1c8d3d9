"""The graph of a plan: boxes, wires, DOT and SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import reference_vm as rv
from reference_vm.cli.explanation.diagram import Diagram, diagram
from reference_vm.cli.explanation.dot import dot
from reference_vm.cli.explanation.layout import layout
from reference_vm.cli.explanation.svg import svg
from reference_vm.passes.explanation import Plan

SVG = "{http://www.w3.org/2000/svg}"
PROGRAM = """module {
  vdevice @host, @accel
  fn @main(%a: f32[4], %"odd \\"<name>&": f32[4]) -> f32[4] {
    %x = exp(%a) @accel
    %y = abs(%x) @accel
    %z = add(%y, %"odd \\"<name>&") @host
    %w = add(%z, %x) @accel
    return %w
  }
}
"""


def explained() -> Plan:
    return rv.explain(rv.parse(PROGRAM), "host=cpu:0,accel=sim:0")


def drawn() -> Diagram:
    plan = explained()
    return diagram(plan.functions[0], plan.devices)


def test_operators_of_one_device_that_follow_each_other_share_a_box() -> None:
    boxes = [b for b in drawn().boxes if b.kind == "operators"]

    assert [(b.device.role, [o.op for o in b.operators]) for b in boxes] == [
        ("accel", ["exp", "abs"]),
        ("host", ["add"]),
        ("accel", ["add"]),
    ]


def test_wires_between_devices_carry_what_is_copied() -> None:
    graph = drawn()
    crossing = {
        (graph.boxes[w.start].device.role, graph.boxes[w.end].device.role): [
            v.name for v in w.values
        ]
        for w in graph.wires
        if w.crosses
    }

    assert crossing == {("accel", "host"): ["main/%y"], ("host", "accel"): ["main/%z"]}


def test_boxes_do_not_overlap_and_wires_run_downwards() -> None:
    at = layout(drawn())
    for one in at.boxes:
        for other in at.boxes:
            if one is not other and one.x == other.x:
                assert one.y + one.height < other.y or other.y + other.height < one.y
    for route in at.routes:
        heights = [y for _, y in route.points]
        assert heights == sorted(heights)
    assert all(b.x + b.width < at.width and b.y + b.height < at.height for b in at.boxes)


def test_the_picture_is_well_formed_titled_and_described() -> None:
    root = ElementTree.fromstring(svg(explained()))

    assert root.get("role") == "img"
    labels = [root.find(f"{SVG}{name}") for name in ("title", "desc")]
    assert root.get("aria-labelledby") == " ".join(
        str(e.get("id")) for e in labels if e is not None
    )
    assert "3 operators on @accel (sim:0)" in str(labels[1] is not None and labels[1].text)
    style = str(root.findtext(f"{SVG}style"))
    assert "prefers-color-scheme: dark" in style


def test_every_class_of_the_picture_has_a_style() -> None:
    root = ElementTree.fromstring(svg(explained()))
    used = {c for e in root.iter() for c in str(e.get("class") or "").split()}
    styled = set(re.findall(r"\.([a-z]+\d*)", str(root.findtext(f"{SVG}style"))))

    assert used <= styled


def test_every_operator_can_be_read_in_the_picture() -> None:
    root = ElementTree.fromstring(svg(explained()))
    titles = " ".join(e.text or "" for e in root.iter(f"{SVG}title"))

    for operator in explained().functions[0].operators:
        assert f"{operator.name.removeprefix('main/')} = {operator.op}" in titles


def test_dot_quotes_names_and_puts_devices_apart() -> None:
    text = dot(explained())

    assert text.count("subgraph cluster_") == 2
    assert 'label="@accel (sim:0)"' in text
    assert '%\\"odd \\\\\\"<name>&\\"' in text or 'odd \\"<name>&' in text
    for line in text.splitlines():
        assert len(re.findall(r'(?<!\\)"', line)) % 2 == 0, line
