"""Prints a loop nest as LLVM IR.

A kernel is two functions. ``@name`` reads the argument block (`loops.layout`) and runs the outer
loops; ``@name.row`` runs the loops over one row, called with a pointer for each access, store and
scratch row, because only arguments can be ``noalias``, and without that loops do not become vector
code.

No operation may be reordered or contracted, but for the additions and products of a fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

from reference_vm.loops.columns import LEAST, SHORT, ColumnForm, ColumnPrinter, column_form
from reference_vm.loops.layout import Layout, layout
from reference_vm.loops.llvm_code import CHUNK, CodeWriter, number, value_type
from reference_vm.loops.llvm_emit import emit
from reference_vm.loops.nest import Inner, Nest
from reference_vm.loops.schedule import RowLoop, Schedule, vector_schedule


@final
@dataclass(frozen=True, slots=True)
class _Range:
    """What a loop runs over, and the blocks before and after it."""

    low: str
    high: str
    before: str
    after: str


def print_llvm(nest: Nest, name: str) -> str:
    """Return an LLVM module that defines the kernel ``@name``."""
    writer = CodeWriter()
    plan = vector_schedule(nest)
    _RowPrinter(nest, name, plan, writer).print()
    columns = column_form(nest, plan)
    if columns is not None:
        ColumnPrinter(nest, name, plan, columns, writer).print()
    _KernelPrinter(nest, name, plan, writer, columns).print()
    return "\n".join([*writer.lines, *(f"declare {d}" for d in sorted(writer.declared)), ""])


@final
@dataclass
class _RowPrinter:
    """Prints the function that runs over one row."""

    nest: Nest
    name: str
    plan: Schedule
    out: CodeWriter
    names: dict[int, str] = field(default_factory=dict)
    """Of the values that do not depend on the place in the row."""

    def print(self) -> None:
        args = ", ".join((*self._pointers(), *self._strides(), "i64 %n"))
        head = f"define internal void @{self.name}.row({args}) noinline nounwind {{"
        self.out.lines += [head, "entry:"]
        before = "entry"
        for index, loop in enumerate(self.plan.loops):
            self._once(self.plan.once[index])
            self._loop(index, loop, before)
            before = f"done{index}"
        self._once(self.plan.once[-1])
        for index in self.plan.stores_once:
            store = self.nest.stores[index]
            self.out.store(store.dtype, self.names[store.value], f"%y{index}")
        self.out.add("ret void")
        self.out.lines += ["}", ""]

    def _pointers(self) -> Iterator[str]:
        for i in range(len(self.nest.accesses)):
            yield f"ptr noalias readonly %x{i}"
        for i in range(len(self.nest.stores)):
            yield f"ptr noalias %y{i}"
        for i in range(len(self.plan.scratch)):
            yield f"ptr noalias %s{i}"

    def _strides(self) -> Iterator[str]:
        for i, access in enumerate(self.nest.accesses):
            if access.inner is Inner.STRIDED:
                yield f"i64 %step{i}"

    def _once(self, instructions: Sequence[int]) -> None:
        for index in instructions:
            self._emit(index, self.names, "")

    def _loop(self, number_: int, loop: RowLoop, before: str) -> None:
        """Print one loop; its folds are known by name after it."""
        sums = [f for f in loop.folds if self._is_float_sum(f)]
        if not sums:
            first = {f: self.names[self.nest.code[f].args[1]] for f in loop.folds}
            self._plain_loop(number_, loop, _Range("0", "%n", before, f"done{number_}"), first)
            self.out.label(f"done{number_}")
        else:
            self._chunked_loop(number_, loop, before)
        for fold in loop.folds:
            self.names[fold] = f"%acc{fold}" if sums else f"%fold{fold}"

    def _is_float_sum(self, fold: int) -> bool:
        instruction = self.nest.code[fold]
        return instruction.detail == "add" and instruction.dtype.is_float

    def _chunked_loop(self, number_: int, loop: RowLoop, before: str) -> None:
        """Sum pieces of `CHUNK` elements, then the pieces: the error grows far slower."""
        out, tag = self.out, str(number_)
        after = f"pieced{tag}"
        out.add(f"br label %pieces{tag}")
        out.label(f"pieces{tag}")
        out.add(f"%c{tag} = phi i64 [ 0, %{before} ], [ %end{tag}, %{after} ]")
        first: dict[int, str] = {}
        for fold in loop.folds:
            kind, start = self._fold_start(fold)
            sums = self._is_float_sum(fold)
            update = f"%sum{fold}" if sums else f"%fold{fold}"
            out.add(f"%acc{fold} = phi {kind} [ {start}, %{before} ], [ {update}, %{after} ]")
            first[fold] = number(0.0, self.nest.code[fold].dtype) if sums else f"%acc{fold}"
        out.add(f"%left{tag} = icmp slt i64 %c{tag}, %n")
        out.add(f"br i1 %left{tag}, label %piece{tag}, label %done{tag}")
        out.label(f"piece{tag}")
        out.add(f"%far{tag} = add nsw i64 %c{tag}, {CHUNK}")
        out.declared.add("i64 @llvm.smin.i64(i64, i64)")
        out.add(f"%end{tag} = call i64 @llvm.smin.i64(i64 %far{tag}, i64 %n)")
        self._plain_loop(
            number_, loop, _Range(f"%c{tag}", f"%end{tag}", f"piece{tag}", after), first
        )
        out.label(after)
        for fold in loop.folds:
            if self._is_float_sum(fold):
                kind, _ = self._fold_start(fold)
                out.add(f"%sum{fold} = fadd {kind} %acc{fold}, %fold{fold}")
        out.add(f"br label %pieces{tag}")
        out.label(f"done{tag}")

    def _fold_start(self, fold: int) -> tuple[str, str]:
        """Return the LLVM type of a fold and the value it starts from."""
        instruction = self.nest.code[fold]
        return value_type(instruction.dtype), self.names[instruction.args[1]]

    def _plain_loop(
        self, number_: int, loop: RowLoop, over: _Range, first: Mapping[int, str]
    ) -> None:
        """Print a loop up to the jump out of it; ``first`` is what its folds start from."""
        out, place = self.out, f"%i{number_}"
        out.add(f"br label %head{number_}")
        out.label(f"head{number_}")
        out.add(
            f"{place} = phi i64 [ {over.low}, %{over.before} ], [ %next{number_}, %body{number_} ]"
        )
        phis_go_here = len(out.lines)
        out.add(f"%more{number_} = icmp slt i64 {place}, {over.high}")
        out.add(f"br i1 %more{number_}, label %body{number_}, label %{over.after}")
        out.label(f"body{number_}")
        updates = self._body(loop, place)
        out.add(f"%next{number_} = add nsw i64 {place}, 1")
        out.add(f"br label %head{number_}")
        phis: list[str] = []
        for fold, update in zip(loop.folds, updates, strict=True):
            kind, _ = self._fold_start(fold)
            incoming = f"[ {first[fold]}, %{over.before} ], [ {update}, %body{number_} ]"
            phis.append(f"  %fold{fold} = phi {kind} {incoming}")
        out.lines[phis_go_here:phis_go_here] = phis

    def _body(self, loop: RowLoop, place: str) -> list[str]:
        """Print what happens at one place; return the folds' new values."""
        out, nest, local = self.out, self.nest, dict(self.names)
        for value in loop.recalled:
            dtype = nest.code[value].dtype
            row = self.plan.scratch.index(value)
            local[value] = out.load(dtype, out.offset(f"%s{row}", dtype, place))
        for index in loop.compute:
            self._emit(index, local, place)
        for value in loop.kept:
            dtype = nest.code[value].dtype
            row = self.plan.scratch.index(value)
            out.store(dtype, local[value], out.offset(f"%s{row}", dtype, place))
        for index in loop.stores:
            store = nest.stores[index]
            pointer = out.offset(f"%y{index}", store.dtype, place)
            out.store(store.dtype, local[store.value], pointer)
        return [
            out.fold(
                str(nest.code[fold].detail),
                nest.code[fold].dtype,
                f"%fold{fold}",
                local[nest.code[fold].args[0]],
            )
            for fold in loop.folds
        ]

    def _emit(self, index: int, names: dict[int, str], place: str) -> None:
        names[index] = emit(self.out, self.nest, index, names, lambda a: self._load(a, place))

    def _load(self, access_number: int, place: str) -> str:
        access, pointer = self.nest.accesses[access_number], f"%x{access_number}"
        if access.inner is Inner.UNIT:
            pointer = self.out.offset(pointer, access.dtype, place)
        elif access.inner is Inner.STRIDED:
            offset = self.out.step(f"mul nsw i64 {place}, %step{access_number}")
            pointer = self.out.step(f"getelementptr inbounds i8, ptr {pointer}, i64 {offset}")
        return self.out.load(access.dtype, pointer)


