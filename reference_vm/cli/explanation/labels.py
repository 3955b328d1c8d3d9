"""What is written on the boxes and wires of a plan's graph."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Final

from reference_vm.cli.explanation import words
from reference_vm.cli.explanation.diagram import Box, Wire
from reference_vm.passes.explanation import Operator

WIDTH: Final = 46
"""Characters of a line."""

_UNBROKEN: Final = "\u00a0"
_LISTED: Final = 6
"""How many operators or values are listed one by one."""


def lines_of(box: Box, function: str) -> list[str]:
    """Return the lines on a box: its title, then what is in it."""
    if box.kind != "operators":
        names = [words.variable(v.name, function) for v in box.values]
        return [box.kind, *_listed(names)]
    title = words.count(len(box.operators), "operator")
    if len(box.operators) <= _LISTED:
        return [title, *(_operator(o, function) for o in box.operators)]
    counts = Counter(o.op for o in box.operators)
    kinds = ", ".join(f"{count}{_UNBROKEN}{op}" for op, count in counts.most_common())
    return [title, *(line.replace(_UNBROKEN, " ") for line in textwrap.wrap(kinds, WIDTH))]


def _operator(operator: Operator, function: str) -> str:
    line = "" if operator.line is None else f"  :{operator.line}"
    name = words.variable(operator.name, function)
    rest = f" = {operator.op}{line}"
    return words.shortened(name, max(8, WIDTH - len(rest))) + rest


def _listed(names: list[str]) -> list[str]:
    shown = [words.shortened(n, WIDTH) for n in names[:_LISTED]]
    more = len(names) - _LISTED
    return [*shown, f"and {more} more"] if more > 0 else shown


def wire_label(wire: Wire, function: str) -> str:
    """Return what a wire between devices carries."""
    (first, *others) = (words.variable(v.name, function) for v in wire.values)
    size = words.size(wire.bytes)
    if others:
        return f"{len(wire.values)} values, {size}"
    return f"{words.shortened(first, WIDTH - len(size) - 2)}, {size}"


def received(wires: list[Wire], sources: list[str], function: str) -> list[str]:
    """Return a line for each wire that brings values from another device."""
    lines = []
    for wire, source in zip(wires, sources, strict=True):
        name = words.variable(wire.values[0].name, function)
        if len(wire.values) > 1:
            name = f"{len(wire.values)} values"
        rest = f" from {source}, {words.size(wire.bytes)}"
        lines.append(words.shortened(name, max(8, WIDTH - len(rest))) + rest)
    return lines


__all__ = ["WIDTH", "lines_of", "received", "wire_label"]
