"""Random programs on 4 by 4 matrices, for tests of fusion and memory planning."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

MATRIX = "f32[4, 4] @host"
UNARY = ("tanh", "relu", "negative", "sigmoid", "sin")
BINARY = ("add", "multiply", "subtract", "maximum")


@dataclass
class _Writer:
    pick: random.Random
    counter: int = 0
    lines: list[str] = field(default_factory=list)

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
            self.lines.append(f"{flat}: f32[2, 8] @host = reshape({x}, %flat)")
            self.lines.append(f"{name}: {MATRIX} = reshape({flat}, %square)")
        elif kind == 2:
            pair = self.fresh()
            self.lines.append(f"{pair}: ({MATRIX}, {MATRIX}) = ({x}, {y})")
            self.lines.append(f"{name}: {MATRIX} = {pair}[{self.pick.randrange(2)}]")
        elif kind == 3:
            fold = self.fresh()
            self.lines.append(f"{fold}: f32[4, 1] @host = max({x}, axis = [1], keepdims = true)")
            self.lines.append(f"{name}: {MATRIX} = subtract({y}, {fold})")
        elif kind == 4:
            self.lines.append(f"{name}: {MATRIX} = permute_dims({x}, axes = [1, 0])")
        elif kind == 5:
            product = self.fresh()
            self.lines.append(f"{product}: {MATRIX} = matmul({x}, {y})")
            self.lines.append(f"{name}: {MATRIX} = tanh({product})")
        elif kind < 8:
            self.lines.append(f"{name}: {MATRIX} = {self.pick.choice(UNARY)}({x})")
        else:
            self.lines.append(f"{name}: {MATRIX} = {self.pick.choice(BINARY)}({x}, {y})")
        return name

    def branch(self, name: str, known: list[str], depth: int) -> str:
        self.lines.append(f"{name}: {MATRIX} = if %c {{")
        for arm in range(2):
            inner = self.block(known, self.pick.randrange(4), depth - 1)
            self.lines.append(f"yield {self.pick.choice(inner[-3:])}")
            self.lines.append("} else {" if arm == 0 else "}")
        return name


def random_program(seed: int) -> tuple[str, str]:
    """Return the signature and the body of a program that is the same for each seed."""
    writer = _Writer(random.Random(seed))
    writer.lines += ["%flat = shape [2, 8]", "%square = shape [4, 4]"]
    known = writer.block(["%x", "%y"], 18, 2)
    writer.lines.append(f"return {known[-1]}")
    signature = f"%x: {MATRIX}, %y: {MATRIX}, %c: bool[] @host) -> {MATRIX}"
    return signature, "\n".join(writer.lines)
