"""The inner loop of convolutions: sums of shifted rows, by a table of offsets.

Result channel m at place p is ``bias[m] + sum over k of weight[m, k] * plane[offset[k] + p]``.
Places are counted along the padded rows of a plane, so row k of the right-hand matrix is contiguous
for every kernel size, and nothing is gathered. A tile is some channels by some vectors of places,
whose sums stay in registers. A tile inside one row of the result is stored at once; one that
crosses a row's end goes through a small buffer, and what falls between the rows is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words
from reference_vm.targets.numba.vectors import Bend, Lanes

NAMES: Final = (
    "planes",
    "result",
    "image",
    "group",
    "readable",
    "packed",
    "packed_group",
    "bias",
    "offsets",
    "depth",
    "features",
    "chunk",
    "chunks",
    "tiles",
    "groups",
    "wide",
    "high",
    "out_w",
    "out_h",
    "out_d",
)
"""The words of the block: distances in bytes between images and groups of planes; ``readable``
places of a group; where packed weights lie, and their distance between groups in elements; the
biases; the table; taps; channels of a group, and how many are done at once; tiles of an
image; groups; the padded row and the rows of a plane; the result's sizes."""


@final
@dataclass(frozen=True, slots=True)
class Tile:
    """What is compiled for."""

    lanes: Lanes
    rows: int
    """Channels of a tile; a power of two."""

    vectors: int

    direct: bool
    """Whether planes are the operand itself, which must not be read behind its end."""

    x: int
    """Which address the operand is at; the planes are in the workspace unless ``direct``."""

    y: int
    """Which address the result is at: the last."""

    aside: bool = False
    """Whether the result goes to the workspace, to be rounded later."""

    bend: Bend | None = None
    """What becomes of sums below 0."""

    along: bool = False
    """Whether all tiles of a chunk of channels come one after the other, and not all chunks of a
    tile: the rows of few channels are written at a time."""

    ahead: bool = False
    """Whether what the next tile reads is fetched meanwhile: planes that lie in far caches, where
    the next rows and channels are too far apart for the processor to foresee them."""

    @property
    def places(self) -> int:
        return self.lanes.count * self.vectors

    def words(self) -> Words:
        return Words(self.y + 1, NAMES)


def print_taps(tile: Tile) -> str:
    """Return the kernel; its range counts images, groups, tiles and chunks of channels."""
    out = Assembly()
    _Taps(tile, out, tile.words()).print()
    return out.text


@final
@dataclass
class _Place:
    """Where a tile is."""

    source: Value
    weights: Value
    bias: Value
    target: Value
    """The first result channel of the group."""

    first: Value
    """Its first place."""


