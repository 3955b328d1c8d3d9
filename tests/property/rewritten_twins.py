"""Twins of random placed programs: written otherwise, the same by the language.

A twin gives values second names, packs them into tuples and takes them out again, beside items that
nobody takes; it computes the same thing twice, moves statements into functions and closures that it
then calls, passes closures on, and calls what nobody reads. `Program.text` is the plain one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.property.placed_programs import DEVICES, Program, Statement

KEEPING_NAMES = ("second name", "nested tuple", "tuple", "placed tuple", "again", "branch tuple")
"""Rewrites after which each operator is bound to a variable of the same name."""

MOVING = ("function", "function of a tuple", "closure", "capturing closure", "passed closure")
"""Rewrites that move an operator somewhere else."""


@dataclass
class Twin:
    """Writes one twin."""

    rng: random.Random
    rewrites: Sequence[str]
    """Which of them may be used."""

    functions: list[str] = field(default_factory=list)
    equal: dict[str, list[str]] = field(default_factory=dict)
    """What else is the value of a name."""

    used: set[str] = field(default_factory=set)
    count: int = 0

    def text(self, written: Program) -> str:
        """Return the text of a twin of ``written``."""
        body = list(self._block(written.statements, list(written.names), "    "))
        result, more = self._read(written.result, list(written.names), "    ")
        return "\n".join(
            (
                "module {",
                "  vdevice @host, @a, @b",
                *self.functions,
                f"  fn @main({', '.join(written.params)}) -> f32[4]{written.result_place}",
                "    attrs { entry = true } {",
                "    %four = const i64[1] [4]",
                *body,
                *more,
                f"    return %{result}",
                "  }",
                "}",
            )
        )

    def _name(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def _chosen(self, among: Sequence[str], chance: float) -> str | None:
        open_ = [r for r in among if r in self.rewrites]
        if not open_ or self.rng.random() > chance:
            return None
        chosen = self.rng.choice(open_)
        self.used.add(chosen)
        return chosen

    def _block(
        self, statements: Sequence[Statement], known: list[str], indent: str
    ) -> Iterator[str]:
        for statement in statements:
            yield from self._statement(statement, known, indent)
            known.append(statement.name)
            if self._chosen(("dead call",), 0.1):
                yield from self._dead_call(statement.name, indent)

    def _statement(self, s: Statement, known: list[str], indent: str) -> Iterator[str]:
        operands = []
        for operand in s.operands:
            name, lines = (
                (operand, []) if s.operator == "if" else self._read(operand, known, indent)
            )
            operands.append(name)
            yield from lines
        if s.operator == "if":
            yield from self._branch(s, known, indent)
            return
        again = self._chosen(("again",), 0.2) if s.operator != "device_copy" else None
        moved = self._chosen(MOVING, 0.4) if not again and _may_move(s) else None
        if moved:
            yield from self._moved(moved, s, operands, indent)
            return
        head = f"{indent}%{s.name}{s.annotation} = "
        yield f"{head}{_call(s, operands)}{s.suffix}"
        if again:
            other = self._name()
            yield f"{indent}%{other}{s.annotation} = {_call(s, operands)}{s.suffix}"
            self.equal.setdefault(s.name, []).append(other)

    def _read(self, name: str, known: Sequence[str], indent: str) -> tuple[str, list[str]]:
        """Return another name for the value of ``name``, and the lines that it needs."""
        if name in self.equal and self.rng.random() < 0.7:
            name = self.rng.choice(self.equal[name])
        chosen = self._chosen(("second name", "nested tuple", "tuple", "placed tuple"), 0.3)
        if chosen is None:
            return name, []
        one, two, three = self._name(), self._name(), self._name()
        beside = self.rng.choice(list(known))
        match chosen:
            case "second name":
                return one, [f"{indent}%{one} = %{name}"]
            case "tuple":
                lines = [
                    f"{indent}%{three} = abs(%{beside}) @{self.rng.choice(DEVICES)}",
                    f"{indent}%{one} = (%{three}, %{name})",
                    f"{indent}%{two} = %{one}[1]",
                ]
                return two, lines
            case "nested tuple":
                lines = [
                    f"{indent}%{one} = (%{beside}, %{name})",
                    f"{indent}%{one}o = (%{one}, %{beside})",
                    f"{indent}%{one}s = %{one}o",
                    f"{indent}%{two} = %{one}s[0]",
                    f"{indent}%{three} = %{two}[1]",
                ]
                return three, lines
            case _:
                place = self.rng.choice(DEVICES)
                lines = [
                    f"{indent}%{one}: (f32[4], f32[4] @{place}) = (%{name}, %{beside})",
                    f"{indent}%{two} = %{one}[0]",
                ]
                return two, lines

    def _branch(self, s: Statement, known: list[str], indent: str) -> Iterator[str]:
        packed = self._chosen(("branch tuple",), 0.5)
        name = f"{s.name}t" if packed else s.name
        lines = [f"{indent}%{name}{s.annotation} = if %{s.operands[0]} {{"]
        for number, (inside, result) in enumerate(s.arms):
            seen = list(known)
            lines.extend(self._block(inside, seen, indent + "  "))
            yielded, more = self._read(result, seen, indent + "  ")
            lines.extend(more)
            if packed:
                beside, whole = self._name(), self._name()
                other, place = self.rng.choice(seen), self.rng.choice(DEVICES)
                lines.append(f"{indent}  %{beside} = negative(%{other}) @{place}")
                lines.append(f"{indent}  %{whole} = (%{beside}, %{yielded})")
                yielded = whole
            lines.append(f"{indent}  yield %{yielded}")
            lines.append(f"{indent}}} else {{" if number == 0 else f"{indent}}}{s.suffix}")
        yield from lines
        if packed:
            yield f"{indent}%{s.name} = %{name}[1]"

    def _moved(self, how: str, s: Statement, operands: Sequence[str], indent: str) -> Iterator[str]:
        made = self._name()
        params = [f"{made}x{i}" for i in range(len(operands))]
        typed = ", ".join(f"%{p}: f32[4]" for p in params)
        read = ", ".join(f"%{o}" for o in operands)
        body = f"%{s.name}i = {_call(s, params)}{s.suffix} return %{s.name}i"
        match how:
            case "function":
                self.functions.append(f"  fn @{made}({typed}) -> f32[4] {{ {body} }}")
                yield f"{indent}%{s.name} = @{made}({read})"
            case "function of a tuple":
                place = self.rng.choice(DEVICES)
                self.functions.append(
                    f"  fn @{made}({typed}) -> (f32[4], f32[4]) {{ %d = abs(%{params[0]}) @{place}"
                    f" {_call_as(s, params)} %t = (%d, %{s.name}i) return %t }}"
                )
                yield f"{indent}%{made} = @{made}({read})"
                yield f"{indent}%{s.name} = %{made}[1]"
            case "closure":
                yield f"{indent}%{made} = fn ({typed}) -> f32[4] {{ {body} }}"
                yield f"{indent}%{s.name} = %{made}({read})"
            case "capturing closure":
                inside = [params[0], *operands[1:]]
                body = f"%{s.name}i = {_call(s, inside)}{s.suffix} return %{s.name}i"
                yield f"{indent}%{made} = fn (%{params[0]}: f32[4]) -> f32[4] {{ {body} }}"
                yield f"{indent}%{made}t = (%{made}, %{operands[0]})"
                yield f"{indent}%{made}f = %{made}t[0]"
                yield f"{indent}%{s.name} = %{made}f(%{operands[0]})"
            case _:
                self.functions.append(
                    f"  fn @{made}(%f: (f32[4]) -> f32[4], %x: f32[4]) -> f32[4]"
                    " { %r = %f(%x) return %r }"
                )
                inside = [params[0], *operands[1:]]
                body = f"%{s.name}i = {_call(s, inside)}{s.suffix} return %{s.name}i"
                yield f"{indent}%{made} = fn (%{params[0]}: f32[4]) -> f32[4] {{ {body} }}"
                yield f"{indent}%{s.name} = @{made}(%{made}, %{operands[0]})"

    def _dead_call(self, name: str, indent: str) -> Iterator[str]:
        made, place = self._name(), self.rng.choice(DEVICES)
        body = f"%{made}y = negative(%{made}x) @{place} return %{made}y"
        if self.rng.random() < 0.5:
            self.functions.append(f"  fn @{made}(%{made}x: f32[4]) -> f32[4] {{ {body} }}")
            yield f"{indent}%{made}d = @{made}(%{name})"
        else:
            yield f"{indent}%{made} = fn (%{made}x: f32[4]) -> f32[4] {{ {body} }}"
            yield f"{indent}%{made}d = %{made}(%{name})"


def _may_move(s: Statement) -> bool:
    return s.operator in ("abs", "negative", "add", "multiply", "subtract") and not s.annotation


def _call(s: Statement, operands: Sequence[str]) -> str:
    read = [f"%{o}" for o in operands]
    if s.operator == "reshape":
        read.append("%four")
    return f"{s.operator}({', '.join(read)})"


def _call_as(s: Statement, operands: Sequence[str]) -> str:
    return f"%{s.name}i = {_call(s, operands)}{s.suffix}"


__all__ = ["KEEPING_NAMES", "MOVING", "Twin"]
