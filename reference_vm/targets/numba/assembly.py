"""Writes LLVM IR by hand: loops that carry values, choices, and the words of argument blocks.

    out = Assembly()
    out.begin_kernel()
    total = out.loop("0", n, "1", [("float", "0.0")], lambda i, sums: [add(i, sums[0])])

Values are strings: the name of a result, or a literal. The current block is known, so that loops
and choices may stand inside each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias, final

Value: TypeAlias = str
Carried: TypeAlias = "tuple[str, Value]"
"""The LLVM type of what a loop carries, and its first value."""


@final
@dataclass
class Assembly:
    """One module, line after line."""

    lines: list[str] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)
    _counter: int = 0
    _block: str = "entry"

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, *(f"declare {d}" for d in sorted(self.declared)), ""])

    @contextmanager
    def function(self, head: str) -> Iterator[None]:
        """Write a function around what is written inside: ``define void @f(ptr %x) nounwind``."""
        self.lines += [head + " {", "entry:"]
        self._block = "entry"
        yield
        self.lines += ["  ret void", "}", ""]

    def kernel(self) -> AbstractContextManager[None]:
        """Write the entry of a kernel; its arguments are ``%block``, ``%low`` and ``%high``."""
        return self.function("define void @kernel(ptr %block, i64 %low, i64 %high) nounwind")

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def step(self, text: str) -> Value:
        """Add an instruction; return the name of its result."""
        name = self._fresh("t")
        self.lines.append(f"  %{name} = {text}")
        return f"%{name}"

    def _fresh(self, letter: str) -> str:
        self._counter += 1
        return f"{letter}{self._counter}"

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._block = label

    # Integers of 64 bits.

    def add(self, x: Value, y: Value) -> Value:
        return self.step(f"add i64 {x}, {y}")

    def sub(self, x: Value, y: Value) -> Value:
        return self.step(f"sub i64 {x}, {y}")

    def mul(self, x: Value, y: Value) -> Value:
        return self.step(f"mul i64 {x}, {y}")

    def divide(self, x: Value, y: Value) -> tuple[Value, Value]:
        """Return quotient and remainder of two numbers that are not negative."""
        quotient = self.step(f"udiv i64 {x}, {y}")
        return quotient, self.sub(x, self.mul(quotient, y))

    def least(self, x: Value, y: Value) -> Value:
        self.declared.add("i64 @llvm.smin.i64(i64, i64)")
        return self.step(f"call i64 @llvm.smin.i64(i64 {x}, i64 {y})")

    def compare(self, how: str, x: Value, y: Value) -> Value:
        """Return a comparison of integers: ``slt``, ``eq``."""
        return self.step(f"icmp {how} i64 {x}, {y}")

    def both(self, *conditions: Value) -> Value:
        found = conditions[0]
        for other in conditions[1:]:
            found = self.step(f"and i1 {found}, {other}")
        return found

    # Memory.

    def at(self, pointer: Value, kind: str, index: Value) -> Value:
        """Return the place of element ``index`` of type ``kind``."""
        return self.step(f"getelementptr {kind}, ptr {pointer}, i64 {index}")

    def load(self, kind: str, pointer: Value, align: int | None = None) -> Value:
        suffix = "" if align is None else f", align {align}"
        return self.step(f"load {kind}, ptr {pointer}{suffix}")

    def store(self, kind: str, value: Value, pointer: Value, align: int | None = None) -> None:
        suffix = "" if align is None else f", align {align}"
        self.do(f"store {kind} {value}, ptr {pointer}{suffix}")

    def word(self, position: int, kind: str = "i64") -> Value:
        """Return a word of the argument block."""
        return self.load(kind, self.at("%block", "i64", str(position)))

    # Control.

    def loop(
        self,
        low: Value,
        high: Value,
        step: Value,
        carried: Sequence[Carried],
        body: Callable[[Value, Sequence[Value]], Sequence[Value]],
    ) -> list[Value]:
        """Write a loop from ``low`` while below ``high``; return what it carried at the end.

        ``body`` is given the index and the carried values, and returns the next ones.
        """
        found = self.repeat(
            [("i64", low), *carried],
            lambda values: self.compare("slt", values[0], high),
            lambda values: self._advanced(values[0], step, body(values[0], values[1:])),
        )
        return found[1:]

    def _advanced(self, index: Value, step: Value, following: Sequence[Value]) -> list[Value]:
        return [self.step(f"add nsw i64 {index}, {step}"), *following]

    def repeat(
        self,
        carried: Sequence[Carried],
        condition: Callable[[Sequence[Value]], Value],
        body: Callable[[Sequence[Value]], Sequence[Value]],
    ) -> list[Value]:
        """Write a loop that runs while ``condition`` holds; return what it carried at the end."""
        head, inside, after = (self._fresh(x) for x in ("head", "body", "after"))
        before = self._block
        self.do(f"br label %{head}")
        self._begin(head)
        place = len(self.lines)
        names = [f"%{self._fresh('c')}" for _ in carried]
        self.do(f"br i1 {condition(names)}, label %{inside}, label %{after}")
        self._begin(inside)
        following = body(names)
        end = self._block
        self.do(f"br label %{head}")
        self.lines[place:place] = [
            f"  {name} = phi {kind} [ {first}, %{before} ], [ {value}, %{end} ]"
            for name, (kind, first), value in zip(names, carried, following, strict=True)
        ]
        self._begin(after)
        return names

    def each(self, low: Value, high: Value, step: Value, body: Callable[[Value], None]) -> None:
        """Write a loop that carries nothing."""

        def inside(index: Value, _: Sequence[Value]) -> Sequence[Value]:
            body(index)
            return ()

        self.loop(low, high, step, (), inside)

    def choose(
        self,
        condition: Value,
        then: Callable[[], None],
        otherwise: Callable[[], None] | None = None,
    ) -> None:
        """Write a choice between two pieces of code."""
        yes, no, after = (self._fresh(x) for x in ("then", "else", "join"))
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")
        self._begin(yes)
        then()
        self.do(f"br label %{after}")
        self._begin(no)
        if otherwise is not None:
            otherwise()
        self.do(f"br label %{after}")
        self._begin(after)


__all__ = ["Assembly", "Value"]
