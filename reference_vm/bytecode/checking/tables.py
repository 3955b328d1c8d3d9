"""Are the tables of an executable, and what its functions say of themselves, in order?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reference_vm.bytecode.checking.state import HOST, Problems, Signature
from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import writes
from reference_vm.bytecode.symbols import symbols_in
from reference_vm.types import HOST as HOST_NAME
from reference_vm.types import AdtType, FunctionType, TupleType, Type, tensors


def table_problems(executable: Executable, signatures: Sequence[Signature]) -> Problems:
    """Yield one line for each thing that is wrong."""
    if not executable.devices or executable.devices[HOST] != HOST_NAME:
        yield f"the first device is not {HOST_NAME}"
    if len(signatures) != len(executable.kernels):
        yield f"there are {len(signatures)} functions for {len(executable.kernels)} kernels"
    kinds = {device.kind for device in executable.devices}
    for index, slot in enumerate(executable.kernels):
        if slot.kind not in kinds:
            yield f"kernel {index} is for {slot.kind}, of which there is no device"
    yield from _twice("device", map(str, executable.devices))
    yield from _twice("function", (f.name for f in executable.functions))
    yield from _twice("data type", (t.name for t in executable.data_types))
    arities = {t.name: len(t.params) for t in executable.data_types}
    for data_type in executable.data_types:
        known = arities | dict.fromkeys(data_type.params, 0)
        for constructor in data_type.constructors:
            where = f"{data_type.name}.{constructor.name}"
            for type_ in constructor.fields:
                yield from _unknown_types(where, type_, known)
                yield from _unknown_devices(executable, where, type_)
    for function in executable.functions:
        for text in _function_problems(executable, function, arities):
            yield f"@{function.name}: {text}"


def _twice(what: str, names: Iterable[str]) -> Problems:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{what} {name} is there {count} times"


def _function_problems(
    executable: Executable, function: FunctionCode, arities: dict[str, int]
) -> Problems:
    yield from _twice("symbol", function.symbols)
    symbols = set(function.symbols)
    if not symbols >= function.bounds.keys():
        yield "has bounds of what is no symbol of it"
    for parameter in function.params:
        for symbol in symbols_in(parameter.type):
            if symbol not in symbols:
                yield f"%{parameter.name}: {symbol} is no symbol of the function"
        yield from _unknown_devices(executable, f"%{parameter.name}", parameter.type)
    for type_ in (*(p.type for p in function.params), function.result):
        yield from _unknown_types("a type", type_, arities)
    made = len(function.params) + sum(len(tuple(writes(i))) for i in function.instructions)
    if not len(function.params) <= function.registers <= max(made, 1):
        yield f"has {function.registers} registers, but fills {made} at most"


def _unknown_devices(executable: Executable, where: str, type_: Type) -> Problems:
    for tensor in tensors(type_):
        device = tensor.vdevice.device if tensor.vdevice is not None else None
        if device is not None and device not in executable.devices:
            yield f"{where}: {device} is not in the table of devices"


def _unknown_types(where: str, type_: Type, arities: dict[str, int]) -> Problems:
    match type_:
        case AdtType(name=name, args=args):
            if arities.get(name) != len(args):
                yield f"{where}: there is no data type {name} of {len(args)} parameters"
            inner: tuple[Type, ...] = args
        case TupleType(items=items):
            inner = items
        case FunctionType(params=params, result=result):
            inner = (*params, result)
        case _:
            return
    for part in inner:
        yield from _unknown_types(where, part, arities)
