"""Pools row by row: what each place of a window adds to a whole row of results at once.

Floats with short strides are pooled by vectors of results (`pool_vectors`). Otherwise a row of
results begins with what leaves everything as it is; each place of the window that lies in the
operand is folded into it, for those results whose place is no padding. Then the row is ended:
divided by the counts, or its root is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from reference_vm.loops.llvm_code import memory_type
from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words
from reference_vm.targets.numba.pool_vectors import PoolVectors, Row, reach
from reference_vm.targets.numba.vectors import Lanes
from reference_vm.types import DType
from reference_vm.types.dtype import Kind

POOL: Final = (
    *("size_d", "size_h", "size_w", "out_d", "out_h", "out_w"),
    *("kernel_d", "kernel_h", "kernel_w", "stride_d", "stride_h", "stride_w"),
    *("starts_d", "starts_h", "starts_w", "counts_d", "counts_h", "counts_w"),
)
"""The words of the block: sizes of operand, result, kernel; strides; the tables of where each place
of the kernel begins, for w also between which results it lies in the operand; for averages, of how
many places of a window count on each axis, as f64."""


@final
@dataclass(frozen=True, slots=True)
class PoolForm:
    """What is compiled for; the operand is at address 0, the result at 1."""

    op: str
    """``max``, ``average``, ``l1`` or ``l2``."""

    dtype: DType
    lanes: Lanes | None
    """Vectors of results; ``None`` where elements are no floats."""

    stride: int = 0
    """Along a row, if it is short; otherwise 0."""

    def words(self) -> Words:
        return Words(2, POOL)

    @property
    def kind(self) -> str:
        """The LLVM type of an element."""
        return memory_type(self.dtype)

    @property
    def identity(self) -> str:
        if self.op != "max":
            return "0.0"
        if self.dtype.is_float:
            return "0xFFF0000000000000"
        return str(self.dtype.minimum)


def print_pool(form: PoolForm) -> str:
    """Return the kernel; its range counts rows of the result."""
    out = Assembly()
    _print_fold(form, out)
    _print_end(form, out)
    with out.kernel():
        words = form.words()
        read = {name: words.read(out, name) for name in POOL[:12]}
        tables = {name: words.pointer(out, name) for name in POOL[12:]}
        pool = _Pool(form, out, read, tables, out.word(0, "ptr"), out.word(1, "ptr"))
        out.each("%low", "%high", "1", pool.row)
    return out.text


@final
@dataclass(frozen=True, slots=True)
class _Pool:
    """Writes what is done for one row of results."""

    form: PoolForm
    out: Assembly
    read: Mapping[str, Value]
    tables: Mapping[str, Value]
    x: Value
    y: Value

    def row(self, index: Value) -> None:
        out, read, kind = self.out, self.read, self.form.kind
        rest, h = out.divide(index, read["out_h"])
        channel, d = out.divide(rest, read["out_d"])
        target = out.at(self.y, kind, out.mul(index, read["out_w"]))
        size = out.mul(out.mul(read["size_d"], read["size_h"]), read["size_w"])
        plane = out.at(self.x, kind, out.mul(channel, size))
        self._fill(Row(plane, target, (d, h)))
        count = _count(out, self.tables, d, h) if self.form.op == "average" else "0.0"
        arguments = f"ptr {target}, ptr {self.tables['counts_w']}, double {count}"
        out.do(f"call void @end({arguments}, i64 {read['out_w']})")

    def _fill(self, row: Row) -> None:
        """Fold a row's windows."""
        form, lanes = self.form, self.form.lanes
        if not form.stride or lanes is None:
            self._by_places(row)
            return
        given = (lanes, form.op, form.identity, form.stride, self.read, self.tables)
        PoolVectors(self.out, *given).row(row)

    def _by_places(self, row: Row) -> None:
        out, read, kind = self.out, self.read, self.form.kind

        def clear(w: Value) -> None:
            out.store(kind, self.form.identity, out.at(row.target, kind, w))

        out.each("0", read["out_w"], "1", clear)
        out.each("0", read["kernel_d"], "1", lambda k: self._plane(row, k))

    def _plane(self, row: Row, k: Value) -> None:
        out, read = self.out, self.read
        at = _at(out, row.place[0], read["stride_d"], self.tables["starts_d"], k)
        lines = out.mul(at, read["size_h"])
        out.choose(
            out.compare("ult", at, read["size_d"]),
            lambda: out.each("0", read["kernel_h"], "1", lambda j: self._line(row, lines, j)),
        )

    def _line(self, row: Row, lines: Value, j: Value) -> None:
        out, read = self.out, self.read
        at = _at(out, row.place[1], read["stride_h"], self.tables["starts_h"], j)
        begin = out.mul(out.add(lines, at), read["size_w"])
        source = out.at(row.plane, self.form.kind, begin)
        out.choose(
            out.compare("ult", at, read["size_h"]),
            lambda: out.each("0", read["kernel_w"], "1", lambda i: self._place(row, source, i)),
        )

    def _place(self, row: Row, source: Value, i: Value) -> None:
        out, kind, stride = self.out, self.form.kind, self.read["stride_w"]
        first, low, high = reach(out, self.tables, i)
        begin = out.at(source, kind, out.add(first, out.mul(low, stride)))
        pointers = f"ptr {begin}, ptr {out.at(row.target, kind, low)}"
        out.do(f"call void @fold({pointers}, i64 {out.sub(high, low)}, i64 {stride})")


