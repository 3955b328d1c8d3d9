"""Products of rows with rows: ``c[m, p] = first[m, p] + sum over k of a[m, k] * b[p, k]``.

Both factors are read along k, as they lie: nothing is packed, and rows may overlap, so that frames
of a signal are rows a step apart. A tile keeps as many vectors of partial sums as a vector has
lanes; in the end they are folded into one vector, the tile's results. A single column takes tiles
that are one column wide, and so do short rows where that lets the results be stored as they are. At
the edges a tile takes the last row again, and stores it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.vectors import Bend, Lanes

COLUMNS: Final = 4
"""Tiles side by side that are done before the next rows: their part of ``b`` stays in cache."""

_SHORT: Final = 4
"""Vectors in a row up to which storing the results takes longer than the sums."""

_TILE: Final = (
    *("ptr %a", "i64 %a_row", "ptr %b", "i64 %b_row", "i64 %depth"),
    *("ptr %first", "i64 %first_row", "i64 %first_col"),
    *("ptr %c", "i64 %c_row", "i64 %c_col", "i64 %rows", "i64 %cols"),
)
"""What a tile is given: places of its corner, distances in elements, how much is left."""

DOTS: Final = (*_TILE[:11], "i64 %m", "i64 %m_end", "i64 %p", "i64 %p_end")
"""The parameters of ``@dots``: the rows and columns that it does come last."""


@final
@dataclass(frozen=True, slots=True)
class Product:
    """The arguments of ``@dots``, which does the rows and columns from one place to another."""

    a: Value
    a_row: Value
    b: Value
    b_row: Value
    depth: Value
    first: Value
    first_row: Value
    first_col: Value
    c: Value
    c_row: Value
    c_col: Value

    def call(self, out: Assembly, rows: tuple[Value, Value], columns: tuple[Value, Value]) -> None:
        """Write a call that does the rows and columns from one place to another."""
        out.do(f"call void @dots({', '.join(self.arguments(rows, columns))})")

    def arguments(self, rows: tuple[Value, Value], columns: tuple[Value, Value]) -> list[str]:
        """Return the arguments of such a call, with their types."""
        named = [getattr(self, argument.split("%")[1]) for argument in DOTS[:11]]
        listed = zip(DOTS, [*named, *rows, *columns], strict=True)
        return [f"{argument.split()[0]} {value}" for argument, value in listed]


def tile_columns(lanes: Lanes) -> int:
    """Return how many columns a tile has."""
    return max(1, lanes.count // 4)


def block_columns(lanes: Lanes) -> int:
    """Return how many columns are best done together."""
    return COLUMNS * tile_columns(lanes)


def print_dots(out: Assembly, lanes: Lanes, bend: Bend | None = None) -> None:
    """Write the function ``@dots`` into a module; what is below 0 may be bent."""
    columns = tile_columns(lanes)
    _print_tile(out, lanes, "wide", (lanes.count // columns, columns), bend)
    _print_tile(out, lanes, "tall", (lanes.count, 1), bend)
    _print_loops(out, lanes)


def _print_tile(
    out: Assembly, lanes: Lanes, name: str, size: tuple[int, int], bend: Bend | None
) -> None:
    height, width = size
    define = f"define internal void @{name}({', '.join(_TILE)}) noinline nounwind"
    with out.function(define):
        rows = _lines(out, lanes, ("%a", "%a_row", "%rows"), height)
        columns = _lines(out, lanes, ("%b", "%b_row", "%cols"), width)
        whole = out.mul(out.divide("%depth", str(lanes.count))[0], str(lanes.count))

        def step(load: Callable[[Value], Value], sums: Sequence[Value]) -> list[Value]:
            right = [load(column) for column in columns]
            after: list[Value] = []
            for row in rows:
                left = load(row)
                for x in right:
                    after.append(lanes.multiply_add(out, left, x, sums[len(after)]))
            return after

        def plain(index: Value, sums: Sequence[Value]) -> list[Value]:
            return step(lambda line: lanes.load(out, out.at(line, lanes.element, index)), sums)

        def last(index: Value, sums: Sequence[Value]) -> list[Value]:
            mask = lanes.below(out, out.sub("%depth", index))
            return step(
                lambda line: lanes.load_masked(out, out.at(line, lanes.element, index), mask), sums
            )

        step_size = str(lanes.count)
        zeros = [(lanes.type, lanes.zero)] * lanes.count
        sums = out.loop("0", whole, step_size, zeros, plain)
        carried = [(lanes.type, value) for value in sums]
        sums = out.loop(whole, "%depth", step_size, carried, last)
        total = lanes.sums(out, sums)
        if width > 1:
            _print_results(out, lanes, total, width, bend)
            return
        ordered = out.both(
            out.compare("eq", "%first_row", "1"),
            out.compare("eq", "%c_row", "1"),
            out.compare("sge", "%rows", str(height)),
        )
        out.choose(
            ordered,
            lambda: _print_vector(out, lanes, total, bend),
            lambda: _print_results(out, lanes, total, width, bend),
        )


def _lines(
    out: Assembly, lanes: Lanes, names: tuple[Value, Value, Value], count: int
) -> list[Value]:
    """Return where ``count`` rows begin; past the last one there is, the last one."""
    base, distance, left = names
    last = out.sub(left, "1")
    return [
        out.at(base, lanes.element, out.mul(out.least(str(i), last), distance))
        for i in range(count)
    ]


def _print_vector(out: Assembly, lanes: Lanes, sums: Value, bend: Bend | None) -> None:
    total = lanes.add(out, lanes.load(out, "%first"), sums)
    lanes.store(out, lanes.bent(out, total, bend), "%c")


def _print_results(out: Assembly, lanes: Lanes, sums: Value, width: int, bend: Bend | None) -> None:
    last_row, last_col = out.sub("%rows", "1"), out.sub("%cols", "1")
    places = [divmod(lane, width) for lane in range(lanes.count)]
    for lane, (row, column) in enumerate(places):
        i, j = out.least(str(row), last_row), out.least(str(column), last_col)

        def place(base: Value, i: Value = i, j: Value = j) -> Value:
            index = out.add(out.mul(i, f"{base}_row"), out.mul(j, f"{base}_col"))
            return out.at(base, lanes.element, index)

        value = out.step(f"extractelement {lanes.type} {sums}, i64 {lane}")
        first = out.load(lanes.element, place("%first"))
        total = out.step(f"fadd {lanes.element} {first}, {value}")
        out.store(lanes.element, lanes.bent_element(out, total, bend), place("%c"))


def _print_loops(out: Assembly, lanes: Lanes) -> None:
    width, block = tile_columns(lanes), str(block_columns(lanes))
    with out.function(f"define internal void @dots({', '.join(DOTS)}) noinline nounwind"):

        def tiles(name: str, height: int, columns: int) -> Callable[[Value], None]:
            def some(p: Value) -> None:
                end = out.least(out.add(p, block), "%p_end")

                def row(m: Value) -> None:
                    out.each(p, end, str(columns), lambda q: _call_tile(out, lanes, name, m, q))

                out.each("%m", "%m_end", str(height), row)

            return some

        short = out.both(
            out.compare("eq", "%first_row", "1"),
            out.compare("eq", "%c_row", "1"),
            out.compare("sle", "%depth", str(_SHORT * lanes.count)),
        )
        single = out.compare("eq", out.sub("%p_end", "%p"), "1")
        out.choose(
            out.step(f"or i1 {single}, {short}"),
            lambda: out.each("%p", "%p_end", block, tiles("tall", lanes.count, 1)),
            lambda: out.each("%p", "%p_end", block, tiles("wide", lanes.count // width, width)),
        )


def _call_tile(out: Assembly, lanes: Lanes, name: str, m: Value, p: Value) -> None:
    element = lanes.element
    a = out.at("%a", element, out.mul(m, "%a_row"))
    b = out.at("%b", element, out.mul(p, "%b_row"))
    first = out.add(out.mul(m, "%first_row"), out.mul(p, "%first_col"))
    c = out.add(out.mul(m, "%c_row"), out.mul(p, "%c_col"))
    arguments = [
        *(f"ptr {a}, i64 %a_row", f"ptr {b}, i64 %b_row", "i64 %depth"),
        *(f"ptr {out.at('%first', element, first)}", "i64 %first_row, i64 %first_col"),
        *(f"ptr {out.at('%c', element, c)}", "i64 %c_row, i64 %c_col"),
        *(f"i64 {out.sub('%m_end', m)}", f"i64 {out.sub('%p_end', p)}"),
    ]
    out.do(f"call void @{name}({', '.join(arguments)})")


__all__ = ["DOTS", "Product", "block_columns", "print_dots", "tile_columns"]
