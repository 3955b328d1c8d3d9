"""Give every variable its type.

Before::

    fn @main(%x: f32[n, 4]) -> f32[n] {
      %s = sum(%x, axis = 1)
      return %s
    }

After::

    fn @main(%x: f32[n, 4]) -> f32[n] {
      %s: f32[n] = sum(%x, axis = [1], keepdims = false)
      return %s
    }

Attributes have their defaults, dataflow blocks are gone, and every variable knows what it is called
in the program, ``main/%s`` (`Var.source`). A type written on a binding must be one that the value
always has; the inferred one, which may say more, is kept, with the device that was written. Where
only a run can tell, ``match_cast`` asserts it. Everything that is wrong is reported at once; what
depends on a wrong binding is left out of the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, final

from reference_vm.analysis.compatibility import (
    Agreement,
    agreement,
    bound_symbols,
    forget_symbols,
    join,
    placed_as,
)
from reference_vm.analysis.data_types import DataTypes
from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Alias,
    Arm,
    Binding,
    Block,
    Call,
    Closure,
    Function,
    FunctionValue,
    If,
    Match,
    Module,
    Var,
    blocks,
    operands,
)
from reference_vm.ops.definition import Content, OpDef
from reference_vm.passes.construct_types import pattern_types
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.expression_types import Typed, type_of
from reference_vm.passes.policies import qualified
from reference_vm.source import Span
from reference_vm.types import FunctionType, TensorType, Type, map_tensors


@final
@dataclass(frozen=True)
class InferTypes:
    """``infer-types``: give every variable its type."""

    name: ClassVar[str] = "infer-types"
    requires: ClassVar[frozenset[Property]] = frozenset()
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.TYPED})

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with every type known.

        Raises:
            CompileError: With all that is wrong.
        """
        problems: list[Diagnostic] = []
        module = module.with_functions([_with_policies(f, problems) for f in module.functions])
        signatures = {f.name: signature(f) for f in module.functions}
        types = DataTypes(module)
        functions = [
            _FunctionTyper(function, ctx.ops, signatures, types, problems).run()
            for function in module.functions
        ]
        if problems:
            raise CompileError(*problems)
        return module.with_functions(functions)


def _with_policies(function: Function, problems: list[Diagnostic]) -> Function:
    try:
        return qualified(function)
    except CompileError as error:
        problems.extend(error.diagnostics)
        return function


def signature(function: Function) -> FunctionType:
    """Return the type of ``function`` as a value; its parameters' types are always written."""
    params = tuple(p.type for p in function.params if p.type is not None)
    assert len(params) == len(function.params), f"@{function.name} has a parameter without type"
    return FunctionType(params, function.result)


