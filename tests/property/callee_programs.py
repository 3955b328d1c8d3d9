"""Random programs of calls: functions, closures, functions as values, loops, data types with both.

All tensors are three small whole numbers, so that every way to compute one gives equal bits.
Every name of a program is its own; `renaming` writes twins in which names coincide.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, final

TENSOR: Final = "f32[3]"
ONE: Final = f"({TENSOR}) -> {TENSOR}"
TWO: Final = f"({TENSOR}, {TENSOR}) -> {TENSOR}"
BOX: Final = f"Box[{TENSOR}]"
PAIR: Final = f"({ONE}, {TENSOR})"
ARGUMENTS: Final = 3
"""Tensors that ``main`` takes, after a condition and a number of trips."""

_DEPTH: Final = 2
_DECLARED: Final = "  type Box[T] { Empty, Full((T) -> T, T), Other(T) }"


@final
@dataclass
class _Names:
    count: int = 0

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"


@final
@dataclass(frozen=True)
class _Declared:
    """A function of the module that others may call."""

    name: str
    params: tuple[str, ...]
    """Their types."""


@final
@dataclass
class _Scope:
    """What can be seen where the next statement goes, by its type."""

    known: dict[str, list[str]]
    lines: list[str] = field(default_factory=list)

    def inner(self) -> _Scope:
        return _Scope({type_: list(names) for type_, names in self.known.items()})

    def add(self, name: str, type_: str, *lines: str) -> None:
        self.lines.extend(lines)
        self.known.setdefault(type_, []).append(name)


@final
@dataclass
class _Writer:
    rng: random.Random
    symbolic: bool
    """Whether each function has a symbol of its own for the size of its tensors."""

    names: _Names = field(default_factory=_Names)
    functions: list[_Declared] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    # --- picking ----------------------------------------------------------------------------

    def pick(self, scope: _Scope, type_: str) -> str | None:
        known = scope.known.get(type_, [])
        return self.rng.choice(known[-4:]) if known else None

    def tensor(self, scope: _Scope) -> str:
        found = self.pick(scope, TENSOR)
        assert found is not None
        return found

    def argument(self, scope: _Scope, type_: str) -> str | None:
        """Return an operand of a type: a variable, or a function of the module by its name."""
        if "->" in type_ and self.rng.random() < 0.4:
            found = [f.name for f in self.functions if _type_of(f) == type_]
            if found:
                return f"@{self.rng.choice(found)}"
        return self.pick(scope, type_)

    def place(self) -> str:
        return self.rng.choice(("", "", "", " @host", " @accel"))

    # --- statements -------------------------------------------------------------------------

    def block(self, scope: _Scope, count: int, depth: int) -> None:
        drawers: Sequence[Callable[[_Scope, int], object]] = (
            *(self.computed, self.computed, self.called, self.called),
            *(self.applied, self.applied, self.applied, self.closed, self.closed),
            *(self.named, self.passed, self.chosen, self.branched, self.paired, self.boxed),
            *(self.matched, self.looped),
        )
        for _ in range(count):
            self.rng.choice(drawers)(scope, depth)

    def computed(self, scope: _Scope, depth: int) -> None:
        name = f"%{self.names.fresh('v')}"
        if self.rng.random() < 0.5:
            op, x = self.rng.choice(("negative", "abs", "relu")), self.tensor(scope)
            text = f"{op}({x})"
        else:
            op = self.rng.choice(("add", "subtract", "maximum"))
            text = f"{op}({self.tensor(scope)}, {self.tensor(scope)})"
        scope.add(name, TENSOR, f"{name} = {text}{self.place()}")

    def called(self, scope: _Scope, depth: int) -> None:
        """A call of a function by its name."""
        if not self.functions:
            return self.computed(scope, depth)
        function = self.rng.choice(self.functions)
        args = [self.argument(scope, type_) for type_ in function.params]
        if any(a is None for a in args):
            return None
        name = f"%{self.names.fresh('v')}"
        scope.add(
            name, TENSOR, f"{name} = @{function.name}({', '.join(map(str, args))}){self.place()}"
        )
        return None

    def applied(self, scope: _Scope, depth: int) -> None:
        """A call of a value."""
        type_ = self.rng.choice((ONE, ONE, TWO))
        callee = self.pick(scope, type_)
        if callee is None:
            return self.closed(scope, depth)
        args = [self.tensor(scope) for _ in range(1 if type_ == ONE else 2)]
        name = f"%{self.names.fresh('v')}"
        scope.add(name, TENSOR, f"{name} = {callee}({', '.join(args)}){self.place()}")
        return None

    def closed(self, scope: _Scope, depth: int) -> None:
        """A closure, which may read all that is seen here."""
        type_ = self.rng.choice((ONE, ONE, TWO))
        name = f"%{self.names.fresh('c')}"
        params = [f"%{self.names.fresh('p')}" for _ in range(1 if type_ == ONE else 2)]
        inner = scope.inner()
        inner.known[TENSOR] += params
        result = self.region(inner, depth, TENSOR)
        taken = ", ".join(f"{p}: {TENSOR}" for p in params)
        head = f"{name} = fn({taken}) -> {TENSOR} {{"
        scope.add(name, type_, head, *inner.lines, f"return {result}", "}")

    def named(self, scope: _Scope, depth: int) -> None:
        """A function of the module as a value."""
        known = [f for f in self.functions if _type_of(f) in (ONE, TWO)]
        if not known:
            return
        function, name = self.rng.choice(known), f"%{self.names.fresh('g')}"
        type_ = _type_of(function)
        scope.add(name, type_, f"{name}: {type_} = @{function.name}")

    def passed(self, scope: _Scope, depth: int) -> None:
        """A call of a function that takes another one."""
        takers = [f for f in self.functions if ONE in f.params]
        if not takers:
            return
        function = self.rng.choice(takers)
        args = [self.argument(scope, type_) for type_ in function.params]
        if all(a is not None for a in args):
            name = f"%{self.names.fresh('v')}"
            scope.add(name, TENSOR, f"{name} = @{function.name}({', '.join(map(str, args))})")

    def chosen(self, scope: _Scope, depth: int) -> None:
        """A branch that gives a function."""
        first, second = self.pick(scope, ONE), self.pick(scope, ONE)
        condition = self.pick(scope, "bool[]")
        if first is None or second is None or condition is None:
            return
        name = f"%{self.names.fresh('g')}"
        scope.add(
            name, ONE, f"{name} = if {condition} {{ yield {first} }} else {{ yield {second} }}"
        )

    def branched(self, scope: _Scope, depth: int) -> None:
        condition = self.pick(scope, "bool[]")
        if condition is None or depth >= _DEPTH:
            return
        name = f"%{self.names.fresh('v')}"
        lines = [f"{name} = if {condition} {{"]
        for end in ("} else {", "}"):
            inner = scope.inner()
            result = self.region(inner, depth, TENSOR)
            lines += [*inner.lines, f"yield {result}", end]
        scope.add(name, TENSOR, *lines)

    def paired(self, scope: _Scope, depth: int) -> None:
        """A tuple of a function and a tensor, and both taken out again."""
        function = self.pick(scope, ONE)
        if function is None:
            return
        whole = f"%{self.names.fresh('t')}"
        first, second = f"%{self.names.fresh('g')}", f"%{self.names.fresh('v')}"
        scope.add(whole, PAIR, f"{whole} = ({function}, {self.tensor(scope)})")
        scope.add(first, ONE, f"{first} = {whole}[0]")
        scope.add(second, TENSOR, f"{second} = {whole}[1]")

    def boxed(self, scope: _Scope, depth: int) -> None:
        name = f"%{self.names.fresh('b')}"
        function = self.pick(scope, ONE)
        if function is None or self.rng.random() < 0.3:
            made = self.rng.choice((f"Other({self.tensor(scope)})", "Empty()"))
        else:
            made = f"Full({function}, {self.tensor(scope)})"
        scope.add(name, BOX, f"{name}: {BOX} = {made}")

    def matched(self, scope: _Scope, depth: int) -> None:
        box = self.pick(scope, BOX)
        if box is None or depth >= _DEPTH:
            return
        name, function = f"%{self.names.fresh('v')}", f"%{self.names.fresh('m')}"
        first, second = f"%{self.names.fresh('m')}", f"%{self.names.fresh('m')}"
        full, other = scope.inner(), scope.inner()
        full.known.setdefault(ONE, []).append(function)
        full.known[TENSOR].append(first)
        other.known[TENSOR].append(second)
        arms = (
            (f"Full({function}, {first})", full, self.region(full, depth, TENSOR)),
            (f"Other({second})", other, self.region(other, depth, TENSOR)),
        )
        lines = [f"{name} = match {box} {{"]
        for pattern, inner, result in arms:
            lines += [f"{pattern} => {{", *inner.lines, f"yield {result}", "}"]
        scope.add(name, TENSOR, *lines, f"Empty => {{ yield {self.tensor(scope)} }}", "}")

    def looped(self, scope: _Scope, depth: int) -> None:
        """A call of a loop that calls a function of the caller's in each trip."""
        step, trips = self.argument(scope, ONE), self.pick(scope, "i64[]")
        if step is None or trips is None or depth >= _DEPTH:
            return
        name, loop = f"%{self.names.fresh('v')}", self.loop()
        scope.add(name, TENSOR, f"{name} = @{loop}({trips}, {self.tensor(scope)}, {step})")

    def region(self, inner: _Scope, depth: int, type_: str) -> str:
        before = len(inner.known[type_])
        self.block(inner, self.rng.randint(1, 3), depth + 1)
        return self.rng.choice(inner.known[type_][before:] or inner.known[type_])

    # --- functions --------------------------------------------------------------------------

    def function(self) -> None:
        """Declare a function that those declared later may call."""
        types = self.rng.choice(((TENSOR,), (TENSOR,), (TENSOR, TENSOR), (ONE, TENSOR)))
        params = [(f"%{self.names.fresh('p')}", type_) for type_ in types]
        scope = _Scope({TENSOR: []})
        for name, type_ in params:
            scope.known.setdefault(type_, []).append(name)
        self.block(scope, self.rng.randint(1, 4), 1)
        name = self.names.fresh("f")
        taken = ", ".join(f"{p}: {type_}" for p, type_ in params)
        self._write(f"fn @{name}({taken}) -> {TENSOR}", scope, self.tensor(scope))
        self.functions.append(_Declared(name, types))

    def loop(self) -> str:
        name = self.names.fresh("loop")
        left, x, step = (f"%{self.names.fresh('p')}" for _ in range(3))
        zero, one, goes, less, next_, again, result = (
            f"%{self.names.fresh('w')}" for _ in range(7)
        )
        scope = _Scope({TENSOR: [x], ONE: [step]})
        lines = [
            f"{zero} = const i64[] 0",
            f"{goes} = greater({left}, {zero})",
            f"{result} = if {goes} {{",
            f"{next_} = {step}({x})",
            f"{one} = const i64[] 1",
            f"{less} = subtract({left}, {one})",
            f"{again} = @{name}({less}, {next_}, {step})",
            f"yield {again}",
            f"}} else {{ yield {x} }}",
        ]
        scope.lines = lines
        taken = f"{left}: i64[], {x}: {TENSOR}, {step}: {ONE}"
        self._write(f"fn @{name}({taken}) -> {TENSOR}", scope, result)
        return name

    def _write(self, head: str, scope: _Scope, result: str) -> None:
        lines = [f"  {head} {{", *(f"    {line}" for line in scope.lines)]
        text = "\n".join((*lines, f"    return {result}", "  }"))
        if self.symbolic:
            text = text.replace(TENSOR, f"f32[{self.names.fresh('n')}]")
        self.texts.append(text)

    def main(self) -> None:
        condition, trips = f"%{self.names.fresh('x')}", f"%{self.names.fresh('x')}"
        tensors = [f"%{self.names.fresh('x')}" for _ in range(ARGUMENTS)]
        scope = _Scope({TENSOR: list(tensors), "bool[]": [condition], "i64[]": [trips]})
        self.block(scope, self.rng.randint(4, 10), 0)
        made = scope.known[TENSOR][ARGUMENTS:] or tensors
        results = self.rng.sample(made, min(len(made), 4))
        last = f"%{self.names.fresh('r')}"
        scope.lines.append(f"{last} = ({', '.join(results)},)")
        taken = ", ".join(f"{p}: {TENSOR}" for p in tensors)
        given = ", ".join(TENSOR for _ in results)
        head = f"fn @main({condition}: bool[], {trips}: i64[], {taken}) -> ({given},)"
        self._write(f"{head} attrs {{ entry = true }}", scope, last)


def _type_of(function: _Declared) -> str:
    return f"({', '.join(function.params)}) -> {TENSOR}"


def callee_program(seed: int) -> str:
    """Return the text of the program of a seed."""
    rng = random.Random(seed)
    writer = _Writer(rng, symbolic=rng.random() < 0.5)
    for _ in range(rng.randint(2, 5)):
        writer.function()
    writer.main()
    return "\n".join(("module {", "  vdevice @host, @accel", _DECLARED, *writer.texts, "}"))


__all__ = ["ARGUMENTS", "callee_program"]
