"""Walk a program and evaluate it in higher precision.

Three ways to walk:

* `evaluate`: end to end from the arguments, with a running bound on the error; where the run showed
  what it decided (a comparison, an argmax), the oracle follows it;
* `spread`: end to end again with random rounding, several times: what errors are typical;
* `check_locally`: each operator on the very operands that it got in the run, against the result
  that it gave. Operators that left no trace (fused away) are evaluated from their operands.

Programs need no types and no placement; what the oracle cannot walk is a diagnostic. A value of a
data type is a tuple that begins with its constructor's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from reference_vm.bytecode.symbols import lone_symbol
from reference_vm.diagnostics import CompileError, DataError, ExecutionError
from reference_vm.diagnostics import catalog as messages
from reference_vm.ir import trampoline
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Closure,
    Constant,
    Construct,
    Function,
    FunctionValue,
    GlobalRef,
    If,
    Invoke,
    MakeTuple,
    Match,
    Module,
    Project,
    ShapeLiteral,
    Var,
)
from reference_vm.ir.trampoline import Steps
from reference_vm.ops.catalog import OPS
from reference_vm.ops.typing import fill_attrs, operator
from reference_vm.oracle.blocks import last_reads, matched
from reference_vm.oracle.catalog import DECISIONS, MEANINGS
from reference_vm.oracle.definition import Operands
from reference_vm.oracle.estimate import Estimate, Result
from reference_vm.oracle.opening import meaning_of
from reference_vm.oracle.repetition import in_closures, repeated
from reference_vm.oracle.rounding import Rounding
from reference_vm.oracle.shown import decisions, name_of, shown_names, with_parts
from reference_vm.source import Span
from reference_vm.types import (
    AdtType,
    Attrs,
    Shape,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    substitute_params,
    tensors,
)
from reference_vm.types import dim as dims
from reference_vm.types.arrays import from_numpy, to_numpy

Array: TypeAlias = NDArray[Any]
Argument: TypeAlias = "Array | str | tuple[Argument, ...]"
"""A value of a data type is a tuple that begins with its constructor's name."""
Visit: TypeAlias = Callable[[str, str, Estimate, Array, Span | None], None]
"""Told of each result that the run showed: its name, its operator, the estimate, what was seen."""

LARGE: Final = 1 << 22
"""Elements of all results from which on evaluations with random rounding run two at a time."""

