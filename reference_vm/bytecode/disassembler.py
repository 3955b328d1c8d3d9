"""A compiled program as text, for people.

fn @main(r0: f32[4] @accel) -> f32[4] @accel
   0  r1 = launch add(r0, r0) on sim:0
   1  return r1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import (
    AllocStorage,
    Branch,
    BranchTag,
    Copy,
    Fail,
    GetField,
    HostOp,
    Instruction,
    Invoke,
    InvokeClosure,
    Jump,
    Kill,
    Launch,
    LoadConstant,
    MakeClosure,
    MakeData,
    MakeShape,
    MakeTuple,
    MatchCast,
    Move,
    Poison,
    Project,
    ReadHost,
    Register,
    Return,
    Share,
    TailInvoke,
    TailInvokeClosure,
    TakeStorage,
    Target,
    View,
)
from reference_vm.types import TensorType
from reference_vm.types.types import str_dim


def disassemble(executable: Executable) -> str:
    """Return the program as text, one instruction a line."""
    lines: list[str] = []
    for function in executable.functions:
        lines.extend(_Listing(executable, function).lines())
    return "\n".join(lines) + "\n"


@final
@dataclass(frozen=True)
class _Listing:
    executable: Executable
    function: FunctionCode

    def lines(self) -> Iterator[str]:
        params = ", ".join(f"r{i}: {p.type}" for i, p in enumerate(self.function.params))
        yield f"fn @{self.function.name}({params}) -> {self.function.result}"
        for at, instruction in enumerate(self.function.instructions):
            yield f"  {at:4}  {self._text(instruction)}"

    def _text(self, instruction: Instruction) -> str:
        match instruction:
            case Launch(kernel=kernel, device=device, args=args, targets=targets):
                left = ", ".join(map(self._target, targets))
                name = self.executable.kernels[kernel].name
                return f"{left} = launch {name}({_args(args)}) on {self._device(device)}"
            case HostOp(args=args, target=result, site=site):
                left = self._target(result) if isinstance(result, Target) else f"r{result}"
                return f"{left} = host {site.op}({_args(args)})"
            case Copy(target=target, source=source, device=device, cause=cause):
                return (
                    f"{self._target(target)} = copy r{source} to {self._device(device)} ({cause})"
                )
            case View(target=target, source=source, args=args):
                more = f", {_args(args)}" if args else ""
                return f"{self._target(target)} = view r{source}{more}"
            case TakeStorage(target=register, source=source, size=size):
                return f"r{register} = take {size} bytes of r{source}"
            case AllocStorage(target=register, device=device, size=size):
                return f"r{register} = alloc {str_dim(size)} bytes on {self._device(device)}"
            case LoadConstant(target=register, constant=constant):
                return f"r{register} = constant {constant}"
            case _:
                return _plain(instruction, self.executable)

    def _device(self, index: int) -> str:
        return str(self.executable.devices[index])

    def _target(self, target: Target) -> str:
        place = "" if target.storage is None else f" in r{target.storage}+{target.offset}"
        return f"r{target.register}: {TensorType(target.dtype, target.shape)}{place}"


def _plain(instruction: Instruction, executable: Executable) -> str:
    match instruction:
        case ReadHost(target=target, source=source):
            return f"r{target} = read r{source}"
        case MatchCast(target=target, source=source, type=type_, binds=binds):
            bound = ", ".join(f"{symbol} = dim {axis}" for axis, symbol in binds)
            return f"r{target} = match r{source} as {type_}" + (f" with {bound}" if bound else "")
        case MakeShape(target=target, dims=dims):
            return f"r{target} = shape [{', '.join(map(str_dim, dims))}]"
        case MakeTuple(target=target, items=items):
            return f"r{target} = ({_args(items)})"
        case Project(target=target, source=source, index=index):
            return f"r{target} = r{source}[{index}]"
        case Move(target=target, source=source):
            return f"r{target} = r{source}"
        case Branch(condition=condition, orelse=orelse):
            return f"unless r{condition} goto {orelse}"
        case Jump(to=to):
            return f"goto {to}"
        case Share(registers=registers) | Kill(registers=registers) | Poison(registers=registers):
            return f"{type(instruction).__name__.lower()} {_args(registers)}"
        case Return(source=source):
            return f"return r{source}"
        case MakeData() | BranchTag() | GetField() | Fail():
            return _data(instruction, executable)
        case _:
            return _call(instruction, executable)


def _call(instruction: Instruction, executable: Executable) -> str:
    match instruction:
        case Invoke(target=target, function=function, args=args):
            return f"r{target} = call @{executable.functions[function].name}({_args(args)})"
        case TailInvoke(function=function, args=args):
            return f"return call @{executable.functions[function].name}({_args(args)})"
        case MakeClosure(target=target, function=function, captured=captured):
            name = executable.functions[function].name
            return f"r{target} = closure @{name}({_args(captured)})"
        case InvokeClosure(target=target, closure=closure, args=args):
            return f"r{target} = call r{closure}({_args(args)})"
        case TailInvokeClosure(closure=closure, args=args):
            return f"return call r{closure}({_args(args)})"
        case _:
            raise AssertionError(instruction)


def _data(instruction: Instruction, executable: Executable) -> str:
    def name(data_type: int, tag: int) -> str:
        return executable.data_types[data_type].constructors[tag].name

    match instruction:
        case MakeData(target=target, data_type=type_, tag=tag, fields=fields):
            return f"r{target} = data {name(type_, tag)}({_args(fields)})"
        case BranchTag(source=source, data_type=type_, tag=tag, orelse=orelse):
            return f"unless r{source} is {name(type_, tag)} goto {orelse}"
        case GetField(target=target, source=source, data_type=type_, tag=tag, index=index):
            return f"r{target} = field {index} of r{source} as {name(type_, tag)}"
        case Fail(code=code, message=message):
            return f"fail {code}: {message}"
        case _:
            raise AssertionError(instruction)


def _args(args: tuple[Register, ...]) -> str:
    return ", ".join(f"r{a}" for a in args)
