"""One function to bytecode, statement by statement.

Every variable has a register of its own, so what a branch made is still there after it. A call
whose result is the function's is in tail position: nothing of the frame runs after it, so what
would be given back after it is given back before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from reference_vm.analysis.aliases import aliases
from reference_vm.analysis.counted import counted
from reference_vm.bytecode import instructions as bc
from reference_vm.bytecode.executable import FunctionCode, Parameter, SymbolBound
from reference_vm.bytecode.symbols import symbols_in
from reference_vm.codegen.calls import emit_value, is_call
from reference_vm.codegen.emitter import Emitter
from reference_vm.codegen.holds import Holds, holds
from reference_vm.codegen.matching import emit_tests
from reference_vm.codegen.operators import emit_call
from reference_vm.codegen.planned import PLANNED, emit_planned, located
from reference_vm.codegen.registers import device_of, site_of
from reference_vm.codegen.tables import Tables
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
    Match,
    Module,
    Project,
    ShapeLiteral,
    Var,
    Weight,
)
from reference_vm.ir.rewrite import walk
from reference_vm.ops.definition import OpDef
from reference_vm.passes.plan_writer import with_deaths


def emit_function(
    module: Module,
    function: Function,
    ops: Mapping[str, OpDef],
    tables: Tables,
    indices: Mapping[str, int],
    entry: bool,
    lent: bool,
) -> FunctionCode:
    """Return the code of one function.

    Args:
        module: The module it is of.
        function: What to emit; no kernel.
        ops: The operators.
        tables: Those of the executable, which get what the function needs.
        indices: The index of each function that is no kernel.
        entry: Whether a session may run it.
        lent: Whether no function calls it, so that it does not own its parameters.

    Raises:
        CompileError: Something in it is not lowered.
    """
    symbols = dict.fromkeys(s for p in function.params for s in symbols_in(p.type))
    emitter = Emitter(module, ops, tables, indices, symbols, all_symbols=dict(symbols))
    for param in function.params:
        emitter.registers.of(param)
    variables = counted(function, module, aliases(function, module, ops), not lent)
    planned = any(isinstance(b.value, Call) and b.value.op in PLANNED for b in walk(function.body))
    if not planned:
        function = with_deaths(function, module, ops, variables)
    held = holds(function, module, ops, variables, lent)
    body = _Body(emitter, held)
    if not body.block(function.body, ()):
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
        lent,
    )


def _parameter(function: Function, index: int, tables: Tables) -> Parameter:
    param = function.params[index]
    assert param.type is not None
    tables.add_devices(param.type)
    donated = index in function.donated
    return Parameter(param.name, param.type, param.source, param.span, donated)


@final
@dataclass
class _Body:
    """Emits the blocks of one function."""

    emitter: Emitter
    held: Holds

    @property
    def code(self) -> list[bc.Instruction]:
        return self.emitter.code

    def block(self, block: Block, after: Sequence[bc.Register] | None) -> bool:
        """Emit a block; return whether it left the frame by a call in tail position.

        ``after`` has the registers that are killed between the block's end and that of the
        function; ``None`` if anything else happens there.
        """
        self._kill(self.held.dead_at_start.get(id(block), ()))
        bindings = tuple(block.bindings())
        tail = None if after is None else _tail(bindings, block.result)
        for position, binding in enumerate(bindings):
            if position == tail:
                assert after is not None
                rest = (*self._killed_in(bindings[position:]), *after)
                if self._last(binding, rest):
                    return True
            elif self._binding(binding, None):
                return True
            self._end(binding)
        if id(block) in self.held.shared_results:
            self.code.append(bc.Share((self.emitter.registers.of(block.result),)))
        return False

    def _killed_in(self, bindings: Sequence[Binding]) -> tuple[bc.Register, ...]:
        """Return the registers that are killed after the first of ``bindings``."""
        plans = [b.value for b in bindings if isinstance(b.value, Call) and b.value.op == "vm.kill"]
        found = [a for plan in plans for a in plan.args if isinstance(a, Var)]
        return tuple(map(self.emitter.registers.of, found))

    def _last(self, binding: Binding, rest: Sequence[bc.Register]) -> bool:
        """Emit a binding whose value is the function's result; ``rest`` is killed after it.

        Return whether nothing goes on after it, as after a call.
        """
        if is_call(binding, self.emitter):
            self._share_before(binding)
            if rest:
                self.code.append(bc.Kill(tuple(dict.fromkeys(rest))))
            emit_value(self.emitter, binding, in_tail=True)
            return True
        return self._binding(binding, rest)

    def _end(self, binding: Binding) -> None:
        """Emit what follows a binding: the holds that it takes, and those that end with it."""
        if binding.var in self.held.shared_after:
            self.code.append(bc.Share((self.emitter.registers.of(binding.var),)))
        self._kill(self.held.dead_after.get(binding.var, ()))

    def _kill(self, variables: Sequence[Var]) -> None:
        if variables:
            self.code.append(bc.Kill(tuple(map(self.emitter.registers.of, variables))))

    def _share_before(self, binding: Binding) -> None:
        shared = self.held.shared_before.get(binding.var)
        if shared:
            self.code.append(bc.Share(tuple(map(self.emitter.registers.of, shared))))

    def _binding(self, binding: Binding, after: Sequence[bc.Register] | None) -> bool:
        """Emit a binding; ``after`` is as of `block`. Return whether nothing goes on after it."""
        self._share_before(binding)
        match binding.value:
            case If() as branch:
                return self._if(binding, branch, after)
            case Match() as match:
                return self._match(binding, match, after)
            case Call(op=op) as call if op in PLANNED:
                emit_planned(self.emitter, binding, call)
            case Call(op=op) as call if op in self.emitter.ops:
                emit_call(self.emitter, binding, call)
            case Invoke(callee=GlobalRef(function=name)) as invoke if self.emitter.is_kernel(name):
                callee = self.emitter.module.by_name[name]
                self.emitter.launch_primitive(binding, invoke, callee, ())
            case Constant() | Weight() | ShapeLiteral() as known:
                self._known(binding, known)
            case Alias() | Project() | MakeTuple() as other:
                self._rename(binding, other)
            case _:
                emit_value(self.emitter, binding, in_tail=False)
        return False

    def _known(self, binding: Binding, value: Constant | Weight | ShapeLiteral) -> None:
        var, register = binding.var, self.emitter.registers.of(binding.var)
        if isinstance(value, ShapeLiteral):
            site = site_of("shape", var, value.span)
            self.code.append(bc.MakeShape(register, value.dims, site))
            return
        if isinstance(value, Constant):
            self.emitter.constants[var] = value
        device = self.emitter.tables.device(device_of(var))
        slot = self.emitter.tables.constant(binding, value, device)
        self.code.append(bc.LoadConstant(register, slot))

    def _rename(self, binding: Binding, value: Alias | Project | MakeTuple) -> None:
        """Emit an expression that only gives values other names."""
        var, registers = binding.var, self.emitter.registers
        match value:
            case Alias(var=source):
                register = registers.of(source)
                self.code.append(bc.Move(self.emitter.alias(var, source), register))
            case Project(tuple=source, index=index):
                register = registers.of(source)
                target = self.emitter.alias(var, source, index)
                self.code.append(bc.Project(target, register, index))
            case MakeTuple(items=items):
                made = tuple(map(registers.of, items))
                self.code.append(bc.MakeTuple(registers.of(var), made))

    def _if(self, binding: Binding, branch: If, after: Sequence[bc.Register] | None) -> bool:
        site = site_of("if", binding.var, branch.span)
        condition = self.emitter.read(branch.condition, site)
        at_branch = len(self.code)
        self.code.append(bc.Branch(condition, 0))
        jumps = self._arm(branch.then, binding.var, after)
        self.code[at_branch] = bc.Branch(condition, len(self.code))
        jumps += self._arm(branch.orelse, binding.var, after)
        return self._land(jumps)

    def _match(self, binding: Binding, match: Match, after: Sequence[bc.Register] | None) -> bool:
        site = site_of("match", binding.var, match.span)
        jumps: list[int] = []
        for arm in match.arms:
            tests = emit_tests(self.emitter, match.scrutinee, arm.pattern, site)
            found = self.held.found.get(id(arm.body))
            if found:
                self.code.append(bc.Share(tuple(map(self.emitter.registers.of, found))))
            jumps += self._arm(arm.body, binding.var, after)
            for at, test in tests:
                self.code[at] = replace(test, orelse=len(self.code))
            if not tests:
                return self._land(jumps)
        message = f"no arm of the match takes the value of %{match.scrutinee.name}"
        self.code.append(bc.Fail("match-failed", message, site))
        return self._land(jumps)

    def _arm(self, block: Block, result: Var, after: Sequence[bc.Register] | None) -> list[int]:
        """Emit an arm of a branch; return where it jumps to the branch's end.

        The branch's result has a register only if an arm reaches that end.
        """
        symbols, on_host = dict(self.emitter.symbols), dict(self.emitter.on_host)
        left = self.block(block, after)
        if not left:
            made = self.emitter.registers.of(block.result)
            self.code.append(bc.Move(self.emitter.registers.of(result), made))
            self.code.append(bc.Jump(0))
        self.emitter.symbols, self.emitter.on_host = symbols, on_host
        return [] if left else [len(self.code) - 1]

    def _land(self, jumps: list[int]) -> bool:
        """Let the ends of arms lead here; return whether there are none.

        The arm just before needs no jump.
        """
        if jumps and jumps[-1] == len(self.code) - 1:
            self.code.pop()
            del jumps[-1]
            reached = True
        else:
            reached = bool(jumps)
        for at in jumps:
            self.code[at] = bc.Jump(len(self.code))
        return not reached


def _tail(bindings: Sequence[Binding], result: Var) -> int | None:
    """Return the position of the binding whose value is ``result``, if nothing else follows it."""
    for position in range(len(bindings) - 1, -1, -1):
        var, value = bindings[position].var, bindings[position].value
        if var is result and isinstance(value, Alias):
            result = value.var
        elif var is result:
            return position
        elif not (isinstance(value, Call) and value.op == "vm.kill"):
            return None
    return None
