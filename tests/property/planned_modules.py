"""Random modules of several functions that call one another, and orders of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.property.placed_programs import DEVICES

UNARY = {"negative": np.negative, "abs": np.abs}
BINARY = {"add": np.add, "subtract": np.subtract, "maximum": np.maximum}


@dataclass(frozen=True)
class Line:
    """``%name = operator(operands) suffix``; an operator ``@f`` is a call."""

    name: str
    operator: str
    operands: tuple[str, ...]
    suffix: str

    @property
    def text(self) -> str:
        operands = ", ".join(f"%{o}" for o in self.operands)
        return f"    %{self.name} = {self.operator}({operands}){self.suffix}"


@dataclass(frozen=True)
class Written:
    """A function of two tensors."""

    name: str
    places: tuple[str, str]
    lines: tuple[Line, ...]
    result: str
    result_place: str

    def text(self, rng: random.Random | None) -> str:
        first, second = self.places
        lines = self.lines if rng is None else _shuffled(self.lines, rng)
        body = "\n".join(line.text for line in lines)
        entry = " attrs { entry = true }" if self.name == "main" else ""
        return (
            f"  fn @{self.name}(%x: f32[4]{first}, %y: f32[4]{second})"
            f" -> f32[4]{self.result_place}{entry} {{\n{body}\n    return %{self.result}\n  }}"
        )


def _shuffled(lines: Sequence[Line], rng: random.Random) -> list[Line]:
    waiting, ordered = list(lines), list[Line]()
    while waiting:
        missing = {line.name for line in waiting}
        ready = [line for line in waiting if not missing & set(line.operands)]
        ordered.append(rng.choice(ready))
        waiting.remove(ordered[-1])
    return ordered


@dataclass(frozen=True)
class Modules:
    """A module as text, in any order of its functions and statements, and what it computes."""

    functions: tuple[Written, ...]

    def text(self, shuffle: int | None = None) -> str:
        rng = None if shuffle is None else random.Random(shuffle)
        functions = list(self.functions)
        if rng is not None:
            rng.shuffle(functions)
        body = "\n".join(f.text(rng) for f in functions)
        return f"module {{\n  vdevice @host, @a, @b\n{body}\n}}\n"

    def run(self, x: Any, y: Any, name: str = "main") -> Any:
        """Return what ``@name`` computes."""
        function = next(f for f in self.functions if f.name == name)
        values = {"x": x, "y": y}
        for line in function.lines:
            operands = [values[o] for o in line.operands]
            if line.operator.startswith("@"):
                values[line.name] = self.run(operands[0], operands[1], line.operator[1:])
            else:
                values[line.name] = (UNARY | BINARY)[line.operator](*operands)
        return values[function.result]


def modules(rng: random.Random) -> Modules:
    """Return a module in which each function calls only those written before it."""
    functions: list[Written] = []
    for name in (*(f"f{i}" for i in range(rng.randrange(1, 4))), "main"):
        functions.append(_function(rng, name, [f.name for f in functions]))
    return Modules(tuple(functions))


def _function(rng: random.Random, name: str, callees: Sequence[str]) -> Written:
    lines: list[Line] = []
    known = ["x", "y"]
    for index in range(rng.randrange(1, 7)):
        lines.append(_line(rng, f"{name}v{index}", known, callees))
        known.append(lines[-1].name)
    places = (_place(rng, 0.3), _place(rng, 0.3))
    return Written(name, places, tuple(lines), rng.choice(known[2:]), _place(rng, 0.3))


def _line(rng: random.Random, name: str, known: Sequence[str], callees: Sequence[str]) -> Line:
    operands = (rng.choice(known), rng.choice(known[-3:]))
    if callees and rng.random() < 0.4:
        return Line(name, f"@{rng.choice(callees)}", operands, _place(rng, 0.3))
    if rng.random() < 0.4:
        return Line(name, rng.choice(list(UNARY)), operands[:1], _place(rng, 0.4))
    return Line(name, rng.choice(list(BINARY)), operands, _place(rng, 0.4))


def _place(rng: random.Random, chance: float) -> str:
    return f" @{rng.choice(DEVICES)}" if rng.random() < chance else ""


__all__ = ["Modules", "modules"]
