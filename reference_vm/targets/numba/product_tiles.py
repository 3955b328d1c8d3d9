"""The heart of matrix products: tiles of sums in registers, as LLVM IR.

A tile is some rows times some vectors of columns of the result. For each step along the sum it
reads the vectors of one row of a panel (`jit.panels`), then for each of its rows broadcasts one
element of the left factor and adds the products. Sums run over the steps in order, with one fused
multiply-add each, whatever the tile: so all tiles give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.jit.panels import VECTORS
from reference_vm.loops.llvm_code import memory_type
from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.vectors import Lanes, Registers, lanes, widened
from reference_vm.types.dtype import BF16, F16, DType

_LINE: Final = 64
"""Bytes of a line of the cache."""

_FETCHING: Final = 4
"""Rows of the tiles from which on there is time to look ahead."""

_ARGUMENTS: Final = (
    "ptr %a, i64 %a.row, i64 %a.step, ptr %panel, i64 %depth, "
    "ptr %c, i64 %c.row, i64 %width, i64 %rows"
)
"""The left factor, its bytes from row to row and from step to step; the panel and its rows; the
result, its bytes from row to row; how many columns and rows of the tile there are."""


@final
@dataclass(frozen=True, slots=True)
class TileKind:
    """What tiles are made for."""

    left: DType
    right: DType
    registers: Registers

    @property
    def lanes(self) -> Lanes:
        return lanes(self.left, self.registers)

    @property
    def width(self) -> int:
        """Columns of a panel."""
        return VECTORS * self.lanes.count

    @property
    def heights(self) -> tuple[int, ...]:
        """The rows that there are tiles of, most first."""
        return (8, 4, 2, 1) if self.registers.count >= 32 else (4, 2, 1)


def print_tiles(out: Assembly, kind: TileKind) -> None:
    """Write all tiles, and ``@tile``, which chooses one; both take the same arguments."""
    for height in kind.heights:
        for vectors in range(1, VECTORS + 1):
            _Tile(out, kind, height, vectors).print()
    with out.function(f"define internal void @tile({_ARGUMENTS}) noinline nounwind"):
        _choose_height(out, kind, kind.heights)


def _choose_height(out: Assembly, kind: TileKind, heights: Sequence[int]) -> None:
    height, *smaller = heights
    if not smaller:
        _choose_width(out, kind, height, 1)
        return
    out.choose(
        out.compare("sgt", "%rows", str(smaller[0])),
        lambda: _choose_width(out, kind, height, 1),
        lambda: _choose_height(out, kind, smaller),
    )


def _choose_width(out: Assembly, kind: TileKind, height: int, vectors: int) -> None:
    if vectors == VECTORS:
        _call(out, height, vectors)
        return
    out.choose(
        out.compare("sgt", "%width", str(vectors * kind.lanes.count)),
        lambda: _choose_width(out, kind, height, vectors + 1),
        lambda: _call(out, height, vectors),
    )


def _call(out: Assembly, height: int, vectors: int) -> None:
    out.do(f"call void @tile{height}x{vectors}({_ARGUMENTS})")


@final
@dataclass(frozen=True, slots=True)
class _Tile:
    """Prints one tile. Rows that are not there are computed as the last one, and again stored."""

    out: Assembly
    kind: TileKind
    height: int
    vectors: int

    def print(self) -> None:
        out, zero = self.out, self.kind.lanes.zero
        head = f"define internal void @tile{self.height}x{self.vectors}({_ARGUMENTS})"
        with out.function(f"{head} noinline nounwind"):
            last = out.sub("%rows", "1")
            places = [out.least(str(r), last) if r else "0" for r in range(self.height)]
            rows = [out.at("%a", "i8", out.mul(p, "%a.row")) for p in places]
            stores = [out.at("%c", "i8", out.mul(p, "%c.row")) for p in places]
            first = [(self.kind.lanes.type, zero)] * (self.height * self.vectors)
            sums = out.loop("0", "%depth", "1", first, lambda k, s: self._step(rows, k, s))
            whole = str(self.vectors * self.kind.lanes.count)
            full = out.compare("sge", "%width", whole)
            out.choose(
                full, lambda: self._store(stores, sums), lambda: self._store_part(stores, sums)
            )

    def _step(self, rows: Sequence[Value], k: Value, sums: Sequence[Value]) -> list[Value]:
        out, kind, lane = self.out, self.kind, self.kind.lanes
        begin = out.mul(k, str(kind.width))
        right = [
            self._load(out.at("%panel", memory_type(kind.right), out.add(begin, self._place(v))))
            for v in range(self.vectors)
        ]
        if self.height >= _FETCHING:
            self._fetch_next(begin)
        offset = out.mul(k, "%a.step")
        found: list[Value] = []
        for r, row in enumerate(rows):
            element = out.load(memory_type(kind.left), out.at(row, "i8", offset))
            left = lane.broadcast(out, widened(out, element, kind.left))
            for v in range(self.vectors):
                found.append(lane.multiply_add(out, left, right[v], sums[r * self.vectors + v]))
        return found

    def _fetch_next(self, begin: Value) -> None:
        """Bring the same row of the next panel into the cache, so that memory is never idle."""
        out, kind = self.out, self.kind
        out.declared.add("void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)")
        panel = out.mul("%depth", str(kind.width))
        row = out.at("%panel", memory_type(kind.right), out.add(begin, panel))
        for line in range(0, kind.width * kind.right.itemsize, _LINE):
            place = out.at(row, "i8", str(line))
            out.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 2, i32 1)")

    def _place(self, vector: int) -> Value:
        return str(vector * self.kind.lanes.count)

    def _load(self, pointer: Value) -> Value:
        """Return a vector of the panel in the type of the sums."""
        out, lane, dtype = self.out, self.kind.lanes, self.kind.right
        loaded = out.load(f"<{lane.count} x {memory_type(dtype)}>", pointer, dtype.itemsize)
        if dtype == F16:
            return out.step(f"fpext <{lane.count} x half> {loaded} to {lane.type}")
        if dtype == BF16:
            kind = f"<{lane.count} x i32>"
            sixteen = ", ".join(["i32 16"] * lane.count)
            wide = out.step(f"zext <{lane.count} x i16> {loaded} to {kind}")
            high = out.step(f"shl {kind} {wide}, <{sixteen}>")
            return out.step(f"bitcast {kind} {high} to {lane.type}")
        return loaded

    def _store(self, rows: Sequence[Value], sums: Sequence[Value]) -> None:
        for i, value in enumerate(sums):
            r, v = divmod(i, self.vectors)
            lane = self.kind.lanes
            lane.store(self.out, value, self.out.at(rows[r], lane.element, self._place(v)))

    def _store_part(self, rows: Sequence[Value], sums: Sequence[Value]) -> None:
        """Store the columns that there are: all vectors but the last, and a part of that."""
        out, lane = self.out, self.kind.lanes
        last = self.vectors - 1
        mask = lane.below(out, out.sub("%width", self._place(last)))
        for i, value in enumerate(sums):
            r, v = divmod(i, self.vectors)
            place = out.at(rows[r], lane.element, self._place(v))
            if v < last:
                lane.store(out, value, place)
                continue
            lane.store_masked(out, value, place, mask)
