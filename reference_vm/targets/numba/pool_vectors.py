"""Pools of vectors of results, for short strides along a row: what is pooled is in registers.

Results whose windows lie in the operand from end to end are done two vectors at a time; at the ends
of a row masks say which elements of a window there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.vectors import Lanes

LONGEST: Final = 4
"""The longest stride along a row that there is code for."""

_VECTORS: Final = 2


def reach(out: Assembly, tables: Mapping[str, Value], place: Value) -> tuple[Value, Value, Value]:
    """Return where a place of the kernel begins along w, and between which results it is inside."""
    entry = out.at(tables["starts_w"], "i64", out.mul(place, "3"))
    first, low, high = (out.load("i64", out.at(entry, "i64", str(n))) for n in range(3))
    return first, low, high


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One row of results, and where its windows lie."""

    plane: Value
    """The first element of the channel."""

    target: Value
    place: tuple[Value, Value]
    """Of the row, in depth and in height."""


@final
@dataclass(frozen=True, slots=True)
class PoolVectors:
    """Writes the code; ``read`` and ``tables`` are the words of `pool_code.POOL`."""

    out: Assembly
    lanes: Lanes
    op: str
    identity: str
    stride: int
    read: Mapping[str, Value]
    tables: Mapping[str, Value]

    def row(self, row: Row) -> None:
        """Pool a row."""
        out, count = self.out, self.lanes.count
        _, low, _ = reach(out, self.tables, "0")
        _, _, high = reach(out, self.tables, out.sub(self.read["kernel_w"], "1"))
        width = str(_VECTORS * count)

        def block(first: Value) -> None:
            end = out.add(first, width)
            whole = out.both(out.compare("sge", first, low), out.compare("sle", end, high))
            last = out.least(end, self.read["out_w"])
            out.choose(
                whole,
                lambda: self._whole(row, first),
                lambda: out.each(first, last, str(count), lambda j: self._part(row, j)),
            )

        out.each("0", self.read["out_w"], width, block)

    def _whole(self, row: Row, first: Value) -> None:
        out, lanes = self.out, self.lanes
        begin = out.mul(first, str(self.stride))

        def place(source: Value, k: Value, totals: Sequence[Value]) -> Sequence[Value]:
            start = out.add(reach(out, self.tables, k)[0], begin)
            found: list[Value] = []
            for v, total in enumerate(totals):
                at = out.add(start, str(v * lanes.count * self.stride))
                value = self._load(out.at(source, lanes.element, at))
                found.append(self._folded(total, value))
            return found

        for v, total in enumerate(self._window(row, _VECTORS, place)):
            at = out.add(first, str(v * lanes.count))
            lanes.store(out, total, out.at(row.target, lanes.element, at))

    def _part(self, row: Row, first: Value) -> None:
        out, lanes = self.out, self.lanes
        begin, mask = out.mul(first, str(self.stride)), f"<{lanes.count} x i1>"

        def place(source: Value, k: Value, totals: Sequence[Value]) -> Sequence[Value]:
            start, low, high = reach(out, self.tables, k)
            low, high = out.sub(low, first), out.sub(high, first)
            at = out.at(source, lanes.element, out.add(start, begin))
            value = self._load_between(at, low, high)
            new = self._folded(totals[0], value)
            inside = self._between(low, high)
            kept = f"{lanes.type} {new}, {lanes.type} {totals[0]}"
            return [out.step(f"select {mask} {inside}, {kept}")]

        (total,) = self._window(row, 1, place)
        there = lanes.below(out, out.sub(self.read["out_w"], first))
        lanes.store_masked(out, total, out.at(row.target, lanes.element, first), there)

    def _window(
        self,
        row: Row,
        vectors: int,
        place: Callable[[Value, Value, Sequence[Value]], Sequence[Value]],
    ) -> Sequence[Value]:
        """Write the loops over a window; ``place`` folds one of its places in."""
        out, read, kind = self.out, self.read, self.lanes.type
        identity = self.lanes.broadcast(out, self.identity)

        def carried(totals: Sequence[Value]) -> list[tuple[str, Value]]:
            return [(kind, total) for total in totals]

        def plane(k: Value, totals: Sequence[Value]) -> Sequence[Value]:
            d, in_plane = self._at("d", row.place[0], k)

            def line(j: Value, before: Sequence[Value]) -> Sequence[Value]:
                h, in_line = self._at("h", row.place[1], j)
                number = out.add(out.mul(d, read["size_h"]), h)
                begin = out.mul(number, read["size_w"])
                source = out.at(row.plane, self.lanes.element, begin)
                after = out.loop(
                    "0", read["kernel_w"], "1", carried(before), lambda i, t: place(source, i, t)
                )
                inside = out.both(in_plane, in_line)
                return [
                    out.step(f"select i1 {inside}, {kind} {new}, {kind} {old}")
                    for new, old in zip(after, before, strict=True)
                ]

            return out.loop("0", read["kernel_h"], "1", carried(totals), line)

        return out.loop("0", read["kernel_d"], "1", carried([identity] * vectors), plane)

    def _at(self, axis: str, index: Value, k: Value) -> tuple[Value, Value]:
        """Return where a place of a window is along an axis, or 0, and whether it is inside."""
        out = self.out
        start = out.load("i64", out.at(self.tables[f"starts_{axis}"], "i64", k))
        at = out.add(out.mul(index, self.read[f"stride_{axis}"]), start)
        inside = out.compare("ult", at, self.read[f"size_{axis}"])
        return out.step(f"select i1 {inside}, i64 {at}, i64 0"), inside

    def _load(self, pointer: Value) -> Value:
        """Return a vector of elements a stride apart; nothing behind the last one is read."""
        out, lanes = self.out, self.lanes
        return self._gathered(lambda at: lanes.load(out, out.at(pointer, lanes.element, str(at))))

    def _load_between(self, pointer: Value, low: Value, high: Value) -> Value:
        """Return a vector that has elements only from ``low`` to ``high``, of a stride apart."""
        out, lanes, stride = self.out, self.lanes, str(self.stride)
        first = out.mul(low, stride)
        end = out.sub(out.mul(high, stride), str(self.stride - 1))

        def load(at: int) -> Value:
            mask = self._between(out.sub(first, str(at)), out.sub(end, str(at)))
            return lanes.load_masked(out, out.at(pointer, lanes.element, str(at)), mask)

        return self._gathered(load)

    def _gathered(self, load: Callable[[int], Value]) -> Value:
        """Return elements a stride apart out of whole vectors, the last of which ends with one."""
        count, stride = self.lanes.count, self.stride
        begins = [*range(0, (stride - 1) * count, count), stride * (count - 1) + 1 - count]
        found, elements = load(begins[0]), [stride * lane for lane in range(count)]
        kept = elements  # of the first vector as it lies; later on lanes are in their places
        for at in begins[1:]:
            ends = [min(count + e - at, 2 * count - 1) for e in elements]
            order = [kept[i] if e < at else ends[i] for i, e in enumerate(elements)]
            found = self.lanes.shuffled(self.out, found, load(at), order)
            kept = list(range(count))
        return found

    def _between(self, low: Value, high: Value) -> Value:
        out, kind = self.out, f"<{self.lanes.count} x i1>"
        before = self.lanes.below(out, low)
        some = self.lanes.below(out, high)
        every = ", ".join(["i1 true"] * self.lanes.count)
        return out.step(f"and {kind} {some}, {out.step(f'xor {kind} {before}, <{every}>')}")

    def _folded(self, total: Value, value: Value) -> Value:
        out, lanes = self.out, self.lanes
        match self.op:
            case "max":
                return lanes.greater(out, total, value)
            case "l2":
                return lanes.multiply_add(out, value, value, total)
            case "l1":
                return lanes.add(out, total, lanes.absolute(out, value))
            case _:
                return lanes.add(out, total, value)


__all__ = ["LONGEST", "PoolVectors", "Row", "reach"]
