"""Random programs on square matrices, for tests of fusion and memory planning."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

UNARY = ("tanh", "relu", "negative", "sigmoid", "sin")
BINARY = ("add", "multiply", "subtract", "maximum")


@dataclass
class _Writer:
    pick: random.Random
    side: str = "4"
    plain: bool = False
    """Whether there are no tuples, in which something may lie that nobody reads."""

    counter: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def matrix(self) -> str:
        return f"f32[{self.side}, {self.side}] @host"

    def fresh(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def block(self, known: list[str], length: int, depth: int) -> list[str]:
        """Write statements; return the matrices known after them."""
        here = list(known)
        for _ in range(length):
            here.append(self.statement(here, depth))
        return here

    def statement(self, known: list[str], depth: int) -> str:
        name = self.fresh()
        x, y = (self.pick.choice(known[-6:]) for _ in range(2))
        kind = self.pick.randrange(10)
        if kind == 0 and depth:
            return self.branch(name, known, depth)
        if kind == 1:
            flat = self.fresh()
            self.lines.append(f"{flat}: f32[{self.side} * {self.side}] @host = reshape({x}, %flat)")
            self.lines.append(f"{name}: {self.matrix} = reshape({flat}, %square)")
        elif kind == 2 and not self.plain:
            pair = self.fresh()
            self.lines.append(f"{pair}: ({self.matrix}, {self.matrix}) = ({x}, {y})")
            self.lines.append(f"{name}: {self.matrix} = {pair}[{self.pick.randrange(2)}]")
        elif kind == 3:
            fold = self.fresh()
            type_ = f"f32[{self.side}, 1] @host"
            self.lines.append(f"{fold}: {type_} = max({x}, axis = [1], keepdims = true)")
            self.lines.append(f"{name}: {self.matrix} = subtract({y}, {fold})")
        elif kind == 4:
            self.lines.append(f"{name}: {self.matrix} = permute_dims({x}, axes = [1, 0])")
        elif kind == 5:
            product = self.fresh()
            self.lines.append(f"{product}: {self.matrix} = matmul({x}, {y})")
            self.lines.append(f"{name}: {self.matrix} = tanh({product})")
        elif kind < 8:
            self.lines.append(f"{name}: {self.matrix} = {self.pick.choice(UNARY)}({x})")
        else:
            self.lines.append(f"{name}: {self.matrix} = {self.pick.choice(BINARY)}({x}, {y})")
        return name

    def branch(self, name: str, known: list[str], depth: int) -> str:
        self.lines.append(f"{name}: {self.matrix} = if %c {{")
        for arm in range(2):
            inner = self.block(known, self.pick.randrange(4), depth - 1)
            self.lines.append(f"yield {self.pick.choice(inner[-3:])}")
            self.lines.append("} else {" if arm == 0 else "}")
        return name


def random_program(seed: int, side: str = "4", *, plain: bool = False) -> tuple[str, str]:
    """Return the signature and the body of a program that is the same for each seed.

    ``side`` is a number, or a symbol. A ``plain`` program has neither branches nor tuples.
    """
    writer = _Writer(random.Random(seed), side, plain)
    writer.lines += [f"%flat = shape [{side} * {side}]", f"%square = shape [{side}, {side}]"]
    known = writer.block(["%x", "%y"], 18, 0 if plain else 2)
    writer.lines.append(f"return {known[-1]}")
    matrix = writer.matrix
    signature = f"%x: {matrix}, %y: {matrix}, %c: bool[] @host) -> {matrix}"
    return signature, "\n".join(writer.lines)
