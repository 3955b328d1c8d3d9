"""Random programs of nested branches over large values, for what a memory plan holds at most.

Each branch is decided by an argument of its own, so that there is a run for every path.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

DEEPEST: Final = 8
MOST: Final = 8
"""Branches of a program, and so how deep they may nest."""

BOX: Final = "Box[f32[n, n]]"

_MATRIX: Final = "f32[n, n]"
_WIDE: Final = "wide"
_ROW: Final = "f32[n]"

_Known: TypeAlias = dict[str, list[str]]


@final
@dataclass(frozen=True)
class Branches:
    """A program, and which arguments decide its branches: ``bool[]``, or a box that is matched."""

    text: str
    deciding: tuple[str, ...]


@final
@dataclass
class _Writer:
    rng: random.Random
    places: tuple[str, ...]
    deepest: int
    lines: list[str] = field(default_factory=list)
    deciding: list[str] = field(default_factory=list)
    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def pick(self, known: _Known, type_: str) -> str:
        return self.rng.choice(known[type_][-2:])

    def block(self, known: _Known, length: int, depth: int) -> _Known:
        """Write statements; return what is known after them."""
        here = {type_: list(names) for type_, names in known.items()}
        for _ in range(length):
            more = depth < self.deepest and len(self.deciding) < MOST
            if more and self.rng.random() < 0.4:
                self.branch(here, depth)
            else:
                self.computed(here)
        return here

    def computed(self, known: _Known) -> None:
        name, place = self.fresh(), self.rng.choice(self.places)
        x, kind, type_ = self.pick(known, _MATRIX), self.rng.randrange(6), _MATRIX
        if kind == 0:
            text, type_ = f"sum({x}, axis = [1])", _ROW
        elif kind == 1:
            text = f"add({x}, {self.pick(known, _ROW)})"
        elif kind == 2:
            text, type_ = f"concat({x}, {self.pick(known, _MATRIX)}, axis = 0)", _WIDE
        elif kind == 3 and known[_WIDE]:
            folded = self.fresh()
            self.lines.append(f"{folded} = sum({self.pick(known, _WIDE)}, axis = [0]){place}")
            text = f"multiply({x}, {folded})"
        elif kind == 4:
            text = f"permute_dims({x}, axes = [1, 0])"
        else:
            text = f"{self.rng.choice(('exp', 'tanh', 'relu'))}({x})"
        self.lines.append(f"{name} = {text}{place}")
        known[type_].append(name)

    def branch(self, known: _Known, depth: int) -> None:
        """A branch that gives a matrix, or a matrix and a row."""
        name, found, pair = self.fresh(), self.fresh(), self.rng.random() < 0.3
        argument = f"%c{len(self.deciding)}"
        if self.rng.random() < 0.3:
            self.deciding.append(BOX)
            heads = (f"{name} = match {argument} {{ Full({found}) => {{", "} Empty => {", "} }")
            inside = {**known, _MATRIX: [*known[_MATRIX], found]}
        else:
            self.deciding.append("bool[]")
            heads = (f"{name} = if {argument} {{", "} else {", "}")
            inside = known
        for head, scope in zip(heads[:2], (inside, known), strict=True):
            self.lines.append(head)
            here = self.block(scope, self.rng.randrange(4), depth + 1)
            result = self.pick(here, _MATRIX)
            if pair:
                whole = self.fresh()
                self.lines.append(f"{whole} = ({result}, {self.pick(here, _ROW)})")
                result = whole
            self.lines.append(f"yield {result}")
        self.lines.append(heads[2])
        if not pair:
            known[_MATRIX].append(name)
            return
        matrix, row = self.fresh(), self.fresh()
        self.lines += [f"{matrix} = {name}[0]", f"{row} = {name}[1]"]
        known[_MATRIX].append(matrix)
        known[_ROW].append(row)


def branch_program(seed: int, side: str, places: tuple[str, ...] = ("",)) -> Branches:
    """Return the program of a seed; ``side`` is that of its matrices, a number or ``n``."""
    rng = random.Random(seed)
    writer = _Writer(rng, places, rng.randint(1, DEEPEST))
    known = writer.block({_MATRIX: ["%x", "%y"], _ROW: ["%r"], _WIDE: []}, 7, 0)
    deciding = "".join(f", %c{i}: {type_}" for i, type_ in enumerate(writer.deciding))
    params = f"%x: {_MATRIX}, %y: {_MATRIX}, %r: {_ROW}{deciding}"
    text = "\n".join(
        (
            "module {",
            "  vdevice @host, @accel",
            "  type Box[T] { Empty, Full(T) }",
            f"  fn @main({params}) -> {_MATRIX} {{",
            *(f"    {line}" for line in writer.lines),
            f"    return {known[_MATRIX][-1]}",
            "  }",
            "}",
        )
    )
    sized = text.replace("[n", f"[{side}").replace(", n]", f", {side}]")
    return Branches(sized, tuple(writer.deciding))


__all__ = ["BOX", "DEEPEST", "MOST", "Branches", "branch_program"]
