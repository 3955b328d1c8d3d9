"""Prints the kernels of matrix products: sums of tiles, blocks of rows, what follows on them.

One kernel serves all sizes, strides and lengths, for each pair of dtypes: which operand lies where,
and which loop nest follows on a block of rows while it is in the cache, its argument block says
(`product_words`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words
from reference_vm.targets.numba.product_tiles import TileKind, print_tiles
from reference_vm.targets.numba.product_words import (
    BATCH,
    COLUMNS,
    LATER,
    MOVE,
    PACK,
    PRODUCT,
    TEMPLATE,
)

_PRODUCT: Final = (
    "ptr %a, i64 %a.row, i64 %a.step, ptr %right, i64 %depth, i64 %columns, "
    "ptr %c, i64 %c.row, i64 %rows, i64 %first, i64 %last"
)


def print_product(kind: TileKind) -> str:
    """Return the kernel of products of these dtypes; a round is what the block's mode says."""
    out = Assembly()
    print_tiles(out, kind)
    _print_panels(out, kind)
    _print_following(out)
    _print_moves(out)
    with out.kernel():
        out.each("%low", "%high", "1", _Round(out, kind).run)
    return out.text


def _print_panels(out: Assembly, kind: TileKind) -> None:
    """Write ``@product``: some panels of columns of some rows."""
    with out.function(f"define internal void @product({_PRODUCT}) noinline nounwind"):
        size = out.mul("%depth", str(kind.width * kind.right.itemsize))

        def panel(number: Value) -> None:
            begin = out.mul(number, str(kind.width))
            width = out.least(str(kind.width), out.sub("%columns", begin))
            where = out.at("%right", "i8", out.mul(number, size))
            column = out.at("%c", kind.lanes.element, begin)

            def rows(row: Value) -> None:
                height = out.least(str(kind.heights[0]), out.sub("%rows", row))
                a = out.at("%a", "i8", out.mul(row, "%a.row"))
                c = out.at(column, "i8", out.mul(row, "%c.row"))
                given = f"ptr {a}, i64 %a.row, i64 %a.step, ptr {where}, i64 %depth, ptr {c}"
                out.do(f"call void @tile({given}, i64 %c.row, i64 {width}, i64 {height})")

            out.each("0", "%rows", str(kind.heights[0]), rows)

        out.each("%first", "%last", "1", panel)


def _print_moves(out: Assembly) -> None:
    """Write ``@fill``: the addresses in the argument block of what follows."""
    batch = ", ".join(f"i64 %i{i}" for i in range(BATCH))
    head = f"define internal void @fill(ptr %block, ptr %own, {batch}, i64 %row)"
    with out.function(f"{head} noinline nounwind"):
        moves = PRODUCT.read(out, "follow.moves")
        table = out.at("%block", "i64", str(PRODUCT.position("move0")))

        def move(number: Value) -> None:
            entry = out.at(table, "i64", out.mul(number, str(len(MOVE))))
            words = [out.load("i64", out.at(entry, "i64", str(i))) for i in range(len(MOVE))]
            base = out.load("i64", out.at("%block", "i64", words[0]))
            found = out.add(base, words[1])
            for index, step in zip([*_batch(), "%row"], words[2:], strict=True):
                found = out.add(found, out.mul(index, step))
            out.store("i64", found, out.at("%own", "i64", number))

        out.each("0", moves, "1", move)


def _batch() -> list[Value]:
    return [f"%i{i}" for i in range(BATCH)]


