"""Random placed programs, and copies of them with statements and operands in another order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

DEVICES = ("host", "a", "b")
MAP = "host=cpu:0,a=sim:0,b=sim:1"


@dataclass(frozen=True)
class Statement:
    """``%name = before, operands, after``; some are branches, which hold statements."""

    name: str
    operator: str
    operands: tuple[str, ...]
    suffix: str = ""
    annotation: str = ""
    arms: tuple[tuple[tuple[Statement, ...], str], ...] = ()

    @property
    def reads(self) -> frozenset[str]:
        inner = {
            name
            for statements, result in self.arms
            for name in (*(n for s in statements for n in s.reads), result)
        }
        return frozenset(self.operands) | inner

    def lines(self, rng: random.Random | None, indent: str) -> list[str]:
        head = f"{indent}%{self.name}{self.annotation} = "
        if self.operator == "if":
            (then, yielded), (orelse, other) = self.arms
            return [
                f"{head}if %{self.operands[0]} {{",
                *_lines(then, rng, indent + "  "),
                f"{indent}  yield %{yielded}",
                f"{indent}}} else {{",
                *_lines(orelse, rng, indent + "  "),
                f"{indent}  yield %{other}",
                f"{indent}}}{self.suffix}",
            ]
        operands = [f"%{o}" for o in self.operands]
        if rng is not None and self.operator in ("add", "multiply"):
            rng.shuffle(operands)
        if self.operator == "reshape":
            operands.append("%four")
        return [f"{head}{self.operator}({', '.join(operands)}){self.suffix}"]


def _lines(statements: Sequence[Statement], rng: random.Random | None, indent: str) -> list[str]:
    ordered = list(statements) if rng is None else _shuffled(statements, rng)
    return [line for s in ordered for line in s.lines(rng, indent)]


def _shuffled(statements: Sequence[Statement], rng: random.Random) -> list[Statement]:
    """Return ``statements`` in a random order that binds every name before it is read."""
    waiting, ordered = list(statements), list[Statement]()
    while waiting:
        missing = {s.name for s in waiting}
        ready = [s for s in waiting if not (s.reads & missing)]
        chosen = rng.choice(ready)
        waiting.remove(chosen)
        ordered.append(chosen)
    return ordered


@dataclass
class Program:
    """A module with one function of f32[4] values."""

    params: list[str]
    statements: list[Statement]
    result: str
    result_place: str = ""
    names: list[str] = field(default_factory=list)

    def text(self, shuffle: int | None = None) -> str:
        """Return the text, with statements and operands in an order that ``shuffle`` seeds."""
        rng = None if shuffle is None else random.Random(shuffle)
        return "\n".join(
            (
                "module {",
                "  vdevice @host, @a, @b",
                f"  fn @main({', '.join(self.params)}) -> f32[4]{self.result_place} {{",
                "    %four = const i64[1] [4]",
                *_lines(self.statements, rng, "    "),
                f"    return %{self.result}",
                "  }",
                "}",
            )
        )


class _Maker:
    def __init__(self, rng: random.Random, explicit: bool, branches: bool, operators: int) -> None:
        self.rng = rng
        self.explicit = explicit
        self.branches = branches
        self.count = 0
        self.left = operators

    def place(self, chance: float) -> str:
        if self.explicit or self.rng.random() < chance:
            return f" @{self.rng.choice(DEVICES)}"
        return ""

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def block(self, known: list[str], size: int, depth: int) -> list[Statement]:
        made: list[Statement] = []
        visible = list(known)
        for _ in range(size):
            statement = self.statement(visible, depth)
            made.append(statement)
            visible.append(statement.name)
        return made

    def statement(self, known: list[str], depth: int) -> Statement:
        rng, name = self.rng, self.name()
        recent = known[-4:] if rng.random() < 0.6 else known
        x, y = rng.choice(recent), rng.choice(known)
        if self.branches and depth < 2 and rng.random() < 0.3:
            return self.branch(name, known, depth)
        roll = 1.0 if self.explicit else rng.random()
        if roll < 0.08:
            return Statement(name, "reshape", (x,))
        if roll < 0.2:
            move = rng.choice(("to_vdevice", "hint_on_device", "device_copy"))
            return Statement(name, move, (x,), f" @{rng.choice(DEVICES)}")
        if roll < 0.28:
            place = rng.choice(DEVICES)
            return Statement(name, "abs", (x,), annotation=f": f32[4] @{place}")
        if rng.random() < 0.5:
            return Statement(name, rng.choice(("abs", "negative")), (x,), self.place(0.3))
        return Statement(name, rng.choice(("add", "multiply", "subtract")), (x, y), self.place(0.3))

    def branch(self, name: str, known: list[str], depth: int) -> Statement:
        arms = []
        for _ in range(2):
            inside = self.block(known, self.rng.randrange(3), depth + 1)
            result = self.rng.choice([s.name for s in inside] or known)
            arms.append((tuple(inside), result))
        condition = self.rng.choice(("c0", "c1"))
        return Statement(name, "if", (condition,), self.place(0.3), arms=tuple(arms))


def program(
    rng: random.Random, *, explicit: bool = False, branches: bool = False, operators: int = 10
) -> Program:
    """Return a random program; ``explicit`` requests every operator and has no views and moves."""
    maker = _Maker(rng, explicit, branches, operators)
    names = ["p", "q", "r"]
    places = [" @" + rng.choice(DEVICES) if rng.random() < 0.3 else "" for _ in names]
    params = [f"%{n}: f32[4]{place}" for n, place in zip(names, places, strict=True)]
    params.extend(("%c0: bool[]", "%c1: bool[]"))
    statements = maker.block(names, rng.randrange(1, operators + 1), 0)
    result = rng.choice([s.name for s in statements[-3:]])
    return Program(params, statements, result, maker.place(0.4), names)
