"""Rows that are read or written at indices, as machine code.

A *row* is a run of bytes. Row after row of one tensor belongs to a place in another, which an index
tuple names; rows may come in batches, each with a part of the other tensor to itself. Gathering
reads at the places, scattering writes there. An index may count from the end; where one is out of
range nothing foreign is touched: the row is made of zeros, or not written, and the fault is noted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words


@final
@dataclass(frozen=True, slots=True)
class RowForm:
    """What is compiled for."""

    scatters: bool
    index_bytes: int
    components: int
    """Indices in a tuple."""

    unit: int
    """Bytes of a row, if they are one element's; 0 for rows of any length."""

    addresses: int
    placed: int
    """Which address the tensor with the places has, then which the indices and the rows have."""

    indices: int
    rows: int

    @property
    def words(self) -> Words:
        sizes = [f"{kind}{i}" for i in range(self.components) for kind in ("size", "step")]
        names = ("fault", "period", "batch", "index_batch", "length", *sizes)
        return Words(self.addresses, names)


def print_rows(form: RowForm) -> str:
    """Return the kernel; its range counts rows."""
    out, words = Assembly(), form.words
    with out.kernel():
        read = {name: words.read(out, name) for name in words.names if name != "fault"}
        placed, indices, rows = (
            out.word(place, "ptr") for place in (form.placed, form.indices, form.rows)
        )

        def one(row: Value) -> None:
            batch, inside = out.divide(row, read["period"])
            first = out.mul(inside, str(form.components))
            first = out.add(first, out.mul(batch, read["index_batch"]))
            offset, right = _offset(
                form, out, read, out.at(indices, f"i{form.index_bytes * 8}", first)
            )
            place = out.at(placed, "i8", out.add(offset, out.mul(batch, read["batch"])))
            other = out.at(rows, "i8", out.mul(row, read["length"]))
            out.choose(
                right,
                lambda: _move(form, out, place, other, read["length"]),
                lambda: _fault(form, out, other, read["length"]),
            )

        out.each("%low", "%high", "1", one)
    return out.text


def _offset(form: RowForm, out: Assembly, read: dict[str, Value], at: Value) -> tuple[Value, Value]:
    """Return how many bytes into its batch a tuple's place is, and whether it is one."""
    kind = f"i{form.index_bytes * 8}"
    offset, conditions = "0", []
    for i in range(form.components):
        size = read[f"size{i}"]
        index = out.load(kind, out.at(at, kind, str(i)), form.index_bytes)
        if kind != "i64":
            index = out.step(f"sext {kind} {index} to i64")
        negative = out.compare("slt", index, "0")
        back = out.step(f"select i1 {negative}, i64 {size}, i64 0")
        index = out.add(index, back)
        conditions.append(out.compare("ult", index, size))
        offset = out.add(offset, out.mul(index, read[f"step{i}"]))
    return offset, out.both(*conditions)


def _move(form: RowForm, out: Assembly, place: Value, row: Value, length: Value) -> None:
    source, target = (row, place) if form.scatters else (place, row)
    if form.unit:
        kind = f"i{form.unit * 8}"
        out.store(kind, out.load(kind, source, form.unit), target, form.unit)
        return
    out.declared.add("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    out.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {length}, i1 false)")


def _fault(form: RowForm, out: Assembly, row: Value, length: Value) -> None:
    out.store("i64", "1", out.at("%block", "i64", str(form.words.position("fault"))))
    if form.scatters:
        return
    out.declared.add("void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    out.do(f"call void @llvm.memset.p0.i64(ptr {row}, i8 0, i64 {length}, i1 false)")


__all__ = ["RowForm", "print_rows"]