def _print_following(out: Assembly) -> None:
    """Write ``@follow``: the loop nest on some rows."""
    batch = ", ".join(f"i64 {i}" for i in _batch())
    head = f"define internal void @follow(ptr %block, {batch}, i64 %row, i64 %rows)"
    with out.function(f"{head} noinline nounwind"):
        own = out.step(f"alloca [{TEMPLATE} x i64], align 64")
        out.declared.add("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        template = out.at("%block", "i64", str(PRODUCT.position("template0")))
        size = out.mul(PRODUCT.read(out, "follow.words"), "8")
        out.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {own}, ptr {template}, i64 {size}, i1 0)")
        out.do(f"call void @fill(ptr %block, ptr {own}, {batch}, i64 %row)")
        moves = PRODUCT.read(out, "follow.moves")
        scratch = out.word(PRODUCT.position("scratch"))
        rows = out.add(scratch, PRODUCT.read(out, "follow.scratch"))
        out.store("i64", rows, out.at(own, "i64", out.add(moves, "1")))
        code = PRODUCT.pointer(out, "follow")
        out.do(f"call void {code}(ptr {own}, i64 0, i64 %rows)")


@final
@dataclass(frozen=True)
class _Round:
    """Prints one round of a product's kernel."""

    out: Assembly
    kind: TileKind

    def run(self, number: Value) -> None:
        out = self.out
        batch, part = out.divide(number, self._read("parts"))
        indices = _indices(out, batch, [self._read(f"size{i}") for i in range(1, BATCH)])
        mode = self._read("mode")
        out.choose(
            out.compare("eq", mode, str(COLUMNS)),
            lambda: self._columns(indices, part),
            lambda: self._rows(indices, part, mode),
        )

    def _read(self, name: str) -> Value:
        return PRODUCT.read(self.out, name)

    def _place(self, name: str, indices: Sequence[Value], row: Value) -> Value:
        return _pointer(self.out, name, indices, row)

    def _columns(self, indices: Sequence[Value], part: Value) -> None:
        self._product(indices, "0", self._read("rows"), (part, self.out.add(part, "1")))

    def _rows(self, indices: Sequence[Value], part: Value, mode: Value) -> None:
        out = self.out
        block = self._read("block")
        row = out.mul(part, block)
        rows = out.least(block, out.sub(self._read("rows"), row))
        fresh = out.compare("ne", mode, str(LATER))
        out.choose(fresh, lambda: self._product(indices, row, rows, None))
        batch = ", ".join(f"i64 {i}" for i in indices)
        following = out.compare("ne", self._read("follow"), "0")
        call = f"call void @follow(ptr %block, {batch}, i64 {row}, i64 {rows})"
        out.choose(following, lambda: out.do(call))
        again = out.compare("ne", self._read("then"), "0")
        out.choose(again, lambda: self._second(indices, row, rows))

    def _panels(self, columns: Value) -> tuple[Value, Value]:
        """Return the first panel and the one after the last."""
        more = self.out.add(columns, str(self.kind.width - 1))
        return "0", self.out.divide(more, str(self.kind.width))[0]

    def _product(
        self,
        indices: Sequence[Value],
        row: Value,
        rows: Value,
        panels: tuple[Value, Value] | None,
    ) -> None:
        out, columns = self.out, self._read("columns")
        first, last = panels or self._panels(columns)
        left = self._place("left", indices, row)
        right = self._place("right", indices, "0")
        sums = self._place("sums", indices, row)
        out.do(
            f"call void @product(ptr {left}, i64 {self._read('left.row')}, "
            f"i64 {self._read('left.step')}, ptr {right}, i64 {self._read('depth')}, "
            f"i64 {columns}, ptr {sums}, i64 {self._read('sums.step')}, i64 {rows}, "
            f"i64 {first}, i64 {last})"
        )

    def _second(self, indices: Sequence[Value], row: Value, rows: Value) -> None:
        """Multiply what followed on the first product by another factor."""
        out, columns = self.out, self._read("then.columns")
        first, last = self._panels(columns)
        middle = self._place("middle", indices, "0")
        right = self._place("then.right", indices, "0")
        result = self._place("result", indices, row)
        out.do(
            f"call void @product(ptr {middle}, i64 {self._read('middle.row')}, "
            f"i64 {self.kind.left.itemsize}, ptr {right}, i64 {self._read('then.depth')}, "
            f"i64 {columns}, ptr {result}, i64 {self._read('result.row')}, i64 {rows}, "
            f"i64 {first}, i64 {last})"
        )


