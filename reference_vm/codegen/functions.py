"""One function to bytecode, statement by statement.

Every variable has a register of its own, so what a branch made is still there after it.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_vm.bytecode import instructions as bc
from reference_vm.bytecode.executable import FunctionCode, Parameter, SymbolBound
from reference_vm.bytecode.symbols import symbols_in
from reference_vm.codegen.emitter import Emitter, present
from reference_vm.codegen.lifetimes import endings
from reference_vm.codegen.operators import emit_call
from reference_vm.codegen.planned import PLANNED, emit_planned, located
from reference_vm.codegen.registers import device_of, site_of
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
    Project,
    ShapeLiteral,
    Var,
    Weight,
)
from reference_vm.ir.rewrite import walk
from reference_vm.ops.definition import OpDef
from reference_vm.types import leaves


def emit_function(
    module: Module,
    function: Function,
    ops: Mapping[str, OpDef],
    tables: Tables,
    indices: Mapping[str, int],
    entry: bool,
) -> FunctionCode:
    """Return the code of one function; ``entry`` says whether a session may run it.

    Raises:
        CompileError: Something in it is not lowered.
    """
    symbols = dict.fromkeys(s for p in function.params for s in symbols_in(p.type))
    emitter = Emitter(module, ops, tables, indices, symbols, all_symbols=dict(symbols))
    for param in function.params:
        emitter.registers.of(param)
    planned = any(isinstance(b.value, Call) and b.value.op in PLANNED for b in walk(function.body))
    _Body(emitter, {} if planned else endings(function, module, ops)).block(function.body)
    emitter.code.append(bc.Return(emitter.registers.of(function.body.result)))
    return FunctionCode(
        function.name,
        tuple(_parameter(function, i, tables) for i in range(len(function.params))),
        function.result,
        emitter.registers.count,
        tuple(emitter.all_symbols),
        tuple(located(emitter.code)),
        {b.symbol: SymbolBound(b.lower, b.upper) for b in function.bounds},
        entry,
    )


def _parameter(function: Function, index: int, tables: Tables) -> Parameter:
    param = function.params[index]
    assert param.type is not None
    for leaf in leaves(param.type):
        if leaf.vdevice is not None and leaf.vdevice.device is not None:
            tables.device(leaf.vdevice.device)
    donated = index in function.donated
    return Parameter(param.name, param.type, param.source, param.span, donated)


class _Body:
    """Emits the blocks of one function."""

    def __init__(self, emitter: Emitter, dying: Mapping[Var, tuple[Var, ...]]) -> None:
        self.emitter = emitter
        self.dying = dying
        """Whose memory dies after each binding, where no plan says it."""

        self.code = emitter.code
        self.registers = emitter.registers

    def block(self, block: Block) -> None:
        for binding in block.bindings():
            self._binding(binding)
            dying = self.dying.get(binding.var)
            if dying:
                self.code.append(bc.Kill(tuple(map(self.registers.of, dying))))

    def _binding(self, binding: Binding) -> None:
        var = binding.var
        match binding.value:
            case Call(op=op) as call if op in PLANNED:
                emit_planned(self.emitter, binding, call)
            case Call() as call:
                emit_call(self.emitter, binding, call)
            case Invoke(callee=GlobalRef(name=name)) as invoke:
                self._invoke(binding, invoke, name)
            case Constant() | Weight() as value:
                device = self.emitter.tables.device(device_of(var))
                slot = self.emitter.tables.constant(binding, value, device)
                self.code.append(bc.LoadConstant(self.registers.of(var), slot))
            case ShapeLiteral(dims=dims, span=span):
                site = site_of("shape", var, span)
                self.code.append(bc.MakeShape(self.registers.of(var), dims, site))
            case If() as branch:
                self._if(binding, branch)
            case _:
                self._rename(binding)

    def _rename(self, binding: Binding) -> None:
        """Emit an expression that only gives values other names."""
        var = binding.var
        match binding.value:
            case Alias(var=source):
                register = self.registers.of(source)
                self.code.append(bc.Move(self.emitter.alias(var, source), register))
            case Project(tuple=source, index=index):
                register = self.registers.of(source)
                target = self.emitter.alias(var, source, index)
                self.code.append(bc.Project(target, register, index))
            case MakeTuple(items=items):
                registers = tuple(map(self.registers.of, items))
                self.code.append(bc.MakeTuple(self.registers.of(var), registers))
            case other:
                construct = type(other).__name__.lower()
                raise CompileError(catalog.not_yet_lowered(construct, other.span))

    def _invoke(self, binding: Binding, invoke: Invoke, name: str) -> None:
        callee = self.emitter.module.by_name[name]
        if callee.attrs.get("primitive") is True:
            self.emitter.launch_primitive(binding, invoke, callee, ())
            return
        site = site_of(f"@{name}", binding.var, invoke.span)
        args = tuple(map(self.registers.of, present(invoke.args)))
        target = self.registers.of(binding.var)
        self.code.append(bc.Invoke(target, self.emitter.indices[name], args, site))

    def _if(self, binding: Binding, branch: If) -> None:
        target = self.registers.of(binding.var)
        site = site_of("if", binding.var, branch.span)
        condition = self.emitter.read(branch.condition, site)
        at_branch = len(self.code)
        self.code.append(bc.Branch(condition, 0))
        self._arm(branch.then, target)
        at_jump = len(self.code)
        self.code.append(bc.Jump(0))
        self.code[at_branch] = bc.Branch(condition, len(self.code))
        self._arm(branch.orelse, target)
        self.code[at_jump] = bc.Jump(len(self.code))

    def _arm(self, block: Block, target: bc.Register) -> None:
        symbols, on_host = dict(self.emitter.symbols), dict(self.emitter.on_host)
        self.block(block)
        self.code.append(bc.Move(target, self.registers.of(block.result)))
        self.emitter.symbols, self.emitter.on_host = symbols, on_host
