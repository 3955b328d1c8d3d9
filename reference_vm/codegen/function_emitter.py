"""One function to bytecode, statement by statement.

Every variable has a register of its own, so what a branch made is still there after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reference_vm.bytecode import instructions as bc
from reference_vm.bytecode.executable import FunctionCode, Parameter, SymbolBound
from reference_vm.bytecode.symbols import lone_symbol, symbols_in
from reference_vm.codegen.lifetimes import endings
from reference_vm.codegen.registers import Registers, device_of, results_of, site_of
from reference_vm.codegen.tables import Tables
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Constant,
    Function,
    GlobalRef,
    If,
    Invoke,
    MakeTuple,
    Module,
    Operand,
    Project,
    ShapeLiteral,
    Var,
    Weight,
)
from reference_vm.ir.rewrite import walk
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.types import HOST, DeviceName, Shape, ShapeType, TensorType, leaves


class FunctionEmitter:
    """Emits one function."""

    def __init__(
        self,
        module: Module,
        function: Function,
        ops: Mapping[str, OpDef],
        tables: Tables,
        indices: Mapping[str, int],
    ) -> None:
        self.module = module
        self.function = function
        self.ops = ops
        self.tables = tables
        self.indices = indices
        """The index of each function that is no kernel."""

        self.code: list[bc.Instruction] = []
        self.registers = Registers()
        self.symbols: dict[str, None] = dict.fromkeys(
            s for p in function.params for s in symbols_in(p.type)
        )
        """Those in scope, in the order of their slots."""

        self.all_symbols = dict(self.symbols)
        planned = any(_is_planned(b) for b in walk(function.body))
        self.endings = {} if planned else endings(function, module, ops)
        self.on_host: dict[Var, bc.Register] = {}
        """Where the data of tensors was read to, in the blocks around."""

    def emit(self, entry: bool) -> FunctionCode:
        for param in self.function.params:
            self.registers.of(param)
        self._block(self.function.body)
        self.code.append(bc.Return(self.registers.of(self.function.body.result)))
        return FunctionCode(
            self.function.name,
            tuple(self._parameter(i, p) for i, p in enumerate(self.function.params)),
            self.function.result,
            self.registers.count,
            tuple(self.all_symbols),
            tuple(_allocations_located(self.code)),
            {b.symbol: SymbolBound(b.lower, b.upper) for b in self.function.bounds},
            entry,
        )

    def _parameter(self, index: int, param: Var) -> Parameter:
        assert param.type is not None
        for leaf in leaves(param.type):
            if leaf.vdevice is not None and leaf.vdevice.device is not None:
                self.tables.device(leaf.vdevice.device)
        donated = index in self.function.donated
        return Parameter(param.name, param.type, param.source, param.span, donated)

    def _block(self, block: Block) -> None:
        for binding in block.bindings():
            self._binding(binding)
            dying = self.endings.get(binding.var)
            if dying:
                self.code.append(bc.Kill(tuple(map(self.registers.of, dying))))

    def _binding(self, binding: Binding) -> None:
        var = binding.var
        match binding.value:
            case Call():
                self._call(binding, binding.value)
            case Invoke(callee=GlobalRef(name=name)):
                self._invoke(binding, binding.value, name)
            case Alias(var=source):
                self.code.append(bc.Move(self._alias(var, source), self.registers.of(source)))
            case Project(tuple=source, index=index):
                register = self.registers.of(source)
                self.code.append(bc.Project(self._alias(var, source, index), register, index))
            case MakeTuple(items=items):
                registers = tuple(map(self.registers.of, items))
                self.code.append(bc.MakeTuple(self.registers.of(var), registers))
            case Constant() | Weight() as value:
                device = self.tables.device(device_of(var))
                slot = self.tables.constant(binding, value, device)
                self.code.append(bc.LoadConstant(self.registers.of(var), slot))
            case ShapeLiteral(dims=dims):
                site = site_of("shape", var, binding.value.span)
                self.code.append(bc.MakeShape(self.registers.of(var), dims, site))
            case If():
                self._if(binding, binding.value)
            case other:
                construct = type(other).__name__.lower()
                raise CompileError(catalog.not_yet_lowered(construct, other.span))

    def _alias(self, var: Var, source: Var, index: int | None = None) -> bc.Register:
        """Return the register of another name for ``source``, or for one of its items."""
        self.registers.name_like(var, source, index)
        return self.registers.of(var)

    # Operators.

    def _call(self, binding: Binding, call: Call) -> None:
        if call.op in _PLANNED:
            _PLANNED[call.op](self, binding, call)
            return
        if call.op == "device_copy":
            self._device_copy(binding, call)
            return
        if call.op in ("to_vdevice", "hint_on_device"):
            raise CompileError(catalog.not_lowered(call.op, "legalize", call.span))
        if call.op == "match_cast":
            self._match_cast(binding, call)
            return
        traits = self.ops[call.op].traits
        if Trait.HOST in traits:
            self._host_op(binding, call)
        elif Trait.VIEW in traits:
            self._view(binding, call)
        else:
            self._launch_single(binding, call)

    def _launch_single(self, binding: Binding, call: Call) -> None:
        assert binding.var.type is not None
        device = device_of(binding.var)
        kernel = self.tables.single(call, binding.var.type, device.kind)
        op = self.ops[call.op]
        present = [(i, a) for i, a in enumerate(call.args) if isinstance(a, Var)]
        operands = tuple(a for _, a in present)
        site = site_of(call.op, binding.var, call.span)
        args = self._operands(operands, [op.is_host_operand(i) for i, _ in present], device, site)
        self._launch(binding, kernel, device, operands, args, (), site)

    def _launch(
        self,
        binding: Binding,
        kernel: int,
        device: DeviceName,
        operands: tuple[Var, ...],
        args: tuple[bc.Register, ...],
        storages: tuple[tuple[bc.Register | None, int], ...],
        site: bc.Site,
    ) -> None:
        """Launch a kernel whose results are the binding's, in these storages or in fresh memory."""
        var = binding.var
        targets = self._targets(var)
        if storages:
            targets = tuple(
                replace(t, storage=s, offset=o) for t, (s, o) in zip(targets, storages, strict=True)
            )
        values = tuple(map(self.registers.value, operands))
        index = self.tables.device(device)
        self.code.append(bc.Launch(kernel, index, args, targets, values, site))
        if not isinstance(var.type, TensorType):
            self.code.append(
                bc.MakeTuple(self.registers.of(var), tuple(t.register for t in targets))
            )

    def _targets(self, var: Var) -> tuple[bc.Target, ...]:
        if isinstance(var.type, TensorType):
            value = self.registers.value(var)
            type_ = var.type
            return (bc.Target(self.registers.of(var), type_.dtype, type_.shape, value),)
        return tuple(
            bc.Target(self.registers.fresh(), t.dtype, t.shape, var.source and f"{var.source}[{i}]")
            for i, t in enumerate(results_of(var))
        )

    def _operands(
        self, args: Sequence[Var], hosts: Sequence[bool], device: DeviceName, site: bc.Site
    ) -> tuple[bc.Register, ...]:
        """Return the registers of operands; what is read on the host is read there first."""
        return tuple(
            self._operand(arg, host and device != HOST, site)
            for arg, host in zip(args, hosts, strict=True)
        )

    def _operand(self, arg: Var, host: bool, site: bc.Site) -> bc.Register:
        if not host or not isinstance(arg.type, TensorType):
            return self.registers.of(arg)
        return self._read(arg, site)

    def _read(self, var: Var, site: bc.Site) -> bc.Register:
        """Return the register that holds the data of a tensor on the host."""
        if var not in self.on_host:
            register = self.on_host[var] = self.registers.fresh()
            source, value = self.registers.of(var), self.registers.value(var)
            self.code.append(bc.ReadHost(register, source, value, site))
        return self.on_host[var]

    def _host_op(self, binding: Binding, call: Call) -> None:
        var = binding.var
        assert var.type is not None
        site = site_of(call.op, var, call.span)
        reads_shape = Trait.METADATA in self.ops[call.op].traits
        operands = _present(call.args)
        args = tuple(self._operand(a, not reads_shape, site) for a in operands)
        target: bc.Target | bc.Register = self.registers.of(var)
        if isinstance(var.type, TensorType):
            (target,) = self._targets(var)
        values = tuple(map(self.registers.value, operands))
        kernel = self.tables.single(call, var.type, HOST.kind)
        self.code.append(bc.HostOp(kernel, args, target, values, site))

    def _view(self, binding: Binding, call: Call) -> None:
        var, (viewed, *others) = binding.var, _present(call.args)
        assert var.type is not None
        site = site_of(call.op, var, call.span)
        (target,) = self._targets(var)
        source = self.registers.of(viewed)
        if target.is_sized:
            self.code.append(bc.View(target, source, None, (), site))
            return
        args = tuple(self._operand(a, True, site) for a in others)
        kernel = self.tables.single(call, var.type, HOST.kind)
        self.code.append(bc.View(target, source, kernel, args, site))

    def _match_cast(self, binding: Binding, call: Call) -> None:
        (source,) = call.args
        assert isinstance(source, Var)
        type_ = binding.var.type
        assert isinstance(type_, TensorType | ShapeType)
        shape = type_.shape if isinstance(type_, TensorType) else type_.dims
        binds = self._bind(shape or ())
        site = site_of(call.op, binding.var, call.span)
        target = self._alias(binding.var, source)
        self.code.append(bc.MatchCast(target, self.registers.of(source), type_, binds, site))

    def _bind(self, shape: Shape) -> tuple[tuple[int, str], ...]:
        """Bring the new symbols of a shape into scope; return the axis of each."""
        found: dict[str, int] = {}
        for axis, dim in enumerate(shape):
            symbol = lone_symbol(dim)
            if symbol is not None and symbol not in self.symbols:
                found.setdefault(symbol, axis)
        self.symbols.update(dict.fromkeys(found))
        self.all_symbols.update(dict.fromkeys(found))
        return tuple((axis, symbol) for symbol, axis in found.items())

    def _device_copy(self, binding: Binding, call: Call) -> None:
        (source,) = call.args
        assert isinstance(source, Var)
        self._copy(binding, call, source, None)

    def _copy(self, binding: Binding, call: Call, source: Var, storage: bc.Register | None) -> None:
        attrs: Mapping[str, Any] = call.attrs
        self.registers.name_like(binding.var, source)
        (target,) = self._targets(binding.var)
        if storage is not None:
            target = replace(target, storage=storage, offset=attrs.get("offset", 0))
        self.code.append(
            bc.Copy(
                target,
                self.registers.of(source),
                self.tables.device(device_of(binding.var)),
                attrs.get("cause", "explicit"),
                self.registers.value(source),
                attrs.get("reader"),
                attrs.get("line"),
                site_of("device_copy", binding.var, call.span),
            )
        )

    # Functions.

    def _invoke(self, binding: Binding, invoke: Invoke, name: str) -> None:
        callee = self.module.by_name[name]
        if callee.attrs.get("primitive") is True:
            self._launch_primitive(binding, invoke, callee, ())
            return
        site = site_of(f"@{name}", binding.var, invoke.span)
        args = tuple(self.registers.of(a) for a in invoke.args if isinstance(a, Var))
        target = self.registers.of(binding.var)
        self.code.append(bc.Invoke(target, self.indices[name], args, site))

    def _launch_primitive(
        self,
        binding: Binding,
        call: Invoke | Call,
        callee: Function,
        storages: tuple[tuple[bc.Register | None, int], ...],
    ) -> None:
        device = device_of(binding.var)
        operands = _inputs(call, callee)
        attrs: Mapping[str, Any] = call.attrs
        defines = attrs.get("defines", ())
        site = bc.Site(callee.name, tuple(d for d in defines if d), call.span)
        hosts = host_params(callee, self.ops)
        args = self._operands(operands, hosts, device, site)
        kernel = self.tables.primitive(callee, device.kind)
        self._launch(binding, kernel, device, operands, args, storages, site)

    # Branches.

    def _if(self, binding: Binding, branch: If) -> None:
        target = self.registers.of(binding.var)
        condition = self._read(branch.condition, site_of("if", binding.var, branch.span))
        at_branch = len(self.code)
        self.code.append(bc.Branch(condition, 0))
        self._arm(branch.then, target)
        at_jump = len(self.code)
        self.code.append(bc.Jump(0))
        self.code[at_branch] = bc.Branch(condition, len(self.code))
        self._arm(branch.orelse, target)
        self.code[at_jump] = bc.Jump(len(self.code))

    def _arm(self, block: Block, target: bc.Register) -> None:
        symbols, on_host = dict(self.symbols), dict(self.on_host)
        self._block(block)
        self.code.append(bc.Move(target, self.registers.of(block.result)))
        self.symbols, self.on_host = symbols, on_host

    # Planned forms.

    def _alloc_storage(self, binding: Binding, call: Call) -> None:
        site = site_of(call.op, binding.var, call.span)
        device = self.tables.device(device_of(binding.var))
        size = call.attrs["size"]
        self.code.append(bc.AllocStorage(self.registers.of(binding.var), device, size, site))

    def _planned_invoke(self, binding: Binding, call: Call) -> None:
        ref = call.args[0]
        assert isinstance(ref, GlobalRef)
        count = call.attrs["outputs"]
        places = zip(call.args[len(call.args) - count :], call.attrs["offsets"], strict=True)
        storages = tuple(
            (self.registers.of(s) if isinstance(s, Var) else None, o or 0) for s, o in places
        )
        self._launch_primitive(binding, call, self.module.by_name[ref.name], storages)

    def _planned_copy(self, binding: Binding, call: Call) -> None:
        source, storage = call.args
        assert isinstance(source, Var)
        register = self.registers.of(storage) if isinstance(storage, Var) else None
        self._copy(binding, call, source, register)

    def _kill(self, binding: Binding, call: Call) -> None:
        killed = tuple(self.registers.of(a) for a in call.args if isinstance(a, Var))
        self.code.append(bc.Kill(killed))
        self.code.append(bc.MakeTuple(self.registers.of(binding.var), ()))