def _at(out: Assembly, index: Value, stride: Value, starts: Value, k: Value) -> Value:
    return out.add(out.mul(index, stride), out.load("i64", out.at(starts, "i64", k)))


def _count(out: Assembly, tables: Mapping[str, Value], d: Value, h: Value) -> Value:
    of_d = out.load("double", out.at(tables["counts_d"], "double", d))
    of_h = out.load("double", out.at(tables["counts_h"], "double", h))
    return out.step(f"fmul double {of_d}, {of_h}")


def _print_fold(form: PoolForm, out: Assembly) -> None:
    head = "define internal void @fold(ptr noalias readonly %x, ptr noalias %y, i64 %n, i64 %step)"
    kind = form.kind
    with out.function(f"{head} noinline nounwind"):

        def one(index: Value, source: Value) -> None:
            place = out.at("%y", kind, index)
            value = out.load(kind, out.at("%x", kind, source))
            out.store(kind, _folded(form, out, out.load(kind, place), value), place)

        def strided(step: str) -> None:
            out.each("0", "%n", "1", lambda i: one(i, out.mul(i, step)))

        out.choose(out.compare("eq", "%step", "1"), lambda: strided("1"), lambda: strided("%step"))


def _folded(form: PoolForm, out: Assembly, total: Value, value: Value) -> Value:
    kind = form.kind
    if form.op == "max":
        return _greater(form, out, total, value)
    if form.op == "l1":
        value = _function(out, "fabs", form, value)
    if form.op == "l2":
        value = out.step(f"fmul {kind} {value}, {value}")
    return out.step(f"fadd {kind} {total}, {value}")


def _greater(form: PoolForm, out: Assembly, x: Value, y: Value) -> Value:
    kind, dtype = form.kind, form.dtype
    if dtype.is_float:
        name = f"llvm.maximum.f{dtype.bits}"
    else:
        name = f"llvm.{'s' if dtype.kind is Kind.SIGNED else 'u'}max.{kind}"
    out.declared.add(f"{kind} @{name}({kind}, {kind})")
    return out.step(f"call {kind} @{name}({kind} {x}, {kind} {y})")


def _function(out: Assembly, name: str, form: PoolForm, value: Value) -> Value:
    kind, full = form.kind, f"llvm.{name}.f{form.dtype.bits}"
    out.declared.add(f"{kind} @{full}({kind})")
    return out.step(f"call {kind} @{full}({kind} {value})")


def _print_end(form: PoolForm, out: Assembly) -> None:
    """Write the function that ends a row; ``%counts`` is that of each place of it."""
    kind = form.kind
    head = "define internal void @end(ptr noalias %y, ptr noalias readonly %counts, double %count"
    with out.function(f"{head}, i64 %n) noinline nounwind"):

        def one(index: Value) -> None:
            place = out.at("%y", kind, index)
            value = out.load(kind, place)
            if form.op == "l2":
                out.store(kind, _function(out, "sqrt", form, value), place)
                return
            count = out.load("double", out.at("%counts", "double", index))
            count = out.step(f"fmul double {count}, %count")
            if kind == "float":
                count = out.step(f"fptrunc double {count} to float")
            out.store(kind, out.step(f"fdiv {kind} {value}, {count}"), place)

        if form.op in ("average", "l2"):
            out.each("0", "%n", "1", one)


__all__ = ["PoolForm", "print_pool"]