MAX_DEPTH: Final = 200_000
"""How deep calls of functions and branches may nest."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Closure:
    """A function as a value: the variables and symbols that it sees."""

    where: str
    params: tuple[Var, ...]
    body: Block
    environment: Mapping[Var, Any]
    symbols: Mapping[str, int]


@final
@dataclass
class _Walk:
    module: Module
    rounding: Rounding
    observed: Mapping[str, Array]
    """By source variable; what the run computed."""

    restart: bool
    """Whether to go on from what the run showed, in place of the oracle's own estimate."""

    visit: Visit | None = None

    def bind(self, type_: Type | None, value: Any, symbols: dict[str, int]) -> None:
        """Give the symbols that stand alone as dims of a type the sizes that a value has."""
        if type_ is None:
            return
        missing = _told_by(type_) - symbols.keys()
        stack: list[tuple[Type, Any]] = [(type_, value)]
        while stack and missing:
            top, found = stack.pop()
            match top:
                case TensorType(shape=asked) if isinstance(found, Estimate):
                    sizes = found.value.shape
                case ShapeType(dims=asked):
                    sizes = found
                case TupleType(items=items):
                    stack.extend(zip(reversed(items), reversed(found), strict=True))
                    continue
                case AdtType():
                    stack.extend(self._fields(top, found))
                    continue
                case _:
                    continue
            for axis, symbol in _lone_symbols(asked):
                symbols.setdefault(symbol, int(sizes[axis]))
                missing.discard(symbol)

    def _fields(self, type_: AdtType, value: Sequence[Any]) -> Iterator[tuple[Type, Any]]:
        """Yield the fields of a value of a data type with their types, the last one first."""
        name, *fields = value
        for adt in self.module.adts:
            for constructor in adt.constructors:
                if constructor.name == name:
                    given = dict(zip(adt.params, type_.args, strict=True))
                    types = [substitute_params(t, given) for t in constructor.fields]
                    yield from zip(reversed(types), reversed(fields), strict=True)

    def function(self, function: Function, args: Sequence[Any], depth: int) -> Steps[Result]:
        closure = _Closure(function.name, function.params, function.body, {}, {})
        return self.applied(closure, args, depth)

    def applied(self, closure: _Closure, args: Sequence[Any], depth: int) -> Steps[Result]:
        if depth > MAX_DEPTH:
            raise CompileError(messages.oracle_unsupported("recursion", closure.body.span))
        environment = {**closure.environment, **dict(zip(closure.params, args, strict=True))}
        symbols = dict(closure.symbols)
        for param, argument in zip(closure.params, args, strict=True):
            self.bind(param.type, argument, symbols)
        return self.block(closure.where, closure.body, environment, symbols, depth)

    def block(
        self,
        where: str,
        block: Block,
        environment: dict[Var, Any],
        symbols: dict[str, int],
        depth: int,
    ) -> Steps[Result]:
        last = last_reads(block)
        for position, binding in enumerate(block.bindings()):
            name, value = name_of(where, binding.var), binding.value
            self.rounding.at(id(binding))
            if isinstance(value, If | Match | Invoke):
                result = yield self.flow(where, value, environment, symbols, depth)
            else:
                result = self.plain(where, binding, environment, symbols)
            environment[binding.var] = self.compare(name, value, result)
            for dead in last.get(position, ()):
                environment.pop(dead, None)
        found: Result = environment[block.result]
        return found

    def plain(
        self,
        where: str,
        binding: Binding,
        environment: Mapping[Var, Any],
        symbols: dict[str, int],
    ) -> Any:
        """Return the value of an expression that runs no block."""
        match binding.value:
            case Call() as call:
                result = self.call(call, environment, name_of(where, binding.var))
                if call.op == "match_cast":
                    self.bind(binding.var.type, result, symbols)
                return result
            case Constant(dtype=dtype, shape=shape, data=data):
                array = np.frombuffer(data, to_numpy(dtype)).reshape(shape)
                return Estimate.exact(array, dtype)
            case Alias(var=var):
                return environment[var]
            case MakeTuple(items=items):
                return tuple(environment[item] for item in items)
            case Construct(constructor=name, args=items):
                return (name, *(environment[item] for item in items))
            case Project(tuple=source, index=index):
                return environment[source][index]
            case ShapeLiteral(dims=literal):
                return tuple(dims.evaluate(d, symbols) for d in literal)
            case Closure(params=params, body=body):
                return _Closure(where, params, body, dict(environment), dict(symbols))
            case FunctionValue(ref=ref):
                return self.named(ref)
            case value:
                construct = type(value).__name__.lower()
                raise CompileError(messages.oracle_unsupported(construct, value.span))

    def named(self, ref: GlobalRef) -> _Closure:
        """Return a function of the module as a value."""
        function = self.module.by_name[ref.function]
        return _Closure(function.name, function.params, function.body, {}, {})

    def flow(
        self,
        where: str,
        value: If | Match | Invoke,
        environment: Mapping[Var, Any],
        symbols: Mapping[str, int],
        depth: int,
    ) -> Steps[Result]:
        """Return the value of a branch or a call."""
        if isinstance(value, Invoke):
            given = [environment[a] if isinstance(a, Var) else self.named(a) for a in _given(value)]
            callee = value.callee
            called = environment[callee] if isinstance(callee, Var) else self.named(callee)
            return self.applied(called, given, depth + 1)
        inner = dict(environment)
        if isinstance(value, If):
            condition = environment[value.condition]
            assert isinstance(condition, Estimate)
            taken = value.then if bool(condition.value.reshape(())) else value.orelse
        else:
            scrutinee = environment[value.scrutinee]
            found = ((arm, matched(arm.pattern, scrutinee)) for arm in value.arms)
            arm, bound = next((arm, bound) for arm, bound in found if bound is not None)
            inner.update(bound)
            taken = arm.body
        return self.block(where, taken, inner, dict(symbols), depth + 1)

    def compare(self, name: str, value: object, result: Any) -> Any:
        """Report estimates that can be checked, and go on from what the run showed.

        The results of an operator are shown under its variable's name with their places: ``%t[0]``.
        """
        if isinstance(result, tuple) and isinstance(value, Call):
            parts = enumerate(result)
            return tuple(self.compare(f"{name}[{index}]", value, part) for index, part in parts)
        seen = self.observed.get(name)
        if seen is None or not isinstance(result, Estimate) or isinstance(value, Constant):
            return result
        if self.visit is not None:
            op = value.op if isinstance(value, Call) else type(value).__name__.lower()
            self.visit(name, op, result, seen, getattr(value, "span", None))
        if self.restart and seen.shape == result.value.shape:
            return Estimate.exact(seen, result.dtype)
        return result

    def call(self, call: Call, environment: Mapping[Var, Any], name: str) -> Result:
        op = operator(OPS, call.op, call.span)
        if call.op not in MEANINGS:
            raise CompileError(messages.oracle_unsupported(call.op, call.span))
        args = tuple(environment[a] if isinstance(a, Var) else None for a in call.args)
        attrs: Attrs = fill_attrs(op, call.attrs, call.span)
        decided = self.decided(call.op, name) if not self.restart else ()
        try:
            with np.errstate(all="ignore"):  # infinities and NaN are values like any other
                return meaning_of(call.op, Operands(args, attrs, self.rounding, decided))
        except DataError as error:
            raise ExecutionError(
                messages.data_error(error.code, error.message, call.span, error.help)
            ) from error

    def decided(self, op: str, name: str) -> tuple[Array | None, ...]:
        """Return what the run showed of a decision: its result, or the parts of its result."""
        if op not in DECISIONS or not self.observed:
            return ()
        return tuple(self.observed.get(shown) for shown in shown_names(op, name))


