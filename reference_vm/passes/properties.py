"""Does a module have a property: what pipelines check before and after each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from reference_vm.analysis.data_types import DataTypes
from reference_vm.analysis.values import MOVES, Means, operand_reads
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Closure,
    Construct,
    Dataflow,
    GlobalRef,
    If,
    Invoke,
    Match,
    Module,
    Operand,
    Var,
    blocks,
)
from reference_vm.ops.definition import Trait
from reference_vm.passes import roles
from reference_vm.passes.context import PassContext, Property
from reference_vm.types import HOST, AdtType, FunctionType, Type, VirtualDevice, tensors


def violation(property_: Property, module: Module, ctx: PassContext) -> str | None:
    """Return the first thing in ``module`` that ``property_`` forbids; ``None`` if it holds."""
    return next(_CHECKS[property_](module, ctx), None)


def _untyped(module: Module, ctx: PassContext) -> Iterator[str]:
    for function in module.functions:
        for var in (*function.params, *rewrite.bound(function.body)):
            if var.type is None:
                yield f"%{var.name} has no type"
        if any(isinstance(s, Dataflow) for s in function.body.statements):
            yield f"@{function.name} has a dataflow block"


def _unbound(module: Module, ctx: PassContext) -> Iterator[str]:
    seen: dict[tuple[object, str], VirtualDevice] = {}
    for vdevice in module.vdevices:
        if vdevice.device is None:
            yield f"{vdevice} has no device"
        other = seen.setdefault((vdevice.device, vdevice.scope), vdevice)
        if other != vdevice:
            yield f"{other} and {vdevice} are one device"
    if roles.on_device(module, HOST) is None:
        yield "no role is the host"


def _unplaced(module: Module, ctx: PassContext) -> Iterator[str]:
    for function in module.functions:
        for var in (*function.params, *rewrite.bound(function.body)):
            if not is_placed(var.type):
                yield f"%{var.name} has no device"
        for binding in rewrite.walk(function.body):
            if isinstance(binding.value, Call) and MOVES.get(binding.value.op) is Means.HINT:
                yield f"%{binding.var.name} is a hint"


def is_placed(type_: Type | None) -> bool:
    """Whether every tensor in a type has its device."""
    return type_ is not None and all(leaf.vdevice is not None for leaf in tensors(type_))


def _remote(module: Module, ctx: PassContext) -> Iterator[str]:
    yield from _unplaced(module, ctx)
    host = roles.host(module)
    for function in module.functions:
        for binding in rewrite.walk(function.body):
            yield from _remote_reads(binding, module, ctx, host)
        returned = _devices(function.result)
        if returned != _devices(function.body.result.type):
            yield f"@{function.name} returns %{function.body.result.name} from another device"


def _remote_reads(
    binding: Binding, module: Module, ctx: PassContext, host: VirtualDevice
) -> Iterator[str]:
    value, here = binding.value, _devices(binding.var.type)
    text = f"%{binding.var.name} reads %{{}} from another device"
    match value:
        case Call(op=name) if name in ctx.ops and MOVES.get(name) is not Means.COPY:
            for var, on_host in operand_reads(value, ctx.ops[name]):
                asked = (host,) if on_host or not here else here[:1]
                if _devices(var.type) != asked:
                    yield text.format(var.name)
        case Alias(var=var) if _devices(var.type) != here:
            yield text.format(var.name)
        case If(condition=condition, then=then, orelse=orelse):
            if _devices(condition.type) != (host,):
                yield text.format(condition.name)
            yield from _remote_results((then, orelse), here, text)
        case Match():
            yield from _remote_results(blocks(value), here, text)
        case Closure(result=result, body=body):
            yield from _remote_results((body,), _devices(result), text)
        case Invoke(args=args):
            params, result = _signature(value, module)
            yield from _remote_arguments(args, params, text)
            if _devices(result) != here:
                yield f"%{binding.var.name} is returned on another device"
        case Construct(args=args):
            assert isinstance(binding.var.type, AdtType)
            fields = DataTypes(module).field_types(value.constructor, binding.var.type.args)
            yield from _remote_arguments(args, fields, text)
        case _:
            return


def _remote_results(
    inner: Sequence[Block], asked: tuple[VirtualDevice | None, ...], text: str
) -> Iterator[str]:
    for block in inner:
        if _devices(block.result.type) != asked:
            yield text.format(block.result.name)


def _remote_arguments(
    args: Sequence[Operand], params: Sequence[Type | None], text: str
) -> Iterator[str]:
    for arg, type_ in zip(args, params, strict=True):
        if isinstance(arg, Var) and _devices(arg.type) != _devices(type_):
            yield text.format(arg.name)


def _signature(invoke: Invoke, module: Module) -> tuple[Sequence[Type | None], Type]:
    """Return the types of the parameters and of the result of what is called."""
    if isinstance(invoke.callee, GlobalRef):
        function = module.by_name[invoke.callee.function]
        return [p.type for p in function.params], function.result
    assert isinstance(invoke.callee.type, FunctionType)
    return invoke.callee.type.params, invoke.callee.type.result


def _devices(type_: Type | None) -> tuple[VirtualDevice | None, ...]:
    return () if type_ is None else tuple(leaf.vdevice for leaf in tensors(type_))


def is_bookkeeping(call: Call, ctx: PassContext) -> bool:
    """Whether ``call`` moves, shows or describes data, so that no kernel computes it."""
    if call.op.startswith("vm.") or call.op in MOVES or call.op == "match_cast":
        return True
    return bool(ctx.ops[call.op].traits & {Trait.VIEW, Trait.METADATA, Trait.HOST})


def _computing(module: Module, ctx: PassContext) -> Iterator[str]:
    for function in module.functions:
        if function.is_primitive:
            continue
        for binding in rewrite.walk(function.body):
            value = binding.value
            if isinstance(value, Call) and not is_bookkeeping(value, ctx):
                yield f"%{binding.var.name} is computed outside of a primitive function"


def _nested(module: Module, ctx: PassContext) -> Iterator[str]:
    for function in module.functions:
        for binding in rewrite.walk(function.body):
            if isinstance(binding.value, Closure):
                yield f"%{binding.var.name} is a closure"


def _unplanned(module: Module, ctx: PassContext) -> Iterator[str]:
    yield from _computing(module, ctx)
    for function in module.functions:
        for binding in rewrite.walk(function.body):
            match binding.value:
                case Invoke(callee=GlobalRef(function=name)) if module.by_name[name].is_primitive:
                    yield f"%{binding.var.name} has no storage"


Check = Callable[[Module, PassContext], Iterator[str]]

_CHECKS: Final[Mapping[Property, Check]] = MappingProxyType(
    {
        Property.TYPED: _untyped,
        Property.BOUND: _unbound,
        Property.PLACED: _unplaced,
        Property.DEVICE_LOCAL: _remote,
        Property.PRIMITIVE: _computing,
        Property.LIFTED: _nested,
        Property.PLANNED: _unplanned,
    }
)

__all__ = ["is_bookkeeping", "is_placed", "violation"]
