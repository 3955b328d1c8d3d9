"""Random quantized programs: floats, quantized and multiplied as integers, scaled, and again.

Many of the floats lie at ties of the scale that they are quantized by, so that their own rounding
decides which integers they become.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.property.judged_runs import Written

ROWS = 4
BEFORE = ("softmax({}, axis = -1)", "tanh({})", "gelu({})", "relu({})", "abs({})", "negative({})")


class Writer:
    """Writes one program line by line, from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.body: list[str] = []
        self.params: dict[str, str] = {}
        self.args: list[Any] = []
        self.shown: dict[str, str] = {}
        """The types of integers that are results too, by their names."""

    def given(self, array: Any, type_: str) -> str:
        name = f"%p{len(self.params)}"
        self.params[name] = type_
        self.args.append(array)
        return name

    def floats(self, *shape: int, scale: float = 1.0) -> str:
        array = (self.numbers.standard_normal(shape) * scale).astype(np.float32)
        return self.given(array, f"f32[{', '.join(map(str, shape))}]")

    def positive(self, *shape: int, around: float) -> str:
        array = (self.numbers.uniform(0.5, 1.5, shape) * around).astype(np.float32)
        return self.given(np.asarray(array), f"f32[{', '.join(map(str, shape))}]")

    def whole(self, dtype: str, *shape: int) -> str:
        numpy = {"i8": np.int8, "u8": np.uint8}[dtype]
        low, high = np.iinfo(numpy).min, np.iinfo(numpy).max
        array = np.asarray(self.numbers.integers(low, high + 1, shape), numpy)
        return self.given(array, f"{dtype}[{', '.join(map(str, shape))}]")

    def zero_point(self, dtype: str, *shape: int) -> str:
        low, high = {"i8": (-9, 10), "u8": (118, 139)}[dtype]
        numpy = {"i8": np.int8, "u8": np.uint8}[dtype]
        array = np.asarray(self.numbers.integers(low, high, shape), numpy)
        return self.given(array, f"{dtype}[{', '.join(map(str, shape))}]")

    def let(self, expression: str) -> str:
        name = f"%v{len(self.body)}"
        self.body.append(f"{name} = {expression}")
        return name

    def scaled(self, product: str, scale: str, columns: int) -> str:
        """Return an integer product as floats: cast, scaled, with a bias or none."""
        floats = self.let(f"cast({product}, to = f32)")
        found = self.let(f"multiply({floats}, {scale})")
        if self.random.random() < 0.5:
            found = self.let(f"add({found}, {self.floats(columns, scale=0.1)})")
        return found

    def tied(self, x: str, columns: int) -> tuple[str, str]:
        """Return floats that are halves of a scale, 255 of which their range is, and the scale.

        ``x`` is added zero times, so that what comes before is not dead.
        """
        grid = self.numbers.integers(0, 255, (ROWS, columns)) + 0.5
        grid[0, :2] = 0, 255
        halves = self.given(grid.astype(np.float32), f"f32[{ROWS}, {columns}]")
        scale = self.positive(around=0.03)
        factor = self.positive(around=1.0)
        inverse = self.let(f"reciprocal({factor})")
        scaled = self.let(f"multiply({halves}, {self.let(f'multiply({scale}, {factor})')})")
        none = self.let(f"multiply({x}, {self.given(np.zeros((), np.float32), 'f32[]')})")
        return self.let(f"add({self.let(f'multiply({scaled}, {inverse})')}, {none})"), scale

    def dynamic(self, x: str, columns: int, wide: int) -> str:
        """Quantize by the operand's own range, and multiply by weights."""
        if self.random.random() < 0.4:
            x, _ = self.tied(x, columns)
        tuple_ = self.let(f"dynamic_quantize_linear({x})")
        values, scale, zero = (self.let(f"{tuple_}[{part}]") for part in range(3))
        dtype = self.random.choice(("i8", "u8"))
        operands = [values, self.whole(dtype, columns, wide), zero]
        if self.random.random() < 0.5:
            per_column = self.random.random() < 0.5
            operands.append(self.zero_point(dtype, *((wide,) if per_column else ())))
        product = self.let(f"matmul_integer({', '.join(operands)})")
        own = self.positive(*((wide,) if self.random.random() < 0.5 else ()), around=0.01)
        self.shown[values] = f"u8[{ROWS}, {columns}]"
        return self.scaled(product, self.let(f"multiply({scale}, {own})"), wide)

    def parameters(self, columns: int) -> tuple[str, str, str, str]:
        """Return a scale, a zero point, attributes and a dtype: for all, by axis or by block."""
        dtype = self.random.choice(("i8", "u8"))
        kind = self.random.choice(("all", "axis", "block"))
        if kind == "all":
            return self.positive(around=0.03), self.zero_point(dtype), "", dtype
        shape = (columns,) if kind == "axis" else (ROWS, columns // 2)
        attrs = ", axis = 1" + (", block_size = 2" if kind == "block" else "")
        return self.positive(*shape, around=0.03), self.zero_point(dtype, *shape), attrs, dtype

    def static(self, x: str, columns: int) -> str:
        """Quantize by given scales and back."""
        scale, zero, attrs, dtype = self.parameters(columns)
        if self.random.random() < 0.4:
            x, scale = self.tied(x, columns)
            zero, attrs, dtype = self.zero_point("u8"), "", "u8"
        values = self.let(f"quantize_linear({x}, {scale}, {zero}{attrs})")
        self.shown[values] = f"{dtype}[{ROWS}, {columns}]"
        return self.let(f"dequantize_linear({values}, {scale}, {zero}{attrs})")

    def recurrent(self, x: str, columns: int) -> str:
        """Two steps of a gated layer whose weights are quantized, as exporters write them."""
        state = self.let(f"tanh({x})")
        for _ in range(2):
            gate = self.let(f"sigmoid({self.dynamic(state, columns, columns)})")
            candidate = self.let(f"tanh({self.dynamic(state, columns, columns)})")
            kept = self.let(f"multiply({gate}, {state})")
            rest = self.let(f"subtract({candidate}, {self.let(f'multiply({gate}, {candidate})')})")
            state = self.let(f"add({kept}, {rest})")
        return state

    def layer(self, x: str, columns: int) -> tuple[str, int]:
        kind = self.random.choice(("dynamic", "static", "both", "recurrent"))
        if self.random.random() < 0.7:
            x = self.let(self.random.choice(BEFORE).format(x))
        if kind in ("static", "both"):
            x = self.static(x, columns)
        if kind in ("dynamic", "both"):
            wide = self.random.choice((4, 6, 8))
            return self.dynamic(x, columns, wide), wide
        return (self.recurrent(x, columns), columns) if kind == "recurrent" else (x, columns)


def program(seed: int) -> Written:
    """Return a random program with at least one operator that quantizes."""
    w = Writer(seed)
    columns = w.random.choice((4, 6, 8))
    last = w.let(f"matmul({w.floats(ROWS, 16)}, {w.floats(16, columns, scale=0.4)})")
    for _ in range(w.random.randrange(1, 4)):
        last, columns = w.layer(last, columns)
    if not w.shown:
        last = w.static(last, columns)
    shown, type_ = w.random.choice(sorted(w.shown.items()))
    w.body.append(f"%results = ({last}, {shown})")
    types = f"(f32[{ROWS}, {columns}], {type_})"
    return Written(tuple(w.body), w.params, w.args, "%results", types)


__all__ = ["Writer", "program"]