def _given(call: Invoke) -> Iterator[Var | GlobalRef]:
    yield from (a for a in call.args if a is not None)


def _lone_symbols(asked: Shape | None) -> Iterator[tuple[int, str]]:
    """Yield the symbols that stand alone as a dim, each with its axis."""
    for axis, dim in enumerate(asked or ()):
        name = lone_symbol(dim)
        if name is not None:
            yield axis, name


def _told_by(type_: Type) -> set[str]:
    """Return the symbols that a value of a type tells."""
    shapes = [type_.dims] if isinstance(type_, ShapeType) else [t.shape for t in tensors(type_)]
    return {symbol for shape in shapes for _, symbol in _lone_symbols(shape)}


def to_result(argument: Argument) -> Result:
    """Return an argument or an observed result as exact estimates."""
    return trampoline.run(_exactly(argument))


def _exactly(argument: Argument) -> Steps[Result]:
    if isinstance(argument, tuple):
        made: list[Any] = []
        for item in argument:
            made.append((yield _exactly(item)) if isinstance(item, tuple) else _leaf(item))
        return tuple(made)
    found: Result = _leaf(argument)
    return found


def _leaf(argument: Any) -> Any:
    """Return an array's estimate, and the name of a constructor as it is."""
    if isinstance(argument, str):
        return argument
    array = np.asarray(argument)
    return Estimate.exact(array, from_numpy(array.dtype))


def _walk(
    module: Module,
    entry: str,
    args: Sequence[Argument],
    rounding: Rounding,
    observed: Mapping[str, Array] | None,
    restart: bool = False,
    visit: Visit | None = None,
) -> Result:
    many, anew = repeated(module, entry), in_closures(module)
    once = {
        name: seen
        for name, seen in with_parts(module, observed or {}).items()
        if name.partition("/")[0] not in many and name.partition("[")[0] not in anew
    }
    walk = _Walk(module, rounding, once, restart, visit)
    return trampoline.run(walk.function(module.by_name[entry], [to_result(a) for a in args], 0))


@final
@dataclass(frozen=True)
class Evaluation:
    """A program's results in higher precision."""

    result: Result
    rounding: Rounding
    """The typical rounding errors met on the way, for `spread`."""


def evaluate(
    module: Module,
    entry: str,
    args: Sequence[Argument],
    observed: Mapping[str, Array] | None = None,
) -> Evaluation:
    """Evaluate ``entry`` in higher precision, following the decisions that the run showed.

    Raises:
        CompileError: The program has a construct that the oracle does not walk.
        ExecutionError: The data is at fault: a division by zero, an index out of range.
    """
    rounding = Rounding()
    return Evaluation(_walk(module, entry, args, rounding, observed), rounding)


def jumps(
    module: Module,
    entry: str,
    args: Sequence[Argument],
    evaluation: Evaluation,
    observed: Mapping[str, Array] | None = None,
) -> Result:
    """Evaluate ``entry`` with the errors that decisions cause, and no others."""
    rounding = Rounding(keeps_noise=False, replayed=evaluation.rounding.jumps)
    return _walk(module, entry, args, rounding, observed)


def spread(
    module: Module,
    entry: str,
    args: Sequence[Argument],
    evaluation: Evaluation,
    observed: Mapping[str, Array] | None = None,
    *,
    runs: int = 8,
    seed: int = 0,
) -> tuple[Result, ...]:
    """Evaluate ``entry`` ``runs`` times with random rounding at the working precision."""

    def one(run: int) -> Result:
        rounding = Rounding(np.random.default_rng((seed, run)), evaluation.rounding.noise)
        return _walk(module, entry, args, rounding, observed)

    if sum(noise.size for noise in evaluation.rounding.noise.values()) < LARGE:
        return tuple(map(one, range(runs)))
    with ThreadPoolExecutor(max_workers=2) as pool:
        return tuple(pool.map(one, range(runs)))


def check_locally(
    module: Module,
    entry: str,
    args: Sequence[Argument],
    observed: Mapping[str, Array],
    visit: Visit,
) -> Result:
    """Evaluate each operator on the operands it had in the run and tell ``visit`` of each result.

    Returns:
        The program's result as the last operators make it of what the run showed.
    """
    rounding = Rounding(keeps_noise=False)
    return _walk(module, entry, args, rounding, observed, restart=True, visit=visit)


__all__ = [
    "Evaluation",
    "Visit",
    "check_locally",
    "decisions",
    "evaluate",
    "jumps",
    "spread",
    "to_result",
]