_PLANNED = {
    "vm.alloc_storage": FunctionEmitter._alloc_storage,
    "vm.invoke": FunctionEmitter._planned_invoke,
    "vm.copy": FunctionEmitter._planned_copy,
    "vm.kill": FunctionEmitter._kill,
}


def _is_planned(binding: Binding) -> bool:
    return isinstance(binding.value, Call) and binding.value.op in _PLANNED


def _allocations_located(code: Sequence[bc.Instruction]) -> Iterator[bc.Instruction]:
    """Yield ``code`` with each allocation said to come from the first that writes into it."""
    first: dict[bc.Register, bc.Site] = {}
    for instruction in code:
        match instruction:
            case bc.Launch(targets=targets, site=site):
                for target in targets:
                    if target.storage is not None:
                        first.setdefault(target.storage, site)
            case bc.Copy(target=bc.Target(storage=int() as storage), site=site):
                first.setdefault(storage, site)
            case _:
                pass
    for instruction in code:
        if isinstance(instruction, bc.AllocStorage):
            yield replace(instruction, site=first.get(instruction.target, instruction.site))
        else:
            yield instruction


def _present(args: Sequence[Operand]) -> tuple[Var, ...]:
    """Return the operands that are not left out."""
    return tuple(a for a in args if isinstance(a, Var))


def _inputs(call: Invoke | Call, callee: Function) -> tuple[Var, ...]:
    """Return the operands of a kernel call that are the callee's arguments."""
    args = call.args if isinstance(call, Invoke) else call.args[1 : 1 + len(callee.params)]
    return _present(args)


def host_params(primitive: Function, ops: Mapping[str, OpDef]) -> list[bool]:
    """Return, for each parameter, whether its data is read on the host to decide a shape."""
    device: set[Var] = set()
    host: set[Var] = set()
    for binding in primitive.body.bindings():
        if isinstance(binding.value, Call):
            op = ops[binding.value.op]
            for i, arg in enumerate(binding.value.args):
                if isinstance(arg, Var):
                    (host if op.is_host_operand(i) else device).add(arg)
    return [p in host and p not in device for p in primitive.params]
