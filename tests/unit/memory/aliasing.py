"""Random programs in which values share memory in every way, and what they give in NumPy.

Values are matrices of whole numbers that f32 holds exactly, so that any order of work gives equal
bits. Each statement is a line of text and what it does to an environment of NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

Env: TypeAlias = dict[str, Any]
Statement: TypeAlias = Callable[[Env], None]
Pick: TypeAlias = Callable[[int], int]
"""Chooses a number below another."""

UNARY: dict[str, Callable[[Any], Any]] = {
    "negative": np.negative,
    "relu": lambda x: np.maximum(x, 0),
    "abs": np.abs,
    "identity": lambda x: x,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "maximum": np.maximum,
    "minimum": np.minimum,
}

FUNCTIONS = """
  fn @both(%a: f32[n, n] AT, %b: f32[n, n] AT) -> (f32[n, n] AT, f32[n, n] AT) {
    %s = subtract(%a, %b)
    %t = (%b, %s)
    return %t
  }
  fn @loop(%k: i64[] @host, %a: f32[n, n] AT, %b: f32[n, n] AT) -> (f32[n, n] AT, f32[n, n] AT) {
    %zero = const i64[] 0
    %more = greater(%k, %zero)
    %r = if %more {
      %one = const i64[] 1
      %m = subtract(%k, %one)
      %s = maximum(%b, %a)
      %t = negative(%a)
      %u = @loop(%m, %s, %t)
      yield %u
    } else { %v = (%a, %b) yield %v }
    return %r
  }
  fn @unfold(%l: List, %a: f32[n, n] AT) -> f32[n, n] AT {
    %r = match %l {
      Cons(%h, %rest) => { %u = %h(%a) %s = @unfold(%rest, %u) yield %s }
      Nil => { yield %a }
    }
    return %r
  }
