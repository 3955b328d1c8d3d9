"""Prints a loop nest as LLVM IR.

A kernel is two functions. ``@name`` reads the argument block (`loops.layout`) and runs the outer
loops; ``@name.row`` is the innermost one, called with a pointer for each access and store, because
only arguments can be ``noalias``, and without that loops do not become vector code.

No operation may be reordered or contracted, but for the additions of a fold.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

from reference_vm.loops.code import Instruction
from reference_vm.loops.layout import Layout, layout
from reference_vm.loops.nest import Inner, Nest
from reference_vm.types.dtype import BF16, F16, F32, F64, DType, Kind

Step: TypeAlias = Callable[[str], str]
"""Appends an instruction and returns the name of its result."""

_FLOATS: Final = {F16: "half", BF16: "i16", F32: "float", F64: "double"}
_FLOAT_OPS: Final = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "fmod": "frem"}
_INTEGER_OPS: Final = {"add", "sub", "mul", "and", "or", "xor", "shl"}
_INTRINSICS: Final = {
    "abs": "fabs",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "round": "rint",
    "trunc": "trunc",
    "fma": "fma",
    "copysign": "copysign",
}
_FLOAT_COMPARE: Final = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt"} | {
    "ge": "oge"
}


def print_llvm(nest: Nest, name: str) -> str:
    """Return an LLVM module that defines the kernel ``@name``."""
    printer = _Printer(nest, name)
    lines = [*printer.row(), "", *printer.kernel(), ""]
    declared = [f"declare {d}" for d in sorted(printer.declared)]
    return "\n".join([*lines, *declared, ""])


def value_type(dtype: DType) -> str:
    """Return the LLVM type of a value in a register; bf16 is its 16 bits."""
    if dtype.is_bool:
        return "i1"
    return f"i{dtype.bits}" if dtype.is_integer else _FLOATS[dtype]


def _memory_type(dtype: DType) -> str:
    return "i8" if dtype.is_bool else value_type(dtype)


def _conversion(source: DType, target: DType) -> str:
    """Return the instruction that converts between two dtypes that are not bf16."""
    signed = source.kind is Kind.SIGNED
    if source.is_float:
        if target.is_float:
            return "fpext" if target.bits > source.bits else "fptrunc"
        return "fptosi" if target.kind is Kind.SIGNED else "fptoui"
    if target.is_float:
        return "sitofp" if signed else "uitofp"
    width = 1 if source.is_bool else source.bits
    if target.bits < width:
        return "trunc"
    if target.bits == width:
        return "bitcast"
    return "sext" if signed else "zext"


def _number(value: object, dtype: DType) -> str:
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_integer:
        assert isinstance(value, int)
        return str(value)
    assert isinstance(value, float), (value, dtype)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


@final
@dataclass
class _Printer:
    nest: Nest
    name: str
    declared: set[str] = field(default_factory=set)
    counter: int = 0

    @property
    def place(self) -> Layout:
        return layout(self.nest)

    def fresh(self) -> str:
        self.counter += 1
        return f"%t{self.counter}"

    # -- the innermost loop

    def row(self) -> list[str]:
        """The function that runs over one row, a loop for each phase."""
        body: list[str] = ["entry:"]
        names: dict[int, str] = {}
        last = max((*self.nest.phases, *()), default=0)
        before = "entry"
        for phase in range(last + 1):
            body += self._once_a_row(phase, names)
            if loop := self._phase(phase, before, names):
                body += loop
                before = f"done{phase}"
        body += self._stores(once=True, names=names)
        args = ", ".join((*self._pointers(), *self._strides(), "i64 %n"))
        head = f"define internal void @{self.name}.row({args}) noinline nounwind {{"
        return [head, *body, "  ret void", "}"]

    def _pointers(self) -> Iterable[str]:
        for i in range(len(self.nest.accesses)):
            yield f"ptr noalias readonly %x{i}"
        for i in range(len(self.nest.stores)):
            yield f"ptr noalias %y{i}"

    def _strides(self) -> Iterable[str]:
        for i, access in enumerate(self.nest.accesses):
            if access.inner is Inner.STRIDED:
                yield f"i64 %step{i}"

    def _once_a_row(self, phase: int, names: dict[int, str]) -> list[str]:
        """What does not depend on the place in the row and has become known by this phase."""
        lines: list[str] = []
        for index, instruction in enumerate(self.nest.code):
            ready = self.nest.phases[index] == phase and not self.nest.per_element[index]
            if ready and instruction.op != "fold":
                self._emit(index, instruction, names, lines)
        return lines

    def _phase(self, phase: int, before: str, names: dict[int, str]) -> list[str]:
        """The loop in which folds of this phase run, and the stores once there are no more."""
        nest = self.nest
        folds = [
            i for i, c in enumerate(nest.code) if c.op == "fold" and nest.phases[i] == phase + 1
        ]
        last = phase == max(nest.phases, default=0)
        stored = [s.value for s in nest.stores if s.inner is not Inner.ZERO] if last else []
        if not folds and not stored:
            return []
        inside: list[str] = []
        local = dict(names)
        self._emit_needed([*(nest.code[f].args[0] for f in folds), *stored], local, inside)
        updates = [self._fold(f, local, inside) for f in folds]
        stores = self._stores(once=False, names=local) if last else []
        phis = [
            self._fold_phi(f, u, before, phase, names) for f, u in zip(folds, updates, strict=True)
        ]
        for fold_index in folds:
            names[fold_index] = f"%fold{fold_index}"
        return [
            f"  br label %head{phase}",
            f"head{phase}:",
            f"  %i{phase} = phi i64 [ 0, %{before} ], [ %next{phase}, %body{phase} ]",
            *phis,
            f"  %more{phase} = icmp slt i64 %i{phase}, %n",
            f"  br i1 %more{phase}, label %body{phase}, label %done{phase}",
            f"body{phase}:",
            *(line.replace("%i.", f"%i{phase}") for line in (*inside, *stores)),
            f"  %next{phase} = add nsw i64 %i{phase}, 1",
            f"  br label %head{phase}",
            f"done{phase}:",
        ]

    def _fold_phi(
        self, fold_index: int, update: str, before: str, phase: int, names: dict[int, str]
    ) -> str:
        instruction = self.nest.code[fold_index]
        kind, first = value_type(instruction.dtype), names[instruction.args[1]]
        return (
            f"  %fold{fold_index} = phi {kind} [ {first}, %{before} ], [ {update}, %body{phase} ]"
        )

    def _fold(self, index: int, names: dict[int, str], lines: list[str]) -> str:
        """Emit one step of a fold; return the new value."""
        instruction = self.nest.code[index]
        kind, value = value_type(instruction.dtype), names[instruction.args[0]]
        running, result = f"%fold{index}", self.fresh()
        op = str(instruction.detail)
        if op in ("add", "mul"):
            flags = "reassoc " if instruction.dtype.is_float else ""
            spelled = f"f{op} {flags}" if instruction.dtype.is_float else f"{op} "
            lines.append(f"  {result} = {spelled}{kind} {running}, {value}")
        else:
            intrinsic = self._extreme(op, instruction.dtype)
            lines.append(f"  {result} = call {kind} @{intrinsic}({kind} {running}, {kind} {value})")
        return result

    def _extreme(self, op: str, dtype: DType) -> str:
        kind = value_type(dtype)
        if dtype.is_float:
            name = f"llvm.{op}imum.f{dtype.bits}"
        else:
            name = f"llvm.{'s' if dtype.kind is Kind.SIGNED else 'u'}{op}.{kind}"
        self.declared.add(f"{kind} @{name}({kind}, {kind})")
        return name

    def _emit_needed(self, wanted: Sequence[int], names: dict[int, str], lines: list[str]) -> None:
        """Emit what the wanted instructions need and has no name yet, in order."""
        needed: set[int] = set()
        stack = [w for w in wanted if w not in names]
        while stack:
            top = stack.pop()
            if top not in needed and top not in names:
                needed.add(top)
                stack.extend(self.nest.code[top].args)
        for index in sorted(needed):
            self._emit(index, self.nest.code[index], names, lines)

    def _stores(self, once: bool, names: dict[int, str]) -> list[str]:
        lines: list[str] = []
        for i, store in enumerate(self.nest.stores):
            if (store.inner is Inner.ZERO) != once:
                continue
            value = names[store.value]
            if store.dtype.is_bool:
                wide = self.fresh()
                lines.append(f"  {wide} = zext i1 {value} to i8")
                value = wide
            pointer = f"%y{i}"
            if not once:
                pointer = self.fresh()
                step = self._element(store.dtype)
                lines.append(f"  {pointer} = getelementptr inbounds {step}, ptr %y{i}, i64 %i.")
            lines.append(f"  store {_memory_type(store.dtype)} {value}, ptr {pointer}")
        return lines

    @staticmethod
    def _element(dtype: DType) -> str:
        return _memory_type(dtype)

    # -- instructions

    def _emit(
        self, index: int, instruction: Instruction, names: dict[int, str], lines: list[str]
    ) -> None:
        if instruction.op == "literal":
            names[index] = _number(instruction.detail, instruction.dtype)
        elif instruction.op == "count":
            names[index] = "%n"
        elif instruction.op == "load":
            names[index] = self._load(instruction, lines)
        else:
            args = [names[a] for a in instruction.args]
            from_ = self.nest.code[instruction.args[0]].dtype
            names[index] = self._compute(instruction, args, from_, lines)

    def _load(self, instruction: Instruction, lines: list[str]) -> str:
        assert isinstance(instruction.detail, int)
        number = instruction.detail
        access, kind = self.nest.accesses[number], _memory_type(instruction.dtype)
        pointer = f"%x{number}"
        if access.inner is not Inner.ZERO:
            pointer, step, offset = self.fresh(), kind, "%i."
            if access.inner is Inner.STRIDED:
                step, offset = "i8", self.fresh()
                lines.append(f"  {offset} = mul nsw i64 %i., %step{number}")
            lines.append(
                f"  {pointer} = getelementptr inbounds {step}, ptr %x{number}, i64 {offset}"
            )
        value = self.fresh()
        lines.append(f"  {value} = load {kind}, ptr {pointer}")
        if not instruction.dtype.is_bool:
            return value
        truth = self.fresh()
        lines.append(f"  {truth} = icmp ne i8 {value}, 0")
        return truth

    def _compute(
        self, instruction: Instruction, args: list[str], from_: DType, lines: list[str]
    ) -> str:
        if instruction.op == "cast":
            return self._cast(args[0], from_, instruction.dtype, lines)
        result = self.fresh()
        lines.append(f"  {result} = {self._spell(instruction, args, from_)}")
        return result

    def _spell(self, instruction: Instruction, args: list[str], from_: DType) -> str:
        op, kind, own = instruction.op, value_type(from_), value_type(instruction.dtype)
        match op:
            case "select":
                return f"select i1 {args[0]}, {own} {args[1]}, {own} {args[2]}"
            case "bitcast":
                return f"bitcast {kind} {args[0]} to {own}"
            case "call":
                return self._library(str(instruction.detail), args)
            case "eq" | "ne" | "lt" | "le" | "gt" | "ge":
                return self._compare(op, from_, args)
        if from_.is_float:
            return self._float(op, kind, from_, args)
        return self._integer(op, kind, from_, args)

    def _float(self, op: str, kind: str, dtype: DType, args: list[str]) -> str:
        if op == "neg":
            return f"fneg {kind} {args[0]}"
        if op in _FLOAT_OPS:
            return f"{_FLOAT_OPS[op]} {kind} {args[0]}, {args[1]}"
        name = f"llvm.{_INTRINSICS[op]}.f{dtype.bits}"
        self.declared.add(f"{kind} @{name}({', '.join([kind] * len(args))})")
        return f"call {kind} @{name}({', '.join(f'{kind} {a}' for a in args)})"

    def _integer(self, op: str, kind: str, dtype: DType, args: list[str]) -> str:
        signed = dtype.kind is Kind.SIGNED
        match op:
            case "neg":
                return f"sub {kind} 0, {args[0]}"
            case "not":
                return f"xor {kind} {args[0]}, {'true' if dtype.is_bool else '-1'}"
            case "abs":
                name = f"llvm.abs.{kind}"
                self.declared.add(f"{kind} @{name}({kind}, i1)")
                return f"call {kind} @{name}({kind} {args[0]}, i1 false)"
            case "sdiv" | "srem":
                spelled = op if signed else op.replace("s", "u", 1)
            case "shr":
                spelled = "ashr" if signed else "lshr"
            case _:
                assert op in _INTEGER_OPS, op
                spelled = op
        return f"{spelled} {kind} {args[0]}, {args[1]}"

    def _compare(self, op: str, dtype: DType, args: list[str]) -> str:
        kind = value_type(dtype)
        if dtype.is_float:
            return f"fcmp {_FLOAT_COMPARE[op]} {kind} {args[0]}, {args[1]}"
        sign = "" if op in ("eq", "ne") else ("s" if dtype.kind is Kind.SIGNED else "u")
        return f"icmp {sign}{op} {kind} {args[0]}, {args[1]}"

    def _library(self, function: str, args: list[str]) -> str:
        self.declared.add(f"double @{function}({', '.join(['double'] * len(args))}) nounwind")
        return f"call double @{function}({', '.join(f'double {a}' for a in args)})"

    def _cast(self, value: str, source: DType, target: DType, lines: list[str]) -> str:
        def step(text: str) -> str:
            result = self.fresh()
            lines.append(f"  {result} = {text}")
            return result

        if source == BF16:
            bits = step(f"zext i16 {value} to i32")
            value, source = step(f"bitcast i32 {step(f'shl i32 {bits}, 16')} to float"), F32
        if target == source:
            return value
        if target == BF16:
            single = value if source == F32 else self._cast(value, source, F32, lines)
            return self._to_bf16(single, step)
        return step(
            f"{_conversion(source, target)} {value_type(source)} {value} to {value_type(target)}"
        )

    def _to_bf16(self, value: str, step: Step) -> str:
        """Round to nearest, ties to even; NaN becomes a quiet one with its sign."""
        bits = step(f"bitcast float {value} to i32")
        high = step(f"lshr i32 {bits}, 16")
        odd = step(f"and i32 {high}, 1")
        rounding = step(f"add i32 {odd}, 32767")
        rounded = step(f"lshr i32 {step(f'add i32 {bits}, {rounding}')}, 16")
        quiet = step(f"or i32 {high}, 64")
        nan = step(f"fcmp uno float {value}, {value}")
        chosen = step(f"select i1 {nan}, i32 {quiet}, i32 {rounded}")
        return step(f"trunc i32 {chosen} to i16")

    # -- the loops around it

    def kernel(self) -> list[str]:
        """The entry: reads the block, runs the outer loops."""
        nest, place = self.nest, self.place
        lines = [
            f"define void @{self.name}(ptr noalias %block, i64 %low, i64 %high) nounwind {{",
            "entry:",
        ]
        moves = [a.input for a in nest.accesses]
        moves += [nest.inputs + s.output for s in nest.stores]
        for move, parameter in enumerate(moves):
            lines += self._word(f"%base{move}", parameter, "ptr")
        for loop in range(place.loops):
            lines += self._word(f"%rounds{loop}", place.rounds + loop)
            for move in range(place.moves):
                lines += self._word(f"%d{move}.{loop}", place.distance(move, loop))
        lines += self._word("%flat", place.flat)
        lines += self._flat()
        lines += self._nested()
        return [*lines, "leave:", "  ret void", "}"]

    def _word(self, name: str, position: int, kind: str = "i64") -> list[str]:
        pointer = self.fresh()
        return [
            f"  {pointer} = getelementptr i64, ptr %block, i64 {position}",
            f"  {name} = load {kind}, ptr {pointer}",
        ]

    def _flat(self) -> list[str]:
        """The case of one loop only: a part of it, from low to high."""
        inner = self.place.loops - 1
        lines = [
            "  %isflat = icmp ne i64 %flat, 0",
            "  br i1 %isflat, label %whole, label %nested",
            "whole:",
            "  %length = sub i64 %high, %low",
        ]
        pointers = []
        for move in range(self.place.moves):
            offset, pointer = self.fresh(), self.fresh()
            lines.append(f"  {offset} = mul i64 %low, %d{move}.{inner}")
            lines.append(f"  {pointer} = getelementptr i8, ptr %base{move}, i64 {offset}")
            pointers.append(pointer)
        return [*lines, self._call_row(pointers, "%length"), "  br label %leave"]

    def _nested(self) -> list[str]:
        """All outer loops, the first from low to high, around a call of the row function."""
        outer = self.place.loops - 1
        if not outer:
            pointers = [f"%base{m}" for m in range(self.place.moves)]
            return ["nested:", self._call_row(pointers, "%rounds0"), "  br label %leave"]
        opened: list[str] = ["nested:", "  br label %loop0"]
        closed: list[str] = []
        pointers = [f"%base{m}" for m in range(self.place.moves)]
        for loop in range(outer):
            first, end = ("%low", "%high") if loop == 0 else ("0", f"%rounds{loop}")
            before = "nested" if loop == 0 else f"inside{loop - 1}"
            leave = "leave" if loop == 0 else f"after{loop}"
            lines, pointers = self._advance(pointers, loop)
            opened += [
                f"loop{loop}:",
                f"  %j{loop} = phi i64 [ {first}, %{before} ], [ %k{loop}, %step{loop} ]",
                f"  %go{loop} = icmp slt i64 %j{loop}, {end}",
                f"  br i1 %go{loop}, label %inside{loop}, label %{leave}",
                f"inside{loop}:",
                *lines,
            ]
            opened += [f"  br label %loop{loop + 1}"] if loop + 1 < outer else []
            tail = [
                f"step{loop}:",
                f"  %k{loop} = add nsw i64 %j{loop}, 1",
                f"  br label %loop{loop}",
            ]
            after = [f"after{loop}:", f"  br label %step{loop - 1}"] if loop else []
            closed = [*tail, *after, *closed]
        call = [self._call_row(pointers, f"%rounds{outer}"), f"  br label %step{outer - 1}"]
        return [*opened, *call, *closed]

    def _advance(self, pointers: list[str], loop: int) -> tuple[list[str], list[str]]:
        lines: list[str] = []
        advanced: list[str] = []
        for move, pointer in enumerate(pointers):
            offset, result = self.fresh(), self.fresh()
            lines.append(f"  {offset} = mul i64 %j{loop}, %d{move}.{loop}")
            lines.append(f"  {result} = getelementptr i8, ptr {pointer}, i64 {offset}")
            advanced.append(result)
        return lines, advanced

    def _call_row(self, pointers: Sequence[str], length: str) -> str:
        inner = self.place.loops - 1
        args = [f"ptr {p}" for p in pointers]
        for i, access in enumerate(self.nest.accesses):
            if access.inner is Inner.STRIDED:
                args.append(f"i64 %d{i}.{inner}")
        return f"  call void @{self.name}.row({', '.join([*args, f'i64 {length}'])})"