@final
@dataclass
class _Taps:
    tile: Tile
    out: Assembly
    words: Words

    def print(self) -> None:
        out = self.out
        _print_spill(self.tile, out)
        with out.kernel():
            buffer = f"alloca [{self.tile.rows * self.tile.places} x {self.tile.lanes.element}]"
            self.buffer = out.step(f"{buffer}, align 64")
            self.read = {name: self.words.read(out, name) for name in NAMES}
            self.table = self.words.pointer(out, "offsets")
            out.each("%low", "%high", "1", self._unit)

    def _unit(self, unit: Value) -> None:
        out, read, lanes = self.out, self.read, self.tile.lanes
        if self.tile.along:
            rest, number = out.divide(unit, read["tiles"])
            rest, chunk = out.divide(rest, read["chunks"])
        else:
            rest, chunk = out.divide(unit, read["chunks"])
            rest, number = out.divide(rest, read["tiles"])
        image, group = out.divide(rest, read["groups"])
        first = out.mul(number, str(self.tile.places))
        base = self._base()
        offset = out.add(out.mul(image, read["image"]), out.mul(group, read["group"]))
        source = out.at(out.at(base, "i8", offset), lanes.element, first)
        start = out.mul(chunk, read["chunk"])
        stop = out.least(out.add(start, read["chunk"]), read["features"])
        weights = self.words.inside(out, "packed")
        weights = out.at(weights, lanes.element, out.mul(group, read["packed_group"]))
        channel = out.mul(group, read["features"])
        bias = out.at(self.words.inside(out, "bias"), lanes.element, channel)
        planes = out.mul(out.mul(read["out_d"], read["out_h"]), read["out_w"])
        before = out.add(out.mul(out.mul(image, read["groups"]), read["features"]), channel)
        target = out.at(self._result(), lanes.element, out.mul(before, planes))
        self.size = planes
        self._locate(first)
        place = _Place(source, weights, bias, target, first)
        self._channels(place, start, stop)

    def _base(self) -> Value:
        if self.tile.direct:
            return self.out.word(self.tile.x, "ptr")
        return self.words.inside(self.out, "planes")

    def _result(self) -> Value:
        if self.tile.aside:
            return self.words.inside(self.out, "result")
        return self.out.word(self.tile.y, "ptr")

    def _locate(self, first: Value) -> None:
        """Find the row that a tile begins in, and whether all of it lies in that row."""
        out, read = self.out, self.read
        rows, self.w = out.divide(first, read["wide"])
        self.d, self.h = out.divide(rows, read["high"])
        end = out.add(self.w, str(self.tile.places))
        self.whole = out.both(
            out.compare("sle", end, read["out_w"]),
            out.compare("slt", self.h, read["out_h"]),
            out.compare("slt", self.d, read["out_d"]),
        )
        row = out.add(out.mul(self.d, read["out_h"]), self.h)
        self.place = out.add(out.mul(row, read["out_w"]), self.w)
        if self.tile.direct:
            self.masks = self._masks(first)

    def _masks(self, first: Value) -> list[Value]:
        out, lanes = self.out, self.tile.lanes
        left = out.sub(self.read["readable"], first)
        return [
            lanes.below(out, out.sub(left, str(v * lanes.count))) for v in range(self.tile.vectors)
        ]

    def _channels(self, place: _Place, start: Value, stop: Value) -> None:
        """Do the channels of a chunk: whole tiles, then ever lower ones for what is left."""
        out, rows = self.out, self.tile.rows
        whole = out.sub(stop, str(rows - 1))

        def step(index: Value, _: Sequence[Value]) -> Sequence[Value]:
            self._tile(place, rows, index)
            return [out.add(index, str(rows))]

        (done,) = out.loop(start, whole, str(rows), [("i64", start)], step)
        height = rows // 2
        while height:
            done = self._rest(place, height, done, stop)
            height //= 2

    def _rest(self, place: _Place, height: int, done: Value, stop: Value) -> Value:
        """Do ``height`` channels if so many are left; return how many are done."""
        out = self.out
        after = out.add(done, str(height))
        fits = out.compare("sle", after, stop)
        out.choose(fits, lambda: self._tile(place, height, done))
        return out.step(f"select i1 {fits}, i64 {after}, i64 {done}")

    def _tile(self, place: _Place, height: int, channel: Value) -> None:
        out, lanes = self.out, self.tile.lanes
        weights = out.at(place.weights, lanes.element, out.mul(channel, self.read["depth"]))
        sums = self._sums(place, height, channel, weights)
        sums = [lanes.bent(out, value, self.tile.bend) for value in sums]
        target = out.at(place.target, lanes.element, out.mul(channel, self.size))
        out.choose(
            self.whole,
            lambda: self._store(height, sums, out.at(target, lanes.element, self.place), self.size),
            lambda: self._spill(height, sums, target),
        )

    def _sums(self, place: _Place, height: int, channel: Value, weights: Value) -> Sequence[Value]:
        out, lanes, vectors = self.out, self.tile.lanes, self.tile.vectors
        first: list[tuple[str, Value]] = []
        for row in range(height):
            at = out.at(place.bias, lanes.element, out.add(channel, str(row)))
            first += [(lanes.type, lanes.broadcast(out, out.load(lanes.element, at)))] * vectors

        def step(tap: Value, sums: Sequence[Value]) -> Sequence[Value]:
            offset = out.load("i64", out.at(self.table, "i64", tap))
            source = out.at(place.source, "i8", offset)
            right = [self._load(source, v) for v in range(vectors)]
            self._fetch(source)
            column = out.at(weights, lanes.element, out.mul(tap, str(height)))
            after: list[Value] = []
            for row in range(height):
                weight = out.load(lanes.element, out.at(column, lanes.element, str(row)))
                left = lanes.broadcast(out, weight)
                for v in range(vectors):
                    total = sums[row * vectors + v]
                    after.append(lanes.multiply_add(out, left, right[v], total))
            return after

        return out.loop("0", self.read["depth"], "1", first, step)

    def _fetch(self, source: Value) -> None:
        """Bring what the next tile reads nearer, if it is far."""
        if not self.tile.ahead:
            return
        out, lanes = self.out, self.tile.lanes
        out.declared.add("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for v in range(self.tile.vectors):
            ahead = out.at(source, lanes.element, str(self.tile.places + v * lanes.count))
            out.do(f"call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 3, i32 1)")

    def _load(self, source: Value, vector: int) -> Value:
        lanes = self.tile.lanes
        pointer = self.out.at(source, lanes.element, str(vector * lanes.count))
        if self.tile.direct:
            return lanes.load_masked(self.out, pointer, self.masks[vector])
        return lanes.load(self.out, pointer)

    def _store(self, height: int, sums: Sequence[Value], target: Value, distance: Value) -> None:
        out, lanes, vectors = self.out, self.tile.lanes, self.tile.vectors
        for row in range(height):
            line = out.at(target, lanes.element, out.mul(distance, str(row)))
            for v in range(vectors):
                pointer = out.at(line, lanes.element, str(v * lanes.count))
                lanes.store(out, sums[row * vectors + v], pointer)

    def _spill(self, height: int, sums: Sequence[Value], target: Value) -> None:
        self._store(height, sums, self.buffer, str(self.tile.places))
        words = [self.read[n] for n in ("wide", "high", "out_w", "out_h", "out_d")]
        listed = [str(height), self.size, self.w, self.h, self.d, *words]
        arguments = ", ".join(f"i64 {v}" for v in listed)
        self.out.do(f"call void @spill(ptr {self.buffer}, ptr {target}, {arguments})")


def _print_spill(tile: Tile, out: Assembly) -> None:
    """Write the function that copies the parts of a tile that are in rows of the result."""
    names = ("height", "size", "w0", "h0", "d0", "wide", "high", "out_w", "out_h", "out_d")
    head = ", ".join(f"i64 %{n}" for n in names)
    element, places = tile.lanes.element, str(tile.places)
    define = f"define internal void @spill(ptr noalias %from, ptr noalias %to, {head})"
    with out.function(f"{define} noinline nounwind"):
        state = [("i64", "%w0"), ("i64", "%h0"), ("i64", "%d0"), ("i64", "0")]

        def part(carried: Sequence[Value]) -> Sequence[Value]:
            w, h, d, done = carried
            left = out.sub(places, done)
            length = out.least(out.sub("%out_w", w), left)
            inside = out.both(out.compare("slt", h, "%out_h"), out.compare("slt", d, "%out_d"))
            length = out.step(f"select i1 {inside}, i64 {length}, i64 0")
            row = out.add(out.mul(out.add(out.mul(d, "%out_h"), h), "%out_w"), w)

            def copy(channel: Value) -> None:
                source = out.add(out.mul(channel, places), done)
                target = out.add(out.mul(channel, "%size"), row)
                x, y = out.at("%from", element, source), out.at("%to", element, target)
                out.each(
                    "0",
                    length,
                    "1",
                    lambda i: out.store(
                        element, out.load(element, out.at(x, element, i)), out.at(y, element, i)
                    ),
                )

            out.each("0", "%height", "1", copy)
            following = out.add(done, out.sub("%wide", w))
            below = out.add(h, "1")
            last = out.compare("sge", below, "%high")
            h_next = out.step(f"select i1 {last}, i64 0, i64 {below}")
            d_next = out.step(f"select i1 {last}, i64 {out.add(d, '1')}, i64 {d}")
            return ["0", h_next, d_next, following]

        out.repeat(state, lambda carried: out.compare("slt", carried[-1], places), part)


__all__ = ["Tile", "print_taps"]
