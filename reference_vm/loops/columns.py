"""Folds of many rows at once, where going along a row would be slow.

The rows of a fold along axes that are not the last lie across memory, and those along a last axis
of two or three places are too short to be gone through one by one. Then a block of rows side by
side, here *columns*, is folded together: place by place of the row, the loop over the columns is
the innermost, and becomes vector code. What the folds are so far is kept in buffers.

Whether that pays is known when the kernel runs, from distances and numbers of rounds in its block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

from reference_vm.loops.llvm_code import CHUNK, CodeWriter, memory_type, number
from reference_vm.loops.llvm_emit import emit
from reference_vm.loops.nest import Inner, Nest, View
from reference_vm.loops.schedule import Schedule

WIDTH: Final = 128
"""Columns of a block; what is kept of them stays in the nearest cache."""

SHORT: Final = 8
"""Rows of so few places are folded together however they lie."""

LEAST: Final = 4
"""Columns that there must be to be folded together."""

_ALIGNMENT: Final = 64


@final
@dataclass(frozen=True, slots=True)
class ColumnForm:
    """How accesses, then stores, move from column to column."""

    moves: tuple[Inner, ...]

    @property
    def are_adjacent(self) -> bool:
        """Whether none of them leaves elements out."""
        return Inner.STRIDED not in self.moves


def column_form(nest: Nest, plan: Schedule) -> ColumnForm | None:
    """Return how columns of ``nest`` are read; ``None`` if its rows are not folds and no more."""
    folds = len(plan.loops) == 1 and bool(plan.loops[0].folds) and not plan.scratch
    if not folds or len(plan.stores_once) != len(nest.stores) or nest.outer_axes < 1:
        return None
    views = [a.view for a in nest.accesses] + [s.view for s in nest.stores]
    return ColumnForm(tuple(_move(view, nest.outer_axes - 1) for view in views))


def _move(view: View, column: int) -> Inner:
    if column not in view:
        return Inner.ZERO
    return Inner.UNIT if view[-1] == column else Inner.STRIDED


@final
@dataclass
class ColumnPrinter:
    """Prints ``@name.columns``.

    Its arguments are pointers, the distance of each access along a row, that of each access and
    store from column to column, places of a row, and columns.
    """

    nest: Nest
    name: str
    plan: Schedule
    form: ColumnForm
    out: CodeWriter

    def __post_init__(self) -> None:
        self.folds = self.plan.loops[0].folds
        self.sums = [
            f
            for f in self.folds
            if self.nest.code[f].detail == "add" and self.nest.code[f].dtype.is_float
        ]

    def print(self) -> None:
        out = self.out
        args = ", ".join((*self._arguments(), "i64 %n", "i64 %m"))
        head = f"define internal void @{self.name}.columns({args}) noinline nounwind {{"
        out.lines += [head, "entry:"]
        for fold in self.folds:
            self._buffer(f"%total{fold}", fold)
            if fold in self.sums:
                self._buffer(f"%piece{fold}", fold)
        self._each("0", "%m", str(WIDTH), self._block)
        out.add("ret void")
        out.lines += ["}", ""]

    def _arguments(self) -> Iterator[str]:
        for i in range(len(self.nest.accesses)):
            yield f"ptr noalias readonly %x{i}"
            yield f"i64 %along{i}"
        for i in range(len(self.nest.stores)):
            yield f"ptr noalias %y{i}"
        for i in range(len(self.form.moves)):
            yield f"i64 %across{i}"

    def _buffer(self, name: str, fold: int) -> None:
        kind = memory_type(self.nest.code[fold].dtype)
        self.out.add(f"{name} = alloca [{WIDTH} x {kind}], align {_ALIGNMENT}")

    def _each(self, low: str, high: str, step: str, body: Callable[[str], None]) -> None:
        """Write a loop; ``body`` is given the name of its counter."""
        out = self.out
        tag = out.counter = out.counter + 1
        before, index = f"before{tag}", f"%at{tag}"
        out.add(f"br label %{before}")
        out.label(before)
        out.add(f"br label %head{tag}")
        out.label(f"head{tag}")
        out.add(f"{index} = phi i64 [ {low}, %{before} ], [ %next{tag}, %end{tag} ]")
        out.add(f"%more{tag} = icmp slt i64 {index}, {high}")
        out.add(f"br i1 %more{tag}, label %body{tag}, label %after{tag}")
        out.label(f"body{tag}")
        body(index)
        out.add(f"br label %end{tag}")
        out.label(f"end{tag}")
        out.add(f"%next{tag} = add nsw i64 {index}, {step}")
        out.add(f"br label %head{tag}")
        out.label(f"after{tag}")

    def _least(self, x: str, y: str) -> str:
        self.out.declared.add("i64 @llvm.smin.i64(i64, i64)")
        return self.out.step(f"call i64 @llvm.smin.i64(i64 {x}, i64 {y})")

    def _block(self, first: str) -> None:
        """Fold up to `WIDTH` columns."""
        out = self.out
        width = self._least(out.step(f"sub nsw i64 %m, {first}"), str(WIDTH))
        self._each("0", width, "1", lambda j: self._begin(first, j))
        if self.sums:
            self._each("0", "%n", str(CHUNK), lambda start: self._piece(first, width, start))
        else:
            self._each("0", "%n", "1", lambda k: self._along(first, width, k))
        self._each("0", width, "1", lambda j: self._end(first, j))

    def _piece(self, first: str, width: str, start: str) -> None:
        """Sum up to `CHUNK` places of the columns, and add that to the totals."""
        end = self._least(self.out.step(f"add nsw i64 {start}, {CHUNK}"), "%n")
        self._each("0", width, "1", self._clear)
        self._each(start, end, "1", lambda k: self._along(first, width, k))
        self._each("0", width, "1", self._add)

    def _clear(self, column: str) -> None:
        for fold in self.sums:
            dtype = self.nest.code[fold].dtype
            self.out.store(dtype, number(0.0, dtype), self._place("piece", fold, column))

    def _add(self, column: str) -> None:
        out = self.out
        for fold in self.sums:
            dtype = self.nest.code[fold].dtype
            total = self._place("total", fold, column)
            piece = out.load(dtype, self._place("piece", fold, column))
            out.store(dtype, out.fold("add", dtype, out.load(dtype, total), piece), total)

    def _along(self, first: str, width: str, place: str) -> None:
        self._each("0", width, "1", lambda j: self._fold(first, j, place))

    def _begin(self, first: str, column: str) -> None:
        names = self._once(0, {}, self._reader(first, column, "0"))
        for fold in self.folds:
            instruction = self.nest.code[fold]
            start = names[instruction.args[1]]
            self.out.store(instruction.dtype, start, self._place("total", fold, column))

    def _fold(self, first: str, column: str, place: str) -> None:
        load = self._reader(first, column, place)
        names = self._once(0, {}, load)
        for index in self.plan.loops[0].compute:
            names[index] = emit(self.out, self.nest, index, names, load)
        for fold in self.folds:
            instruction = self.nest.code[fold]
            kept = self._place("piece" if fold in self.sums else "total", fold, column)
            running = self.out.load(instruction.dtype, kept)
            value = names[instruction.args[0]]
            new = self.out.fold(str(instruction.detail), instruction.dtype, running, value)
            self.out.store(instruction.dtype, new, kept)

    def _end(self, first: str, column: str) -> None:
        load = self._reader(first, column, "0")
        names = self._once(0, {}, load)
        for fold in self.folds:
            dtype = self.nest.code[fold].dtype
            names[fold] = self.out.load(dtype, self._place("total", fold, column))
        names = self._once(1, names, load)
        for index, store in enumerate(self.nest.stores):
            number_ = len(self.nest.accesses) + index
            target = self._moved(f"%y{index}", number_, store.dtype.itemsize, first, column)
            self.out.store(store.dtype, names[store.value], target)

    def _once(
        self, part: int, names: Mapping[int, str], load: Callable[[int], str]
    ) -> dict[int, str]:
        """Write what runs once a row, before or after its folds."""
        found = dict(names)
        for index in self.plan.once[part]:
            found[index] = emit(self.out, self.nest, index, found, load)
        return found

    def _reader(self, first: str, column: str, place: str) -> Callable[[int], str]:
        def load(access: int) -> str:
            given, out = self.nest.accesses[access], self.out
            base = f"%x{access}"
            if given.inner is not Inner.ZERO:
                distance = out.step(f"mul nsw i64 {place}, %along{access}")
                base = out.step(f"getelementptr inbounds i8, ptr {base}, i64 {distance}")
            pointer = self._moved(base, access, given.dtype.itemsize, first, column)
            return out.load(given.dtype, pointer)

        return load

    def _moved(self, base: str, move: int, itemsize: int, first: str, column: str) -> str:
        """Return where a move is at a column."""
        out = self.out
        match self.form.moves[move]:
            case Inner.ZERO:
                return base
            case Inner.UNIT:
                step = str(itemsize)
            case Inner.STRIDED:
                step = f"%across{move}"
        begin = out.step(f"mul nsw i64 {first}, {step}")
        begin = out.step(f"getelementptr inbounds i8, ptr {base}, i64 {begin}")
        offset = out.step(f"mul nsw i64 {column}, {step}")
        return out.step(f"getelementptr inbounds i8, ptr {begin}, i64 {offset}")

    def _place(self, buffer: str, fold: int, column: str) -> str:
        return self.out.offset(f"%{buffer}{fold}", self.nest.code[fold].dtype, column)


__all__ = ["LEAST", "SHORT", "WIDTH", "ColumnForm", "ColumnPrinter", "column_form"]
