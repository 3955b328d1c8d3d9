"""Prints a loop nest in a dialect of C that compiles as C++, CUDA and OpenCL.

A kernel is ``void name(char *p0, …, char *scratch, const i64 *block, i64 low, i64 high)``: a
pointer for each access and result, scratch rows for each thread if the nest wants any, then the
block of `loops.layout`, whose addresses are not read. Threads share the places of the loops among
them: every element where nothing is folded, else every row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from reference_vm.loops.c_prelude import PRELUDE
from reference_vm.loops.code import Instruction
from reference_vm.loops.layout import layout
from reference_vm.loops.nest import Inner, Nest
from reference_vm.loops.schedule import RowLoop, Schedule, schedule
from reference_vm.types.dtype import BF16, F16, F32, DType, Kind

_COMPARE: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ARITHMETIC: Final = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_BITWISE: Final = {"and": "&", "or": "|", "xor": "^"}
_FUNCTIONS: Final = {"abs": "fabs", "round": "rint"}
"""Where C has another name than `loops.code`."""


def print_c(nest: Nest, name: str) -> str:
    """Return the text of a kernel called ``name``, with all that it needs."""
    plan = schedule(nest)
    row = _Row(nest, name, plan)
    return "\n".join([PRELUDE, *row.lines(), "", *_kernel(nest, name, plan), ""])


def _value_type(dtype: DType) -> str:
    """The C type of a value; bools are ``u8``, f16 and bf16 are their bits."""
    if dtype.is_bool:
        return "u8"
    return "u16" if dtype in (F16, BF16) else dtype.name


def _literal(value: object, dtype: DType) -> str:
    if dtype.is_bool:
        return "1" if value else "0"
    if isinstance(value, float):
        return _float(value, dtype)
    assert isinstance(value, int)
    if dtype.kind is Kind.SIGNED and value == dtype.minimum:
        return f"(({dtype})(-{dtype.maximum}LL - 1))"
    suffix = "ULL" if dtype.kind is Kind.UNSIGNED else "LL"
    return f"(({dtype}){value}{suffix})"


def _float(value: float, dtype: DType) -> str:
    if math.isfinite(value):
        return f"({value.hex()}{'f' if dtype == F32 else ''})"
    if dtype == F32:
        bits = "0x7fc00000" if math.isnan(value) else "0x7f800000"
        return f"({'-' if value < 0 else ''}F32_OF_BITS({bits}))"
    bits = "0x7ff8000000000000" if math.isnan(value) else "0x7ff0000000000000"
    return f"({'-' if value < 0 else ''}F64_OF_BITS({bits}))"


@final
@dataclass
class _Row:
    """Prints the function that runs over one row."""

    nest: Nest
    name: str
    plan: Schedule
    names: dict[int, str] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        yield f"INLINE void {self.name}_row({', '.join(self._params())}) {{"
        for index, loop in enumerate(self.plan.loops):
            yield from self._once(self.plan.once[index])
            yield from self._loop(loop)
        yield from self._once(self.plan.once[-1])
        for index in self.plan.stores_once:
            store = self.nest.stores[index]
            yield f"  *y{index} = {self.names[store.value]};"
        yield "}"

    def _params(self) -> Iterator[str]:
        for i, access in enumerate(self.nest.accesses):
            yield f"GLOBAL const {_value_type(access.dtype)} *x{i}"
        for i, store in enumerate(self.nest.stores):
            yield f"GLOBAL {_value_type(store.dtype)} *y{i}"
        for i, value in enumerate(self.plan.scratch):
            yield f"GLOBAL {_value_type(self.nest.code[value].dtype)} *s{i}"
        for i, access in enumerate(self.nest.accesses):
            if access.inner is Inner.STRIDED:
                yield f"i64 step{i}"
        yield "i64 n"

    def _once(self, instructions: Sequence[int]) -> Iterator[str]:
        for index in instructions:
            yield from self._define(index, self.names, "  ")

    def _loop(self, loop: RowLoop) -> Iterator[str]:
        for fold in loop.folds:
            instruction = self.nest.code[fold]
            first = self.names[instruction.args[1]]
            yield f"  {_value_type(instruction.dtype)} v{fold} = {first};"
            self.names[fold] = f"v{fold}"
        yield "  for (i64 i = 0; i < n; i++) {"
        local = dict(self.names)
        for value in loop.recalled:
            dtype = self.nest.code[value].dtype
            yield f"    {_value_type(dtype)} v{value} = s{self.plan.scratch.index(value)}[i];"
            local[value] = f"v{value}"
        for index in loop.compute:
            yield from self._define(index, local, "    ")
        for value in loop.kept:
            yield f"    s{self.plan.scratch.index(value)}[i] = {local[value]};"
        for index in loop.stores:
            yield f"    y{index}[i] = {local[self.nest.stores[index].value]};"
        for fold in loop.folds:
            instruction = self.nest.code[fold]
            yield f"    {self._fold(fold, instruction, local[instruction.args[0]])}"
        yield "  }"

    @staticmethod
    def _fold(index: int, instruction: Instruction, value: str) -> str:
        total, op = f"v{index}", str(instruction.detail)
        if op in _ARITHMETIC:
            args = [total, value]
            return f"{total} = {_arithmetic(op, instruction.dtype, args)};"
        better = f"{value} {'>' if op == 'max' else '<'} {total}"
        if instruction.dtype.is_float:
            better = f"{better} || {value} != {value}"
        return f"if ({better}) {total} = {value};"

    def _define(self, index: int, names: dict[int, str], margin: str) -> Iterator[str]:
        instruction = self.nest.code[index]
        if instruction.op == "literal":
            names[index] = _literal(instruction.detail, instruction.dtype)
            return
        if instruction.op == "count":
            names[index] = "n"
            return
        names[index] = f"v{index}"
        text = self._spell(instruction, [names[a] for a in instruction.args])
        yield f"{margin}{_value_type(instruction.dtype)} v{index} = {text};"

    def _spell(self, instruction: Instruction, args: list[str]) -> str:
        op, dtype = instruction.op, instruction.dtype
        source = self.nest.code[instruction.args[0]].dtype if instruction.args else dtype
        match op:
            case "load":
                assert isinstance(instruction.detail, int)
                return self._load(instruction.detail)
            case "select":
                return f"{args[0]} ? {args[1]} : {args[2]}"
            case "cast":
                return _cast(args[0], source, dtype)
            case "bitcast":
                name = f"BITS_OF_{source.name.upper()}" if source.is_float else None
                return f"{name or f'{dtype.name.upper()}_OF_BITS'}({args[0]})"
            case "call":
                return f"{instruction.detail}({', '.join(args)})"
        if op in _COMPARE:
            return f"{args[0]} {_COMPARE[op]} {args[1]}"
        return _arithmetic(op, source, args)

    def _load(self, number: int) -> str:
        access, pointer = self.nest.accesses[number], f"x{number}"
        if access.inner is Inner.UNIT:
            loaded = f"{pointer}[i]"
        elif access.inner is Inner.ZERO:
            loaded = f"*{pointer}"
        else:
            kind = f"GLOBAL const {_value_type(access.dtype)} *"
            loaded = f"*({kind})((GLOBAL const char *){pointer} + i * step{number})"
        return f"({loaded}) != 0" if access.dtype.is_bool else loaded


def _arithmetic(op: str, dtype: DType, args: list[str]) -> str:
    if dtype.is_float:
        if op == "neg":
            return f"-{args[0]}"
        if op in _ARITHMETIC:
            return f"{args[0]} {_ARITHMETIC[op]} {args[1]}"
        function = _FUNCTIONS.get(op, op)
        return f"{function}{'f' if dtype == F32 else ''}({', '.join(args)})"
    return _integer(op, dtype, args)


def _integer(op: str, dtype: DType, args: list[str]) -> str:
    """Whole numbers wrap: they are computed without sign, where C defines it."""
    kind = _value_type(dtype)
    wide = "u64" if dtype.bits == 64 else "u32"
    match op:
        case "neg":
            return f"({kind})(0 - ({wide}){args[0]})"
        case "not":
            return f"!{args[0]}" if dtype.is_bool else f"({kind})~{args[0]}"
        case "abs":
            return f"{args[0]} < 0 ? ({kind})(0 - ({wide}){args[0]}) : {args[0]}"
        case "sdiv" | "srem":
            return f"({kind})({args[0]} {'/' if op == 'sdiv' else '%'} {args[1]})"
        case "shl":
            return f"({kind})(({wide}){args[0]} << {args[1]})"
        case "shr":
            return f"({kind})({args[0]} >> {args[1]})"
    sign = _ARITHMETIC.get(op) or _BITWISE[op]
    return f"({kind})(({wide}){args[0]} {sign} ({wide}){args[1]})"


def _cast(value: str, source: DType, target: DType) -> str:
    if source in (F16, BF16):
        value, source = f"from_{source}({value})", F32
    if target not in (F16, BF16):
        return value if target == source else f"({target}){value}"
    return f"to_{target}({value})"


def _kernel(nest: Nest, name: str, plan: Schedule) -> Iterator[str]:
    """The entry: shares the places among threads, and finds where each one's elements are."""
    place = layout(nest)
    inner = place.loops - 1
    alone = nest.row_axes == 0
    params = [f"GLOBAL char *p{i}" for i in range(place.moves)]
    params += ["GLOBAL char *scratch"] if plan.scratch else []
    yield f"KERNEL void {name}({', '.join(params)}, GLOBAL const i64 *block, i64 low, i64 high) {{"
    if not alone:
        yield f"  i64 n = block[{place.rounds + inner}];"
    loops = list(range(place.loops if alone else inner))
    first = f"block[{place.flat}] ? {inner} : 0" if alone else "0"
    yield f"  i64 first = {first};"
    yield "  i64 places = high - low;"
    for loop in loops:
        yield f"  if (first < {loop}) places *= block[{place.rounds + loop}];"
    yield "  for (i64 place = THREAD; place < places; place += THREADS) {"
    yield "    i64 rest = place;"
    for loop in reversed(loops):
        rounds = f"block[{place.rounds + loop}]"
        inside = f"first > {loop} ? 0 : rest % {rounds}"
        yield f"    i64 j{loop} = first == {loop} ? low + rest : {inside};"
        yield f"    if (first < {loop}) rest /= {rounds};"
    args = list(_places(nest, loops))
    for i, value in enumerate(plan.scratch):
        kind = _value_type(nest.code[value].dtype)
        row = f"THREAD * {len(plan.scratch)} + {i}"
        args.append(f"(GLOBAL {kind} *)(scratch + ({row}) * n * 8)")
    for i, access in enumerate(nest.accesses):
        if access.inner is Inner.STRIDED:
            args.append(f"block[{place.distance(i, inner)}]")
    yield f"    {name}_row({', '.join([*args, '1' if alone else 'n'])});"
    yield "  }"
    yield "}"


def _places(nest: Nest, loops: Sequence[int]) -> Iterator[str]:
    """Yield a pointer for each access and store, at the place of ``j0``, ``j1`` and so on."""
    place = layout(nest)
    kinds = [f"const {_value_type(a.dtype)}" for a in nest.accesses]
    kinds += [_value_type(s.dtype) for s in nest.stores]
    for move, kind in enumerate(kinds):
        offset = " + ".join(f"j{loop} * block[{place.distance(move, loop)}]" for loop in loops)
        yield f"(GLOBAL {kind} *)(p{move} + ({offset or '0'}))"