def _indices(out: Assembly, batch: Value, sizes: Sequence[Value]) -> list[Value]:
    """Return the round of each batch loop, the outermost first."""
    found: list[Value] = []
    for size in reversed(sizes):
        batch, index = out.divide(batch, size)
        found.insert(0, index)
    return [batch, *found]


def _pointer(
    out: Assembly, name: str, indices: Sequence[Value], row: Value, words: Words = PRODUCT
) -> Value:
    """Return the address that a place's words say."""
    base = out.load("ptr", out.at("%block", "i64", words.read(out, name)))
    offset = words.read(out, f"{name}.at")
    for number, index in enumerate(indices):
        offset = out.add(offset, out.mul(index, words.read(out, f"{name}.b{number}")))
    if row != "0":
        offset = out.add(offset, out.mul(row, words.read(out, f"{name}.row")))
    return out.at(base, "i8", offset)


@final
@dataclass(frozen=True, slots=True)
class PackKind:
    """What a factor is put into panels of."""

    bits: int
    """Of an element."""

    width: int
    """Columns of a panel."""


def print_pack(kind: PackKind) -> str:
    """Return the kernel that puts matrices into panels; a round is one panel of one matrix."""
    out = Assembly()
    element = f"i{kind.bits}"
    _print_rows(out, kind, element)
    with out.kernel():

        def panel(number: Value) -> None:
            batch, part = out.divide(number, PACK.read(out, "panels"))
            sizes = [PACK.read(out, f"size{i}") for i in range(1, BATCH)]
            indices = _indices(out, batch, sizes)
            first = out.mul(part, str(kind.width))
            width = out.least(str(kind.width), out.sub(PACK.read(out, "columns"), first))
            step = PACK.read(out, "from.column")
            begin = _pointer(out, "from", indices, "0", PACK)
            source = out.at(begin, "i8", out.mul(first, step))
            target = _pointer(out, "to", indices, part, PACK)
            out.do(
                f"call void @rows(ptr {source}, i64 {PACK.read(out, 'from.row')}, i64 {step}, "
                f"ptr {target}, i64 {PACK.read(out, 'depth')}, i64 {width})"
            )

        out.each("%low", "%high", "1", panel)
    return out.text


def _print_rows(out: Assembly, kind: PackKind, element: str) -> None:
    """Write ``@rows``: the rows of one panel, filled up with zeros."""
    head = "ptr noalias readonly %x, i64 %x.row, i64 %x.column, ptr noalias %y, i64 %n, i64 %width"
    with out.function(f"define internal void @rows({head}) noinline nounwind"):
        adjacent = out.compare("eq", "%x.column", str(kind.bits // 8))
        whole = out.compare("eq", "%width", str(kind.width))
        out.choose(
            out.both(adjacent, whole),
            lambda: out.each("0", "%n", "1", lambda r: _whole_row(out, kind, element, r)),
            lambda: out.each("0", "%n", "1", lambda r: _any_row(out, kind, element, r)),
        )


def _whole_row(out: Assembly, kind: PackKind, element: str, row: Value) -> None:
    vector = f"<{kind.width} x {element}>"
    source = out.at("%x", "i8", out.mul(row, "%x.row"))
    target = out.at("%y", element, out.mul(row, str(kind.width)))
    out.store(vector, out.load(vector, source, kind.bits // 8), target, kind.bits // 8)


def _any_row(out: Assembly, kind: PackKind, element: str, row: Value) -> None:
    source = out.at("%x", "i8", out.mul(row, "%x.row"))
    target = out.at("%y", element, out.mul(row, str(kind.width)))

    def copy(column: Value) -> None:
        value = out.load(element, out.at(source, "i8", out.mul(column, "%x.column")))
        out.store(element, value, out.at(target, element, column))

    out.each("0", "%width", "1", copy)
    zero: Value = "0"
    out.each(
        "%width",
        str(kind.width),
        "1",
        lambda column: out.store(element, zero, out.at(target, element, column)),
    )


__all__ = ["PackKind", "print_pack", "print_product"]
