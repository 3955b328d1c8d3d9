"""Twins of a program: the same but for its names, which coincide wherever the language lets them.

A name is a function's, a variable's, a role's, a symbol's, a data type's, a constructor's or a type
parameter's. Names of different kinds have nothing to do with each other, nor have the variables and
symbols of two functions. A twin calls them all by the few names of one pool.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from reference_vm.analysis.compatibility import bound_symbols
from reference_vm.ir import nodes, rewrite
from reference_vm.passes.inlining import with_symbols
from reference_vm.types import (
    AdtType,
    Attrs,
    Dim,
    FunctionType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    VirtualDevice,
    substitute_dims,
)
from reference_vm.types.dim import substitute, symbol

PLAIN: Final = ("f", "g", "x", "n", "main", "host", "add", "negative", "List", "Nil", "Full", "T")
"""Names of functions, variables and roles."""

ODD: Final = (
    *("f.1", "main.f", "f.host", "x.accel", "p0", "v0", "d0", "fused_add_negative", "_", "0"),
    *("f/%x", "main/%f", "%f", "@f", "f g", "result", "vm.f", "*", "if", "f32"),
)
"""More of them: such as passes give, and such as must be quoted."""

SYMBOLS: Final = ("f", "n", "x", "main", "host", "N", "T", "List", "d0", "add", "f.n")
CAPITALS: Final = ("F", "N", "T", "List", "Nil", "Full", "A", "B", "Host")


@final
@dataclass(frozen=True)
class Twin:
    """A renamed module, and what became of the names that a run shows."""

    module: nodes.Module
    functions: Mapping[str, str]
    roles: Mapping[str, str]
    variables: Mapping[str, str]
    """``main/%x`` to ``f/%g``."""


def twin(module: nodes.Module, rng: random.Random) -> Twin:
    """Return ``module`` with names of few letters in place of its own."""
    return _Renamer(module, rng).run()


def nameless(module: nodes.Module) -> nodes.Module:
    """Return ``module`` with all variables called ``f``, which no text can say."""
    return module.with_functions(
        [rewrite.renamed(f, lambda v: replace(v, name="f", span=None)) for f in module.functions]
    )


@final
class _Renamer:
    def __init__(self, module: nodes.Module, rng: random.Random) -> None:
        self.module = module
        self.rng = rng
        self.pool = (*PLAIN, *ODD) if rng.random() < 0.5 else PLAIN
        self.functions = self._names([f.name for f in module.functions], self.pool)
        self.roles = self._names([v.role for v in module.vdevices], self.pool)
        self.types = self._names([a.name for a in module.adts], CAPITALS)
        constructors = [c.name for a in module.adts for c in a.constructors]
        self.constructors = self._names(constructors, CAPITALS)
        self.variables: dict[str, str] = {}

    def _names(self, names: Iterable[str], pool: Sequence[str]) -> dict[str, str]:
        """Return a new name for each, all different, from ``pool`` as far as it goes."""
        free = self.rng.sample(pool, len(pool))
        known = list(dict.fromkeys(names))
        numbered = (f"{free[i % len(free)]}{i}" for i in range(len(known)))
        return dict(zip(known, [*free, *numbered], strict=False))

    def run(self) -> Twin:
        module = self.module
        twin_ = nodes.Module(
            tuple(self._role(v) for v in module.vdevices),
            tuple(map(self._adt, module.adts)),
            tuple(_FunctionRenamer(f, self).run() for f in module.functions),
            module.version,
        )
        return Twin(twin_, self.functions, self.roles, self.variables)

    def _role(self, vdevice: VirtualDevice) -> VirtualDevice:
        return replace(vdevice, role=self.roles[vdevice.role])

    def place(self, vdevice: VirtualDevice | None) -> VirtualDevice | None:
        return None if vdevice is None else self._role(vdevice)

    def _adt(self, adt: nodes.Adt) -> nodes.Adt:
        free = [n for n in CAPITALS if n not in self.types.values()]
        params = self._names(adt.params, free)
        made = tuple(
            nodes.Constructor(
                self.constructors[c.name], tuple(self.type(t, {}, params) for t in c.fields)
            )
            for c in adt.constructors
        )
        return nodes.Adt(self.types[adt.name], tuple(params.values()), made)

    def type(self, type_: Type, dims: Mapping[str, Dim], params: Mapping[str, str]) -> Type:
        def tensor(old: TensorType) -> Type:
            return substitute_dims(old.on(self.place(old.vdevice)), dims)

        match type_:
            case TensorType():
                return tensor(type_)
            case ShapeType():
                return substitute_dims(type_, dims)
            case TupleType(items=items):
                return TupleType(tuple(self.type(t, dims, params) for t in items))
            case FunctionType(params=taken, result=result):
                given = tuple(self.type(t, dims, params) for t in taken)
                return FunctionType(given, self.type(result, dims, params))
            case AdtType(name=name, args=args):
                given = tuple(self.type(t, dims, params) for t in args)
                return AdtType(params.get(name) or self.types[name], given)


@final
class _FunctionRenamer:
    def __init__(self, function: nodes.Function, around: _Renamer) -> None:
        self.function = function
        self.around = around
        self.known: dict[nodes.Var, nodes.Var] = {}
        self.names = self._variables()

    def _variables(self) -> Mapping[nodes.Var, str]:
        """Return the new name of each variable; of those that are called, a function's first."""
        function, rng = self.function, self.around.rng
        variables = [*function.params, *rewrite.bound(function.body)]
        called = [v for b in rewrite.walk(function.body) if (v := _callee(b)) is not None]
        likely = [n for b in rewrite.walk(function.body) for n in _called(b)]
        likely = [self.around.functions[n] for n in dict.fromkeys(likely)]
        rng.shuffle(likely)
        free = iter(dict.fromkeys((*likely, *rng.sample(self.around.pool, len(self.around.pool)))))
        order = [*dict.fromkeys(called), *rng.sample(variables, len(variables))]
        found: dict[nodes.Var, str] = {}
        for var in order:
            if var not in found:
                found[var] = next(free, None) or f"f.{len(found)}"
        return found

    def run(self) -> nodes.Function:
        function = self.function
        dims: dict[str, Dim] = {}
        params = tuple(self._bind(p, dims, binds=True) for p in function.params)
        bounds = tuple(
            replace(b, symbol=str(dims.get(b.symbol, b.symbol))) for b in function.bounds
        )
        attrs = self._attrs(function.attrs, dims)
        result = self.around.type(function.result, dims, {})
        name = self.around.functions[function.name]
        for var, new in self.names.items():
            self.around.variables[f"{function.name}/%{var.name}"] = f"{name}/%{new}"
        body = self._block(function.body, dims)
        return nodes.Function(name, params, result, body, bounds, attrs, function.donated)

    def _bind(self, var: nodes.Var, dims: dict[str, Dim], *, binds: bool) -> nodes.Var:
        if binds and var.type is not None:
            self._bind_symbols(var.type, dims)
        type_ = None if var.type is None else self.around.type(var.type, dims, {})
        new = self.known[var] = nodes.Var(self.names[var], type_)
        return new

    def _bind_symbols(self, type_: Type, dims: dict[str, Dim]) -> None:
        """Name the symbols that ``type_`` binds; what is not seen here may be called the same."""
        for name in sorted(bound_symbols(type_) - dims.keys()):
            taken = {str(d) for d in dims.values()}
            free = [n for n in SYMBOLS if n not in taken] or [f"n{len(dims)}"]
            dims[name] = symbol(self.around.rng.choice(free))

    def _block(self, block: nodes.Block, dims: Mapping[str, Dim]) -> nodes.Block:
        inside = dict(dims)
        made = tuple(self._statement(s, inside) for s in block.statements)
        return nodes.Block(made, self.known[block.result])

    def _statement(self, statement: nodes.Statement, dims: dict[str, Dim]) -> nodes.Statement:
        if isinstance(statement, nodes.Binding):
            return self._binding(statement, dims)
        bindings = tuple(self._binding(b, dims) for b in statement.bindings)
        return nodes.Dataflow(bindings, tuple(self.known[v] for v in statement.outputs))

    def _binding(self, binding: nodes.Binding, dims: dict[str, Dim]) -> nodes.Binding:
        value = self._value(binding.value, dims)
        casts = isinstance(value, nodes.Call) and value.op == "match_cast"
        var = self._bind(binding.var, dims, binds=casts)
        return nodes.Binding(var, value, self.around.place(binding.request))

    def _value(self, old: nodes.Expr, dims: Mapping[str, Dim]) -> nodes.Expr:
        value = nodes.with_operands(old, self.known)
        match value:
            case nodes.Call(args=args, attrs=attrs):
                attrs = self._attrs(attrs, dims)
                return replace(value, args=tuple(map(self._operand, args)), attrs=attrs)
            case nodes.Invoke(callee=callee, args=args, attrs=attrs):
                called = self._reference(callee) if isinstance(callee, nodes.GlobalRef) else callee
                given = tuple(map(self._operand, args))
                return replace(value, callee=called, args=given, attrs=self._attrs(attrs, dims))
            case nodes.FunctionValue(ref=ref):
                return replace(value, ref=self._reference(ref))
            case nodes.Construct(constructor=name):
                return replace(value, constructor=self.around.constructors[name])
            case nodes.ShapeLiteral(dims=shape):
                return replace(value, dims=tuple(substitute(d, dims) for d in shape))
            case nodes.If(then=then, orelse=orelse):
                then, orelse = self._block(then, dims), self._block(orelse, dims)
                return replace(value, then=then, orelse=orelse)
            case nodes.Match(arms=arms):
                return replace(value, arms=tuple(self._arm(a, dims) for a in arms))
            case nodes.Closure(params=params, result=result, body=body):
                inside = dict(dims)
                taken = tuple(self._bind(p, inside, binds=True) for p in params)
                result = self.around.type(result, inside, {})
                return nodes.Closure(taken, result, self._block(body, inside))
            case _:
                return value

    def _operand(self, operand: nodes.Operand) -> nodes.Operand:
        return self._reference(operand) if isinstance(operand, nodes.GlobalRef) else operand

    def _reference(self, ref: nodes.GlobalRef) -> nodes.GlobalRef:
        return nodes.GlobalRef(self.around.functions[ref.function])

    def _arm(self, arm: nodes.Arm, dims: Mapping[str, Dim]) -> nodes.Arm:
        pattern = self._pattern(arm.pattern, dims)
        return nodes.Arm(pattern, self._block(arm.body, dims))

    def _pattern(self, pattern: nodes.Pattern, dims: Mapping[str, Dim]) -> nodes.Pattern:
        match pattern:
            case nodes.BindPattern(var=var):
                return nodes.BindPattern(self._bind(var, dict(dims), binds=False))
            case nodes.ConstructorPattern(constructor=name, items=items):
                inner = tuple(self._pattern(p, dims) for p in items)
                return nodes.ConstructorPattern(self.around.constructors[name], inner)
            case nodes.TuplePattern(items=items):
                return nodes.TuplePattern(tuple(self._pattern(p, dims) for p in items))
            case _:
                return pattern

    def _attrs(self, attrs: Attrs, dims: Mapping[str, Dim]) -> Attrs:
        return Attrs({name: with_symbols(value, dims) for name, value in attrs.items()})


def _callee(binding: nodes.Binding) -> nodes.Var | None:
    """Return the variable that a binding calls."""
    value = binding.value
    called = value.callee if isinstance(value, nodes.Invoke) else None
    return called if isinstance(called, nodes.Var) else None


def _called(binding: nodes.Binding) -> Iterator[str]:
    """Yield the functions that a binding calls or mentions."""
    value = binding.value
    found: tuple[nodes.Operand, ...] = ()
    if isinstance(value, nodes.Invoke):
        found = (value.callee, *value.args)
    if isinstance(value, nodes.FunctionValue):
        found = (value.ref,)
    yield from (o.function for o in found if isinstance(o, nodes.GlobalRef))


__all__ = ["Twin", "nameless", "twin"]
