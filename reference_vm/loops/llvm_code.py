"""Spells instructions of `loops.code` as LLVM IR."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, final

from reference_vm.loops.code import Instruction
from reference_vm.types.dtype import BF16, BOOL, F32, INTEGERS, DType, Kind

_TYPES: Final = {
    **{d.name: f"i{d.bits}" for d in INTEGERS},
    "bool": "i1",
    "f16": "half",
    "bf16": "i16",
    "f32": "float",
    "f64": "double",
}
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
_FLOAT_COMPARE: Final = {
    "eq": "oeq",
    "ne": "une",
    "lt": "olt",
    "le": "ole",
    "gt": "ogt",
    "ge": "oge",
}

CHUNK: Final = 4096
"""Elements that are summed before their sum is added to the total: the error grows far slower."""


def value_type(dtype: DType) -> str:
    """Return the LLVM type of a value in a register; bf16 is its 16 bits."""
    return _TYPES[dtype.name]


def memory_type(dtype: DType) -> str:
    return "i8" if dtype is BOOL else _TYPES[dtype.name]


def number(value: object, dtype: DType) -> str:
    """Return a literal; floats by the bits of the f64 that they are exactly."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_integer:
        assert isinstance(value, int)
        return str(value)
    assert isinstance(value, float), (value, dtype)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


@final
@dataclass
class CodeWriter:
    """Writes lines of one module; names of values are given out here."""

    declared: set[str] = field(default_factory=set)
    """The functions that the module must declare."""

    lines: list[str] = field(default_factory=list)
    counter: int = 0

    def step(self, text: str) -> str:
        """Add an instruction; return the name of its result."""
        self.counter += 1
        name = f"%t{self.counter}"
        self.lines.append(f"  {name} = {text}")
        return name

    def add(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def load(self, dtype: DType, pointer: str) -> str:
        """Load an element; a bool is any byte but 0."""
        value = self.step(f"load {memory_type(dtype)}, ptr {pointer}")
        return self.step(f"icmp ne i8 {value}, 0") if dtype.is_bool else value

    def store(self, dtype: DType, value: str, pointer: str) -> None:
        if dtype.is_bool:
            value = self.step(f"zext i1 {value} to i8")
        self.add(f"store {memory_type(dtype)} {value}, ptr {pointer}")

    def offset(self, pointer: str, dtype: DType, index: str) -> str:
        return self.step(f"getelementptr inbounds {memory_type(dtype)}, ptr {pointer}, i64 {index}")

    def compute(self, instruction: Instruction, args: list[str], source: DType) -> str:
        """Add an arithmetic instruction; ``source`` is the dtype of its first argument."""
        if instruction.op == "cast":
            return self._cast(args[0], source, instruction.dtype)
        return self.step(self._spell(instruction, args, source))

    def fold(self, op: str, dtype: DType, running: str, value: str) -> str:
        """Add one step of a fold. Additions and products may be reordered: they become vectors."""
        kind = value_type(dtype)
        if op in ("add", "mul"):
            spelled = f"f{op} reassoc" if dtype.is_float else op
            return self.step(f"{spelled} {kind} {running}, {value}")
        if dtype.is_float:
            name = f"llvm.{op}imum.f{dtype.bits}"
        else:
            name = f"llvm.{'s' if dtype.kind is Kind.SIGNED else 'u'}{op}.{kind}"
        self.declared.add(f"{kind} @{name}({kind}, {kind})")
        return self.step(f"call {kind} @{name}({kind} {running}, {kind} {value})")

    def _spell(self, instruction: Instruction, args: list[str], source: DType) -> str:
        op, kind, own = instruction.op, value_type(source), value_type(instruction.dtype)
        match op:
            case "select":
                return f"select i1 {args[0]}, {own} {args[1]}, {own} {args[2]}"
            case "bitcast":
                return f"bitcast {kind} {args[0]} to {own}"
            case "call":
                return self._library(str(instruction.detail), args)
            case "eq" | "ne" | "lt" | "le" | "gt" | "ge":
                return _compare(op, source, args)
        if source.is_float:
            return self._float(op, kind, source, args)
        return self._integer(op, kind, source, args)

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

    def _library(self, function: str, args: list[str]) -> str:
        self.declared.add(f"double @{function}({', '.join(['double'] * len(args))}) nounwind")
        return f"call double @{function}({', '.join(f'double {a}' for a in args)})"

    def _cast(self, value: str, source: DType, target: DType) -> str:
        if source == BF16:
            value, source = bf16_value(self.step, value), F32
        if target == source:
            return value
        if target == BF16:
            return bf16_bits(self.step, value)
        converted = f"{_conversion(source, target)} {value_type(source)} {value}"
        return self.step(f"{converted} to {value_type(target)}")


def bf16_bits(step: Callable[[str], str], value: str) -> str:
    """Return the bits of an f32 rounded to nearest, ties to even; NaN becomes a quiet one.

    ``step`` adds an instruction and returns the name of its result.
    """
    bits = step(f"bitcast float {value} to i32")
    high = step(f"lshr i32 {bits}, 16")
    odd = step(f"and i32 {high}, 1")
    rounding = step(f"add i32 {odd}, 32767")
    rounded = step(f"lshr i32 {step(f'add i32 {bits}, {rounding}')}, 16")
    quiet = step(f"or i32 {high}, 64")
    nan = step(f"fcmp uno float {value}, {value}")
    chosen = step(f"select i1 {nan}, i32 {quiet}, i32 {rounded}")
    return step(f"trunc i32 {chosen} to i16")


def bf16_value(step: Callable[[str], str], bits: str) -> str:
    """Return the f32 that the bits of a bf16 are."""
    high = step(f"shl i32 {step(f'zext i16 {bits} to i32')}, 16")
    return step(f"bitcast i32 {high} to float")


def _compare(op: str, dtype: DType, args: list[str]) -> str:
    kind = value_type(dtype)
    if dtype.is_float:
        return f"fcmp {_FLOAT_COMPARE[op]} {kind} {args[0]}, {args[1]}"
    sign = "" if op in ("eq", "ne") else ("s" if dtype.kind is Kind.SIGNED else "u")
    return f"icmp {sign}{op} {kind} {args[0]}, {args[1]}"


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
