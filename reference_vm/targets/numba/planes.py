"""Preparing the operands of convolutions: planes padded and split by stride phase, packed weights.

A plane holds the elements of one channel whose place, counted with the padding, leaves the same
remainder by the strides: ``plane[h, w] = x[h * stride + phase - pad, ...]``, 0 in the padding. In
planes every stride is 1. Elements become what sums are kept in; bytes lose their zero point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.loops.llvm_code import memory_type
from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words
from reference_vm.targets.numba.vectors import Lanes, widened
from reference_vm.types import DType

PLANES: Final = (
    "planes",
    "rows",
    "wide",
    "high",
    "deep",
    "phases_w",
    "phases_h",
    "phases_d",
    "size_h",
    "size_d",
    "distance_w",
    "distance_h",
    "distance_d",
    "stride_w",
    "stride_h",
    "stride_d",
    "starts_w",
    "starts_h",
    "starts_d",
)
"""The words of the block: where planes lie; how many rows there are, the rest being slack of zeros;
sizes of a plane and numbers of phases; the operand's sizes, and distances in elements; strides; for
each phase of h and d its first place in the operand, which may be negative; for each of w three
numbers: that, and between which places of the row there are elements."""

PACKED: Final = ("packed", "bias", "depth", "places")
"""The words of the block: where both go; elements of a row of the weights; for each row where its
first element goes, and the distance between its elements there."""


@final
@dataclass(frozen=True, slots=True)
class Source:
    """An operand that is widened: its address and that of its zero point, if it has one."""

    operand: int
    dtype: DType
    zero_point: int | None = None
    each: bool = False
    """Whether there is a zero point for each row."""


@final
@dataclass(frozen=True, slots=True)
class PlanesForm:
    """What is compiled for."""

    source: Source
    lanes: Lanes
    addresses: int

    def words(self) -> Words:
        return Words(self.addresses, PLANES)


@final
@dataclass(frozen=True, slots=True)
class PackForm:
    """What is compiled for."""

    source: Source
    bias: int | None
    lanes: Lanes
    addresses: int

    def words(self) -> Words:
        return Words(self.addresses, PACKED)


def print_planes(form: PlanesForm) -> str:
    """Return the kernel that fills planes; its range counts rows of all planes, and slack."""
    out = Assembly()
    _print_row(form, out)
    with out.kernel():
        words = form.words()
        read = {name: words.read(out, name) for name in PLANES[1:16]}
        tables = {name: words.pointer(out, name) for name in PLANES[16:]}
        base, x = words.inside(out, "planes"), out.word(form.source.operand, "ptr")
        zero = _zero_point(out, form.source, "0")

        def row(unit: Value) -> None:
            rest, h = out.divide(unit, read["high"])
            rest, d = out.divide(rest, read["deep"])
            rest, phase_w = out.divide(rest, read["phases_w"])
            rest, phase_h = out.divide(rest, read["phases_h"])
            channel, phase_d = out.divide(rest, read["phases_d"])
            at_h = _place(out, h, read["stride_h"], tables["starts_h"], phase_h)
            at_d = _place(out, d, read["stride_d"], tables["starts_d"], phase_d)
            inside = out.both(
                out.compare("slt", unit, read["rows"]),
                out.compare("ult", at_h, read["size_h"]),
                out.compare("ult", at_d, read["size_d"]),
            )
            entry = out.at(tables["starts_w"], "i64", out.mul(phase_w, "3"))
            first, low, high = (out.load("i64", out.at(entry, "i64", str(i))) for i in range(3))
            low = out.step(f"select i1 {inside}, i64 {low}, i64 {read['wide']}")
            high = out.step(f"select i1 {inside}, i64 {high}, i64 {read['wide']}")
            from_h = out.add(first, out.mul(at_h, read["distance_h"]))
            from_d = out.mul(at_d, read["distance_d"])
            start = out.add(out.add(from_h, from_d), out.mul(channel, read["distance_w"]))
            source = out.at(x, memory_type(form.source.dtype), start)
            target = out.at(base, form.lanes.element, out.mul(unit, read["wide"]))
            numbers = ", ".join(f"i64 {v}" for v in (low, high, read["wide"], read["stride_w"]))
            out.do(f"call void @row(ptr {source}, ptr {target}, {numbers}, i32 {zero})")

        out.each("%low", "%high", "1", row)
    return out.text


def _place(out: Assembly, index: Value, stride: Value, starts: Value, phase: Value) -> Value:
    start = out.load("i64", out.at(starts, "i64", phase))
    return out.add(out.mul(index, stride), start)


def _zero_point(out: Assembly, source: Source, index: Value) -> Value:
    if source.zero_point is None:
        return "0"
    kind = memory_type(source.dtype)
    pointer = out.at(out.word(source.zero_point, "ptr"), kind, index if source.each else "0")
    return widened(out, out.load(kind, pointer), source.dtype)


def _less(out: Assembly, value: Value, zero: Value, source: Source) -> Value:
    return value if source.zero_point is None else out.step(f"sub i32 {value}, {zero}")


def _print_row(form: PlanesForm, out: Assembly) -> None:
    """Write the function that fills one row: zeros, elements a stride apart, zeros."""
    element, kind = form.lanes.element, memory_type(form.source.dtype)
    empty = "0.0" if form.lanes.is_float else "0"
    head = "define internal void @row(ptr noalias readonly %x, ptr noalias %y, i64 %low, i64 %high"
    with out.function(f"{head}, i64 %wide, i64 %step, i32 %zero) noinline nounwind"):

        def clear(index: Value) -> None:
            out.store(element, empty, out.at("%y", element, index))

        def copy(index: Value, source: Value) -> None:
            found = widened(out, out.load(kind, out.at("%x", kind, source)), form.source.dtype)
            value = _less(out, found, "%zero", form.source)
            out.store(element, value, out.at("%y", element, index))

        out.each("0", "%low", "1", clear)
        out.choose(
            out.compare("eq", "%step", "1"),
            lambda: out.each("%low", "%high", "1", lambda i: copy(i, i)),
            lambda: out.each("%low", "%high", "1", lambda i: copy(i, out.mul(i, "%step"))),
        )
        out.each("%high", "%wide", "1", clear)


def print_pack(form: PackForm) -> str:
    """Return the kernel that packs weights and biases; its range counts rows of the weights."""
    out, element, dtype = Assembly(), form.lanes.element, form.source.dtype
    kind = memory_type(dtype)
    head = "define internal void @row(ptr noalias readonly %x, ptr noalias %y, i64 %n, i64 %step"
    with out.function(f"{head}, i32 %zero) noinline nounwind"):

        def copy(index: Value) -> None:
            found = widened(out, out.load(kind, out.at("%x", kind, index)), dtype)
            value = _less(out, found, "%zero", form.source)
            out.store(element, value, out.at("%y", element, out.mul(index, "%step")))

        out.each("0", "%n", "1", copy)
    with out.kernel():
        words = form.words()
        depth, places = words.read(out, "depth"), words.pointer(out, "places")
        packed, biases = words.inside(out, "packed"), words.inside(out, "bias")
        w = out.word(form.source.operand, "ptr")

        def row(index: Value) -> None:
            entry = out.at(places, "i64", out.mul(index, "2"))
            first, step = out.load("i64", entry), out.load("i64", out.at(entry, "i64", "1"))
            source = out.at(w, kind, out.mul(index, depth))
            target = out.at(packed, element, first)
            zero = _zero_point(out, form.source, index)
            arguments = f"ptr {source}, ptr {target}, i64 {depth}, i64 {step}, i32 {zero}"
            out.do(f"call void @row({arguments})")
            out.store(element, _bias(out, form, index), out.at(biases, element, index))

        out.each("%low", "%high", "1", row)
    return out.text


def _bias(out: Assembly, form: PackForm, index: Value) -> Value:
    if form.bias is None:
        return "0.0" if form.lanes.is_float else "0"
    kind = memory_type(form.source.dtype)
    return widened(
        out, out.load(kind, out.at(out.word(form.bias, "ptr"), kind, index)), form.source.dtype
    )


def phase_starts(phases: Sequence[int], pad: int) -> list[int]:
    """Return the first place in the operand of each phase; negative ones are padding."""
    return [phase - pad for phase in phases]


def phase_ranges(phases: Sequence[int], pad: int, stride: int, size: int, wide: int) -> list[int]:
    """Return for each phase its first place, and between which places of its row elements are."""
    found: list[int] = []
    for first in phase_starts(phases, pad):
        low = min(max(0, -(first // stride)), wide)
        high = max(low, min(wide, -(-(size - first) // stride)))
        found += [first, low, high]
    return found


__all__ = ["PackForm", "PlanesForm", "Source", "phase_ranges", "phase_starts"]
__all__ += ["print_pack", "print_planes"]
