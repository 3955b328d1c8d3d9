"""Reading the primitive functions of a saved program, whose text may come from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reference_vm.analysis.compatibility import Agreement, agreement
from reference_vm.bytecode.checking.state import Signature
from reference_vm.bytecode.executable import KernelSlot
from reference_vm.diagnostics import CompileError
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Call,
    Constant,
    Function,
    MakeTuple,
    Project,
    ShapeLiteral,
    Var,
)
from reference_vm.ir.verify import verify
from reference_vm.ops.catalog import OPS
from reference_vm.ops.typing import infer_call, operator
from reference_vm.text import parse
from reference_vm.types import ShapeType, TensorType, TupleType, Type

_PRIMITIVE = Alias | Call | Constant | MakeTuple | Project | ShapeLiteral
"""What a primitive function may hold."""


class KernelError(Exception):
    """A text is not that of the kernels of a program."""


def read_kernels(
    text: str, slots: Sequence[KernelSlot], check: bool = True
) -> tuple[Function, ...]:
    """Return the primitive function of each slot, from the text that a saved program holds.

    ``check`` says whether the text may come from anywhere.

    Raises:
        KernelError: The text is something else, or a function could not be a kernel.
    """
    try:
        module = parse(text, "kernels.hir")
        if check:
            verify(module)
        for function in module.functions if check else ():
            _check(function)
    except CompileError as error:
        raise KernelError(str(error)) from error
    names = [f.name for f in module.functions]
    if names != [f"k{i}" for i in range(len(slots))]:
        raise KernelError(f"found {len(names)} functions, expected k0 to k{len(slots) - 1}")
    return tuple(
        replace(function, name=slot.name)
        for function, slot in zip(module.functions, slots, strict=True)
    )


def signature(primitive: Function) -> Signature:
    """Return what a kernel made from ``primitive`` takes and makes."""
    result = primitive.result
    results = result.items if isinstance(result, TupleType) else (result,)
    panels = primitive.attrs.get("panels")
    found = tuple(i for i in panels if isinstance(i, int)) if isinstance(panels, tuple) else ()
    return Signature(tuple(_known(p) for p in primitive.params), results, found)


def _check(function: Function) -> None:
    """Raise `KernelError` unless ``function`` holds operators only, each of the type it says."""
    if function.attrs.get("primitive") is not True:
        raise KernelError(f"@{function.name} is not marked primitive")
    for var in function.params:
        if not isinstance(var.type, TensorType | ShapeType):
            raise KernelError(f"@{function.name}: %{var.name} is neither a tensor nor a shape")
    for binding in function.body.bindings():
        for problem in _problems(binding):
            raise KernelError(f"@{function.name}: %{binding.var.name} {problem}")
    result = function.body.result.type
    if result is None or agreement(result, function.result) is Agreement.NEVER:
        raise KernelError(f"@{function.name}: the result is {result}, expected {function.result}")


def _problems(binding: Binding) -> Iterator[str]:
    if not isinstance(binding.value, _PRIMITIVE):
        yield f"is {type(binding.value).__name__}, which no kernel holds"
        return
    found = _type(binding)
    declared = binding.var.type
    if declared is None:
        yield "has no type"
    elif agreement(found, declared) is Agreement.NEVER:
        yield f"is {found}, expected {declared}"


def _type(binding: Binding) -> Type:
    match binding.value:
        case Call(op=op, args=args, attrs=attrs):
            types = [_known(a) if isinstance(a, Var) else None for a in args]
            return infer_call(operator(OPS, op), types, attrs, [None] * len(types)).type
        case Constant(dtype=dtype, shape=shape):
            return TensorType(dtype, shape)
        case ShapeLiteral(dims=dims):
            return ShapeType(dims)
        case MakeTuple(items=items):
            return TupleType(tuple(map(_known, items)))
        case Project(tuple=source, index=index):
            type_ = _known(source)
            if not isinstance(type_, TupleType) or not 0 <= index < len(type_.items):
                raise KernelError(f"%{source.name} is {type_}, which has no item {index}")
            return type_.items[index]
        case Alias(var=source):
            return _known(source)
        case other:
            raise AssertionError(other)


def _known(var: Var) -> Type:
    if var.type is None:
        raise KernelError(f"%{var.name} has no type")
    return var.type