class _FunctionTyper:
    """Types one function; a variable that cannot be typed is left out of ``renamed``."""

    def __init__(
        self,
        function: Function,
        ops: Mapping[str, OpDef],
        signatures: Mapping[str, FunctionType],
        types: DataTypes,
        problems: list[Diagnostic],
    ) -> None:
        self.function = function
        self.ops = ops
        self.signatures = signatures
        self.types = types
        self.problems = problems
        self.renamed: dict[Var, Var] = {}
        self.contents: dict[Var, Content] = {}
        self.symbols: set[str] = set()
        self.named: dict[Var, str] = {}
        """Which function of the module a variable is."""

    def run(self) -> Function:
        function = self.function
        found = rewrite.depth(function.body)
        if found > rewrite.MAX_DEPTH:
            limit = rewrite.MAX_DEPTH
            self._report(catalog.nesting_too_deep(function.name, found, limit, function.span))
            return function
        for param in function.params:
            assert param.type is not None
            self.symbols |= bound_symbols(param.type)
            self.renamed[param] = self._typed(param, param.type)
        body = self._block(function.body)
        params = tuple(self.renamed[p] for p in function.params)
        if body is None:
            return function
        span = body.span or function.span
        self._check(f"the result of @{function.name}", body.result, function.result, span)
        return replace(function, params=params, body=body)

    def _report(self, *problems: Diagnostic) -> None:
        self.problems.extend(problems)

    def _typed(self, var: Var, type_: Type) -> Var:
        source = var.source or f"{self.function.name}/%{var.name}"
        return Var(var.name, type_, var.span, source, var.node)

    def _block(self, block: Block) -> Block | None:
        """Return ``block`` typed; ``None`` if its result has no type."""
        statements: list[Binding] = []
        for binding in block.bindings():
            typed = self._binding(binding)
            if typed is not None:
                statements.append(typed)
        result = self.renamed.get(block.result)
        return None if result is None else Block(tuple(statements), result, block.span)

    def _binding(self, binding: Binding) -> Binding | None:
        typed = self._expression(binding)
        if typed is None:
            if binding.var.type is not None:  # go on with what the program promises
                self.renamed[binding.var] = self._typed(binding.var, binding.var.type)
            return None
        type_ = placed_as(typed.type, binding.var.type)
        var = self._typed(binding.var, type_)
        self.renamed[binding.var] = var
        if typed.content is not None:
            self.contents[var] = typed.content
        if isinstance(typed.value, FunctionValue):
            self.named[var] = typed.value.ref.function
        elif isinstance(typed.value, Alias) and typed.value.var in self.named:
            self.named[var] = self.named[typed.value.var]
        if binding.var.type is not None and binding.var.type != type_:
            self._check(f"%{var.name}", var, binding.var.type, binding.var.span)
        return Binding(var, typed.value, binding.request)

    def _expression(self, binding: Binding) -> Typed | None:
        value = binding.value
        try:
            if any(v not in self.renamed for v in operands(value)):
                return None
            if isinstance(value, If):
                return self._if(value)
            if isinstance(value, Match):
                return self._match(value)
            if isinstance(value, Closure):
                return self._closure(binding, value)
            if isinstance(value, Call) and value.op == "match_cast" and binding.var.type:
                self.symbols |= bound_symbols(binding.var.type)
            return type_of(
                binding,
                self.renamed,
                self.contents,
                self.ops,
                self.signatures,
                self.types,
                self.named,
            )
        except CompileError as error:
            self._report(*error.diagnostics)
            return None

    def _if(self, value: If) -> Typed | None:
        condition = self.renamed[value.condition]
        if not _decides(condition.type):
            expected = "a rank-0 bool or integer tensor"
            found = str(condition.type)
            self._report(catalog.type_mismatch("the condition", found, expected, value.span))
        known = set(self.symbols)
        then = self._block(value.then)
        self.symbols = set(known)
        orelse = self._block(value.orelse)
        self.symbols = known
        if then is None or orelse is None:
            return None
        return self._joined(replace(value, condition=condition, then=then, orelse=orelse))

    def _match(self, value: Match) -> Typed | None:
        scrutinee = self.renamed[value.scrutinee]
        assert scrutinee.type is not None
        known = set(self.symbols)
        arms = []
        for arm in value.arms:
            self.symbols = set(known)
            for var, type_ in pattern_types(arm.pattern, scrutinee.type, self.types, value.span):
                self.renamed[var] = self._typed(var, type_)
            body = self._block(arm.body)
            if body is not None:
                arms.append(Arm(rewrite.renamed_pattern(arm.pattern, self.renamed), body))
        self.symbols = known
        if len(arms) < len(value.arms):
            return None
        return self._joined(replace(value, scrutinee=scrutinee, arms=tuple(arms)))

    def _closure(self, binding: Binding, value: Closure) -> Typed | None:
        known = set(self.symbols)
        for param in value.params:
            assert param.type is not None
            self.symbols |= bound_symbols(param.type)
            self.renamed[param] = self._typed(param, param.type)
        body = self._block(value.body)
        self.symbols = known
        if body is None:
            return None
        span = body.span or value.span
        self._check(f"the result of %{binding.var.name}", body.result, value.result, span)
        params = tuple(self.renamed[p] for p in value.params)
        types = tuple(p.type for p in params if p.type is not None)
        typed = replace(value, params=params, body=body)
        type_ = forget_symbols(FunctionType(types, value.result), self.symbols)
        return Typed(typed, type_)

    def _joined(self, value: If | Match) -> Typed | None:
        """Return ``value`` with what all of its arms promise."""
        first, *others = blocks(value)
        joined, content = first.result.type, self.contents.get(first.result)
        assert joined is not None
        for block in others:
            other = block.result
            assert other.type is not None
            both = join(joined, other.type)
            if both is None:
                what = f"the arms of {type(value).__name__.lower()} yield different types"
                span = block.span or value.span
                self._report(catalog.type_mismatch(what, str(other.type), str(joined), span))
                return None
            joined = both
            content = content if content == self.contents.get(other) else None
        joined = map_tensors(joined, lambda leaf: leaf.on(None))
        return Typed(value, forget_symbols(joined, self.symbols), content)

    def _check(self, what: str, var: Var, asked: Type, span: Span | None) -> None:
        """Report that ``var`` is not always of the type asked for."""
        assert var.type is not None
        agreed = agreement(var.type, asked)
        if agreed is Agreement.ALWAYS:
            return
        wording = (
            catalog.type_mismatch if agreed is Agreement.NEVER else catalog.not_statically_known
        )
        self._report(wording(what, str(var.type), str(asked), span))


def _decides(type_: Type | None) -> bool:
    """Whether a value of this type may be a condition."""
    return isinstance(type_, TensorType) and type_.rank == 0 and not type_.dtype.is_float


__all__ = ["InferTypes", "signature"]