"""


def loop(k: int, a: Any, b: Any) -> tuple[Any, Any]:
    """Return what ``@loop`` does."""
    for _ in range(k):
        a, b = np.maximum(b, a), -a
    return a, b


@dataclass
class Writer:
    """Writes one program."""

    pick: Pick
    places: tuple[str, ...]
    matrix: str
    """The type of all matrices that are handed over."""

    counter: int = 0
    lines: list[str] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    def fresh(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def one(self, among: list[str]) -> str:
        return among[self.pick(len(among))]

    def say(self, name: str, text: str, value: Callable[[Env], Any], *, at: bool = True) -> str:
        """Bind a name; where the work is done is chosen."""
        place = f" {self.one(list(self.places))}" if at else ""
        self.lines.append(f"{name} = {text}{place}")

        def statement(env: Env) -> None:
            env[name] = value(env)

        self.statements.append(statement)
        return name

    def block(self, known: list[str], length: int, depth: int) -> list[str]:
        """Write statements; return the matrices known after them."""
        here = list(known)
        for _ in range(length):
            here.append(self.statement(here, depth))
        return here

    def statement(self, known: list[str], depth: int) -> str:
        x, y = self.one(known), self.one(known)
        kinds: list[Callable[[str, str, list[str], int], str]] = [
            self.unary, self.binary, self.binary, self.turned, self.views, self.slices,
            self.row, self.pair, self.sums, self.running, self.call, self.loop, self.closure,
        ]  # fmt: skip
        if depth:
            kinds += [self.branch, self.branch]
        return kinds[self.pick(len(kinds))](x, y, known, depth)

    def unary(self, x: str, _y: str, _known: list[str], _depth: int) -> str:
        op = self.one(list(UNARY))
        return self.say(self.fresh(), f"{op}({x})", lambda e: UNARY[op](e[x]))

    def binary(self, x: str, y: str, _known: list[str], _depth: int) -> str:
        op = self.one(list(BINARY))
        return self.say(self.fresh(), f"{op}({x}, {y})", lambda e: BINARY[op](e[x], e[y]))

    def turned(self, x: str, _y: str, _known: list[str], _depth: int) -> str:
        return self.say(self.fresh(), f"permute_dims({x}, axes = [1, 0])", lambda e: e[x].T)

    def views(self, x: str, y: str, _known: list[str], _depth: int) -> str:
        """A view of a view, and something computed before it is read."""
        flat, wide, back = self.fresh(), self.fresh(), self.fresh()
        self.say(
            flat, f"reshape({x}, %flat, allow_zero = true)", lambda e: e[x].reshape(-1), at=False
        )
        self.say(wide, f"expand_dims({flat}, axes = [0])", lambda e: e[flat][None], at=False)
        if self.pick(2):
            self.binary(x, y, [], 0)
        return self.say(
            back,
            f"reshape({wide}, %square, allow_zero = true)",
            lambda e: e[wide].reshape(e["shape"]),
            at=False,
        )

    def slices(self, x: str, y: str, _known: list[str], _depth: int) -> str:
        """Two overlapping slices of what two matrices make."""
        both, upper, lower = self.fresh(), self.fresh(), self.fresh()
        self.say(both, f"concat({x}, {y}, axis = 0)", lambda e: np.concatenate((e[x], e[y])))
        self.say(upper, f"slice({both}, %begin, %side)", lambda e: e[both][: len(e[x])])
        self.say(
            lower, f"slice({both}, %half, %more)", lambda e: e[both][len(e[x]) // 2 :][: len(e[x])]
        )
        return self.say(self.fresh(), f"subtract({upper}, {lower})", lambda e: e[upper] - e[lower])

    def row(self, x: str, y: str, _known: list[str], _depth: int) -> str:
        """A row, spread over a matrix, which is read together with it."""
        low, row, spread = self.fresh(), self.fresh(), self.fresh()
        self.say(low, f"clip({y}, %minus, %one)", lambda e: np.clip(e[y], -1, 1))
        text = f"sum({low}, axis = [0], keepdims = true)"
        self.say(row, text, lambda e: np.sum(e[low], 0, keepdims=True))
        self.say(spread, f"broadcast_to({row}, %square)", lambda e: e[row] + 0 * e[x])
        return self.say(self.fresh(), f"add({spread}, {x})", lambda e: e[spread] + e[x])

    def pair(self, x: str, y: str, _known: list[str], _depth: int) -> str:
        pair, index = self.fresh(), self.pick(2)
        self.say(pair, f"({x}, {y})", lambda e: (e[x], e[y]), at=False)
        return self.say(self.fresh(), f"{pair}[{index}]", lambda e: e[pair][index], at=False)

    def sums(self, x: str, y: str, _known: list[str], _depth: int) -> str:
        """A tensor without dims, read by a whole matrix."""
        low, total = self.fresh(), self.fresh()
        self.say(low, f"clip({y}, %minus, %one)", lambda e: np.clip(e[y], -1, 1))
        self.say(total, f"sum({low})", lambda e: np.sum(e[low]))
        return self.say(
            self.fresh(), f"maximum({x}, {total})", lambda e: np.maximum(e[x], e[total])
        )

    def running(self, x: str, _y: str, _known: list[str], _depth: int) -> str:
        """What a library computes, never in place."""
        low = self.fresh()
        self.say(low, f"clip({x}, %minus, %one)", lambda e: np.clip(e[x], -1, 1))
        text = f"cumulative_sum({low}, axis = 0)"
        return self.say(self.fresh(), text, lambda e: np.cumsum(e[low], 0, np.float32))

    def call(self, x: str, y: str, _known: list[str], _depth: int) -> str:
        pair, index = self.fresh(), self.pick(2)
        self.say(pair, f"@both({x}, {y})", lambda e: (e[y], e[x] - e[y]), at=False)
        return self.say(self.fresh(), f"{pair}[{index}]", lambda e: e[pair][index], at=False)

    def loop(self, x: str, y: str, _known: list[str], _depth: int) -> str:
        """A loop that may carry one tensor twice."""
        pair, index = self.fresh(), self.pick(2)
        twice = x if self.pick(2) else y
        self.say(
            pair, f"@loop(%k, {x}, {twice})", lambda e: loop(int(e["%k"]), e[x], e[twice]), at=False
        )
        return self.say(self.fresh(), f"{pair}[{index}]", lambda e: e[pair][index], at=False)

    def closure(self, x: str, y: str, _known: list[str], _depth: int) -> str:
        """A closure that holds a value that is read directly too, in a list of one or two."""
        f, nil, cons, more, taken, given = (self.fresh() for _ in range(6))
        inner = f"fn({taken}: {self.matrix}) -> {self.matrix}"
        self.lines.append(f"{f} = {inner} {{ {given} = subtract({taken}, {x}) return {given} }}")
        self.lines.append(f"{nil} = Nil() {cons} = Cons({f}, {nil})")
        times = 1 + self.pick(2)
        if times == 2:
            self.lines.append(f"{more} = Cons({f}, {cons})")
        used = more if times == 2 else cons
        return self.say(
            self.fresh(), f"@unfold({used}, {y})", lambda e: e[y] - times * e[x], at=False
        )

    def branch(self, _x: str, _y: str, known: list[str], depth: int) -> str:
        """Arms that compute, or hand out what they were given."""
        name, condition = self.fresh(), self.one(["%c", "%d"])
        arms: list[tuple[list[Statement], str]] = []
        outer = self.statements
        self.lines.append(f"{name} = if {condition} {{")
        for arm in range(2):
            self.statements = []
            inner = self.block(known, self.pick(4), depth - 1)
            given = self.one(inner[-3:])
            self.lines.append(f"yield {given}")
            self.lines.append("} else {" if arm == 0 else "}")
            arms.append((self.statements, given))
        self.statements = outer

        def statement(env: Env) -> None:
            statements, given = arms[0 if env[condition] else 1]
            for one in statements:
                one(env)
            env[name] = env[given]

        self.statements.append(statement)
        return name


PARAMETERS = ("%x", "%y", "%z")


@dataclass(frozen=True)
class Random:
    """A program of three matrices, two conditions and a number."""

    text: str
    results: tuple[str, ...]
    statements: tuple[Statement, ...]

    def expected(self, env: Env) -> tuple[Any, ...]:
        """Return what the program gives, as NumPy says."""
        mine = dict(env)
        for statement in self.statements:
            statement(mine)
        return tuple(mine[name] for name in self.results)


def random_program(
    pick: Pick, side: int, homes: Sequence[str], donated: Sequence[bool], places: Sequence[str]
) -> Random:
    """Return a program whose parameters have homes, and are perhaps donated."""
    matrix = f"f32[{side}, {side}]"
    writer = Writer(pick, tuple(places), f"{matrix} {places[-1]}")
    known = writer.block(list(PARAMETERS), 3 + pick(10), 2)
    results = tuple(writer.one(known) for _ in range(1 + pick(3)))
    parameters = ", ".join(
        f"{name}: {matrix} {home}{' donate' if given else ''}"
        for name, home, given in zip(PARAMETERS, homes, donated, strict=True)
    )
    given = ", ".join([f"{matrix} {places[-1]}"] * len(results) + ["i64[] @host"])
    body = "\n    ".join(
        [
            f"%flat = shape [{side * side}]",
            f"%square = shape [{side}, {side}]",
            f"%begin = shape [0, 0] %half = shape [{side // 2}, 0]",
            f"%side = shape [{side}, {side}] %more = shape [{side // 2 + side}, {side}]",
            "%one = const f32[] 1.0 %minus = const f32[] -1.0",
            *writer.lines,
            f"%results = ({', '.join(results)}, %k)",
            "return %results",
        ]
    )
    functions = FUNCTIONS.replace("n, n", f"{side}, {side}").replace("AT", places[-1])
    closure = f"({matrix} {places[-1]}) -> {matrix} {places[-1]}"
    text = f"""module {{
  vdevice @host, @accel
  type List {{ Nil, Cons({closure}, List) }}
  fn @main({parameters}, %c: bool[] @host, %d: bool[] @host, %k: i64[] @host)
      -> ({given}) attrs {{ entry = true }} {{
    {body}
  }}
{functions}}}"""
    return Random(text, (*results, "%k"), tuple(writer.statements))