@final
@dataclass
class _KernelPrinter:
    """Prints the entry, which reads the block and runs the outer loops."""

    nest: Nest
    name: str
    plan: Schedule
    out: CodeWriter
    columns: ColumnForm | None = None

    @cached_property
    def place(self) -> Layout:
        return layout(self.nest)

    def print(self) -> None:
        place, out = self.place, self.out
        head = f"define void @{self.name}(ptr noalias %block, i64 %low, i64 %high) nounwind {{"
        out.lines += [head, "entry:"]
        self.bases = [self._word(move, "ptr") for move in range(place.moves)]
        self.rounds = [self._word(place.rounds + loop) for loop in range(place.loops)]
        self.distances = [
            [self._word(place.distance(move, loop)) for loop in range(place.loops)]
            for move in range(place.moves)
        ]
        flat = out.step(f"icmp ne i64 {self._word(place.flat)}, 0")
        out.add(f"br i1 {flat}, label %whole, label %nested")
        self._flat()
        self._nested()
        out.label("leave")
        out.add("ret void")
        out.lines += ["}", ""]

    def _word(self, position: int, kind: str = "i64") -> str:
        pointer = self.out.step(f"getelementptr i64, ptr %block, i64 {position}")
        return self.out.step(f"load {kind}, ptr {pointer}")

    def _flat(self) -> None:
        """The case of one loop only: a part of it, from low to high."""
        self.out.label("whole")
        length = self.out.step("sub i64 %high, %low")
        self._row(self._advanced(self.bases, "%low", self.place.loops - 1), length)
        self.out.add("br label %leave")

    def _nested(self) -> None:
        """All outer loops, the first from low to high, around a call of the row function."""
        out, outer = self.out, self.place.loops - 1
        out.label("nested")
        together = self._folded_together(outer) if self.columns and outer else ""
        pointers = self.bases
        if outer:
            out.add("br label %loop0")
        for loop in range(outer):
            first, end = ("%low", "%high") if loop == 0 else ("0", self.rounds[loop])
            before = f"inside{loop - 1}" if loop else ("looping" if self.columns else "nested")
            leave = "leave" if loop == 0 else f"after{loop}"
            out.label(f"loop{loop}")
            out.add(f"%j{loop} = phi i64 [ {first}, %{before} ], [ %k{loop}, %step{loop} ]")
            out.add(f"%go{loop} = icmp slt i64 %j{loop}, {end}")
            out.add(f"br i1 %go{loop}, label %inside{loop}, label %{leave}")
            out.label(f"inside{loop}")
            pointers = self._advanced(pointers, f"%j{loop}", loop)
            if loop + 2 == outer and together:
                out.add(f"br i1 {together}, label %columns, label %loop{loop + 1}")
                out.label("columns")
                self._columns(pointers, loop + 1, self.rounds[loop + 1])
                out.add(f"br label %step{loop}")
            elif loop + 1 < outer:
                out.add(f"br label %loop{loop + 1}")
        self._row(pointers, self.rounds[outer])
        out.add(f"br label %step{outer - 1}" if outer else "br label %leave")
        for loop in reversed(range(outer)):
            out.label(f"step{loop}")
            out.add(f"%k{loop} = add nsw i64 %j{loop}, 1")
            out.add(f"br label %loop{loop}")
            if loop:
                out.label(f"after{loop}")
                out.add(f"br label %step{loop - 1}")

    def _folded_together(self, outer: int) -> str:
        """Fold all rows together if the first loop is the only one around them, and it pays.

        Returns:
            Whether to fold those of the last loop together, of several.
        """
        out, last = self.out, outer - 1
        sole = self._pays(0)
        if last:
            once = out.step(f"icmp eq i64 {self.rounds[last]}, 1")
            sole = out.step(f"and i1 {sole}, {once}")
        out.add(f"br i1 {sole}, label %every, label %several")
        out.label("every")
        length = out.step("sub i64 %high, %low")
        self._columns(self._advanced(self.bases, "%low", 0), 0, length)
        out.add("br label %leave")
        out.label("several")
        found = self._pays(last) if last else ""
        out.add("br label %looping")
        out.label("looping")
        return found

    def _pays(self, loop: int) -> str:
        """Return whether the rows of a loop are to be folded together.

        What was compiled as adjacent must be, and where something is not, rows must be short.
        """
        out, rounds, length = self.out, self.rounds[loop], self.rounds[-1]
        assert self.columns is not None
        found = out.step(f"icmp sge i64 {rounds}, {LEAST}")
        if not self.columns.are_adjacent:
            short = out.step(f"icmp sle i64 {length}, {SHORT}")
            found = out.step(f"and i1 {found}, {short}")
        dtypes = [*(a.dtype for a in self.nest.accesses), *(s.dtype for s in self.nest.stores)]
        for move, (dtype, along) in enumerate(zip(dtypes, self.columns.moves, strict=True)):
            if along is not Inner.STRIDED:
                step = dtype.itemsize if along is Inner.UNIT else 0
                fits = out.step(f"icmp eq i64 {self.distances[move][loop]}, {step}")
                found = out.step(f"and i1 {found}, {fits}")
        return found

    def _columns(self, pointers: Sequence[str], loop: int, count: str) -> None:
        """Fold ``count`` rows of a loop together."""
        accesses = len(self.nest.accesses)
        args: list[str] = []
        for i, pointer in enumerate(pointers):
            args.append(f"ptr {pointer}")
            if i < accesses:
                args.append(f"i64 {self.distances[i][-1]}")
        args += [f"i64 {self.distances[move][loop]}" for move in range(len(pointers))]
        args += [f"i64 {self.rounds[-1]}", f"i64 {count}"]
        self.out.add(f"call void @{self.name}.columns({', '.join(args)})")

    def _advanced(self, pointers: Sequence[str], index: str, loop: int) -> list[str]:
        """Return pointers moved on by ``index`` rounds of a loop."""
        found: list[str] = []
        for move, pointer in enumerate(pointers):
            offset = self.out.step(f"mul i64 {index}, {self.distances[move][loop]}")
            found.append(self.out.step(f"getelementptr i8, ptr {pointer}, i64 {offset}"))
        return found

    def _row(self, pointers: Sequence[str], length: str) -> None:
        """Call the row function; scratch rows follow one another, 8 bytes an element."""
        args = [f"ptr {p}" for p in pointers]
        if self.plan.scratch:
            row, size = self._word(self.place.scratch, "ptr"), self.out.step(f"shl i64 {length}, 3")
            for _ in self.plan.scratch:
                args.append(f"ptr {row}")
                row = self.out.step(f"getelementptr i8, ptr {row}, i64 {size}")
        for i, access in enumerate(self.nest.accesses):
            if access.inner is Inner.STRIDED:
                args.append(f"i64 {self.distances[i][-1]}")
        self.out.add(f"call void @{self.name}.row({', '.join([*args, f'i64 {length}'])})")
