"""Vectors of the processor, and arithmetic on them, as LLVM IR.

How wide they are and how many registers hold them is read from the processor's features; on one
that is not known they are 16 bytes in 16 registers, which every processor has or LLVM makes up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.loops.code import round_to_f32
from reference_vm.loops.llvm_code import bf16_value, number
from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.types import DType
from reference_vm.types.dtype import BF16, F16, F32, F64, I32

_BITS: Final = {"float": 32, "double": 64, "i32": 32}


@final
@dataclass(frozen=True, slots=True)
class Registers:
    """What the processor has."""

    width: int
    """Bytes of a vector."""

    count: int

    masked: bool
    """Whether loads of a part of a vector are as fast as whole ones."""


def registers(features: frozenset[str]) -> Registers:
    """Return the vector registers of a processor with these features."""
    if {"avx512f", "avx512bw", "avx512vl"} <= features:
        return Registers(64, 32, masked=True)
    if {"avx2", "fma"} <= features:
        return Registers(32, 16, masked=False)
    return Registers(16, 32 if "neon" in features else 16, masked=False)


@final
@dataclass(frozen=True, slots=True)
class Bend:
    """What becomes of numbers below 0."""

    slope: float | None
    """What they are multiplied by, as by ``leaky_relu``; ``None``: they are 0, as by ``relu``."""


@final
@dataclass(frozen=True, slots=True)
class Lanes:
    """The type of a vector: so many elements of one type that sums are kept in."""

    element: str
    """``float``, ``double`` or ``i32``."""

    count: int

    @property
    def bytes(self) -> int:
        """Of one element."""
        return _BITS[self.element] // 8

    @property
    def type(self) -> str:
        return f"<{self.count} x {self.element}>"

    @property
    def zero(self) -> str:
        return "zeroinitializer"

    @property
    def is_float(self) -> bool:
        return self.element != "i32"

    def load(self, out: Assembly, pointer: Value) -> Value:
        return out.load(self.type, pointer, self.bytes)

    def load_masked(self, out: Assembly, pointer: Value, mask: Value) -> Value:
        """Return the lanes where ``mask`` holds, 0 elsewhere, where nothing is read."""
        name, kind = f"llvm.masked.load.v{self.count}{self._suffix}.p0", self.type
        out.declared.add(f"{kind} @{name}(ptr, i32 immarg, <{self.count} x i1>, {kind})")
        mask_type = f"<{self.count} x i1>"
        arguments = f"ptr {pointer}, i32 {self.bytes}, {mask_type} {mask}, {kind} {self.zero}"
        return out.step(f"call {kind} @{name}({arguments})")

    def below(self, out: Assembly, limit: Value) -> Value:
        """Return the mask of the first ``limit`` lanes; ``limit`` may be anything."""
        short = out.step(f"trunc i64 {out.least(limit, str(self.count))} to i32")
        every = self._splat(out, short, "i32")
        order = ", ".join(f"i32 {i}" for i in range(self.count))
        return out.step(f"icmp slt <{self.count} x i32> <{order}>, {every}")

    def store(self, out: Assembly, value: Value, pointer: Value) -> None:
        out.store(self.type, value, pointer, self.bytes)

    def store_masked(self, out: Assembly, value: Value, pointer: Value, mask: Value) -> None:
        """Store the lanes where ``mask`` holds; elsewhere nothing is written."""
        name, mask_type = (
            f"llvm.masked.store.v{self.count}{self._suffix}.p0",
            f"<{self.count} x i1>",
        )
        out.declared.add(f"void @{name}({self.type}, ptr, i32 immarg, {mask_type})")
        where = f"ptr {pointer}, i32 {self.bytes}, {mask_type} {mask}"
        out.do(f"call void @{name}({self.type} {value}, {where})")

    def broadcast(self, out: Assembly, value: Value) -> Value:
        """Return a vector with ``value`` in every lane."""
        return self._splat(out, value, self.element)

    def _splat(self, out: Assembly, value: Value, element: str) -> Value:
        kind = f"<{self.count} x {element}>"
        first = out.step(f"insertelement {kind} poison, {element} {value}, i64 0")
        mask = f"<{self.count} x i32> zeroinitializer"
        return out.step(f"shufflevector {kind} {first}, {kind} poison, {mask}")

    @property
    def _suffix(self) -> str:
        return f"f{_BITS[self.element]}" if self.is_float else self.element

    def add(self, out: Assembly, x: Value, y: Value) -> Value:
        return out.step(f"{'fadd' if self.is_float else 'add'} {self.type} {x}, {y}")

    def multiply_add(self, out: Assembly, x: Value, y: Value, total: Value) -> Value:
        """Return ``x * y + total``, rounded once."""
        if not self.is_float:
            return self.add(out, out.step(f"mul {self.type} {x}, {y}"), total)
        name, kind = f"llvm.fma.v{self.count}{self._suffix}", self.type
        out.declared.add(f"{kind} @{name}({kind}, {kind}, {kind})")
        return out.step(f"call {kind} @{name}({kind} {x}, {kind} {y}, {kind} {total})")

    def bent(self, out: Assembly, value: Value, bend: Bend | None) -> Value:
        """Return a vector with the lanes below 0 bent, if they are to be; NaN stays."""
        if bend is None:
            return value
        slope = "" if bend.slope is None else self.broadcast(out, self._number(bend.slope))
        return self._bent(out, value, (self.type, f"<{self.count} x i1>", self.zero), slope)

    def bent_element(self, out: Assembly, value: Value, bend: Bend | None) -> Value:
        """Return what `bent` does, of one element."""
        if bend is None:
            return value
        slope = "" if bend.slope is None else self._number(bend.slope)
        return self._bent(out, value, (self.element, "i1", "0.0"), slope)

    def _bent(
        self, out: Assembly, value: Value, kinds: tuple[str, str, Value], slope: Value
    ) -> Value:
        kind, mask, zero = kinds
        if not slope:
            kept = out.step(f"fcmp ugt {kind} {value}, {zero}")
            return out.step(f"select {mask} {kept}, {kind} {value}, {kind} {zero}")
        below = out.step(f"fcmp olt {kind} {value}, {zero}")
        scaled = out.step(f"fmul {kind} {value}, {slope}")
        return out.step(f"select {mask} {below}, {kind} {scaled}, {kind} {value}")

    def _number(self, value: float) -> Value:
        """Return a literal, rounded to the type of the elements."""
        return number(round_to_f32(value) if self.element == "float" else value, F64)

    def greater(self, out: Assembly, x: Value, y: Value) -> Value:
        """Return the greater of each two lanes; NaN where one of them is."""
        mask = f"<{self.count} x i1>"
        above = out.step(f"fcmp ogt {self.type} {y}, {x}")
        found = out.step(f"select {mask} {above}, {self.type} {y}, {self.type} {x}")
        nan = out.step(f"fcmp uno {self.type} {y}, {y}")
        return out.step(f"select {mask} {nan}, {self.type} {y}, {self.type} {found}")

    def absolute(self, out: Assembly, value: Value) -> Value:
        name, kind = f"llvm.fabs.v{self.count}{self._suffix}", self.type
        out.declared.add(f"{kind} @{name}({kind})")
        return out.step(f"call {kind} @{name}({kind} {value})")

    def sums(self, out: Assembly, vectors: Sequence[Value]) -> Value:
        """Return one vector whose lane i is the sum of the lanes of ``vectors[i]``.

        There are as many as lanes. Pairs are folded by halves, so that each addition adds the
        lanes of two vectors at once.
        """
        assert len(vectors) == self.count
        current = list(vectors)
        while len(current) > 1:
            low, high = current[: len(current) // 2], current[len(current) // 2 :]
            distance = len(current) // 2
            current = [self._folded(out, x, y, distance) for x, y in zip(low, high, strict=True)]
        return current[0]

    def _folded(self, out: Assembly, x: Value, y: Value, distance: int) -> Value:
        """Return, in blocks of ``distance`` lanes, sums of neighbours of ``x`` and of ``y``.

        Lane ``l`` of ``x`` belongs to the block ``l // distance``; even and odd blocks are added.
        """
        even, odd = [], []
        for block in range(self.count // distance):
            source = 0 if block % 2 == 0 else self.count
            pair = block // 2 * 2 * distance
            for lane in range(distance):
                even.append(source + pair + lane)
                odd.append(source + pair + distance + lane)
        return self.add(out, self.shuffled(out, x, y, even), self.shuffled(out, x, y, odd))

    def shuffled(self, out: Assembly, x: Value, y: Value, order: Sequence[int]) -> Value:
        """Return the lanes of ``x`` and ``y``, counted through both, in another order."""
        mask = ", ".join(f"i32 {i}" for i in order)
        kind = self.type
        return out.step(f"shufflevector {kind} {x}, {kind} {y}, <{self.count} x i32> <{mask}>")


def lanes(dtype: DType, found: Registers) -> Lanes:
    """Return the vectors that sums of elements of ``dtype`` are kept in."""
    element = {F64: "double", F32: "float", F16: "float", BF16: "float", I32: "i32"}[dtype]
    return Lanes(element, found.width * 8 // _BITS[element])


def widened(out: Assembly, value: Value, dtype: DType) -> Value:
    """Return one element, as it is in memory, in the type that sums are kept in."""
    if dtype == F16:
        return out.step(f"fpext half {value} to float")
    if dtype == BF16:
        return bf16_value(out.step, value)
    if dtype.is_integer and dtype.bits < 32:
        signed = "sext" if dtype.name.startswith("i") else "zext"
        return out.step(f"{signed} i{dtype.bits} {value} to i32")
    return value


__all__ = ["Lanes", "Registers", "lanes", "registers", "widened"]
