"""Loops of ONNX as functions that call themselves in tail position.

For a loop of at most ``%limit`` trips that carries ``%v`` and collects a row from each trip::

    fn @loop0(%i: i64[], %limit: i64[], %v: f32[2], %rows: f32[n, 2]) -> (f32[2], f32[n, 2]) {
      %more = less(%i, %limit)
      %r = if %more {
        …                                        // the trip: %w from %v, and %row
        %kept = scatter_nd(%rows, %at, %row)
        %next = add(%i, %one)
        %rest = @loop0(%next, %limit, %w, %kept)
        yield %rest
      } else {
        %done = (%v, %rows)
        yield %done
      }
      return %r
    }

What the body reads of the graph around it becomes parameters (`captures`); how rows are collected
is `collecting`, and what types the loop carries is `carrying`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np

from reference_vm.analysis.compatibility import bind_symbols, bound_symbols
from reference_vm.exchange.builder import Builder
from reference_vm.exchange.captures import captures
from reference_vm.exchange.carrying import Carried, carried, widened
from reference_vm.exchange.collecting import Collector, Length, at_least_0, collector
from reference_vm.exchange.finish import finished
from reference_vm.exchange.refusals import invalid, unsupported
from reference_vm.ir.nodes import Binding, Block, Function, MakeTuple, Var
from reference_vm.ir.rewrite import substitute_block
from reference_vm.types import Dim, TensorType, TupleType, Type, leaves, substitute_dims
from reference_vm.types.dtype import BOOL, I64

ATTEMPTS: Final = 6
"""How often a body is translated until what it carries has one type on all trips."""


@final
@dataclass(frozen=True, slots=True)
class Trip:
    """What a body makes of one trip."""

    carried: Sequence[Var]
    rows: Sequence[Var] = ()
    """What is collected: a tensor for each output of this kind."""

    go: Var | None = None
    """Whether another trip may follow; ``None`` if only the limit ends the loop."""


Body: TypeAlias = Callable[[Builder, Var, Sequence[Var]], Trip]
"""Translates the body into a builder, given the number of the trip and what is carried."""


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """A loop to be made."""

    name: str
    """What its function is called, but for a number."""

    carried: Sequence[Var]
    """What the first trip starts from."""

    body: Body
    limit: Var | None = None
    """An i64 of rank 0: there are no more trips than this."""

    go: Var | None = None
    """A bool of rank 0: whether there is a first trip; ``None`` if only the limit says it."""

    length: Length = None
    """How many rows the results have if that is not as many as there were trips."""

    tells: bool = False
    """Whether the loop leaves the number of its trips, and whether it would go on."""


@final
@dataclass(frozen=True, slots=True)
class Left:
    """What a loop leaves."""

    carried: Sequence[Var]
    rows: Sequence[Var]
    trips: Var | None = None
    """The number of trips, if it was asked for."""

    go: Var | None = None
    """Whether it would go on but for its limit; ``None`` if that was not asked, or is certain."""

    rows_known: bool = True
    """Whether the dims of rows were known before the first trip."""


def make_loop(plan: Plan, build: Builder) -> Left:
    """Append a loop, add its function to the module, and return what it leaves.

    Raises:
        CompileError: The body cannot be translated, or what is carried changes its dtype.
    """
    types = [carried(_tensor(v, build), build.symbols) for v in plan.carried]
    for _ in range(ATTEMPTS):
        count = len(build.made)
        maker = _Maker(plan, build, types)
        wider = maker.types_after()
        if wider == types:
            return maker.finished()
        del build.made[count:]
        types = wider
    raise unsupported(build.where, "what the loop carries has no one type on all trips")


def _tensor(var: Var, build: Builder) -> TensorType:
    if not isinstance(var.type, TensorType):
        raise unsupported(build.where, f"the loop carries %{var.name}, which is {var.type}")
    return var.type


@final
@dataclass(slots=True)
class _Maker:
    """Makes the function of a loop, given the types of what it carries."""

    plan: Plan
    build: Builder
    types: Sequence[Carried]
    outer: Builder = field(init=False)
    """Of the function's body."""

    inner: Builder = field(init=False)
    """Of one trip, inside the body."""

    index: Var = field(init=False)
    carried: Sequence[Var] = field(init=False)
    trip: Trip = field(init=False)

    def __post_init__(self) -> None:
        self.outer = self.build.function()
        self.inner = self.outer.nested()
        self.index = self.outer.parameter("trip", TensorType(I64, ()))
        pairs = zip(self.plan.carried, self.types, strict=True)
        self.carried = [self.outer.parameter(self._name(v), t.param) for v, t in pairs]
        self.trip = self.plan.body(self.inner, self.index, self.carried)

    def _name(self, var: Var) -> str:
        return self.build.names.given.get(var, var.name)

    def types_after(self) -> list[Carried]:
        """Return the types that hold what is carried into this trip and out of it."""
        found: list[Carried] = []
        for known, var in zip(self.types, self.trip.carried, strict=True):
            type_ = _tensor(var, self.build)
            if type_.dtype != known.param.dtype:
                message = f"the loop carries {known.param.dtype} into a trip and {type_.dtype} out"
                raise invalid(self.build.where, message)
            found.append(widened(known, type_, self.build.symbols))
        return found

    def finished(self) -> Left:
        """Add the function to the module, append its first call, and return what it leaves."""
        stop = self._stop()
        if not stop:
            raise invalid(self.build.where, "has neither a number of trips nor a condition")
        collectors = self._collectors()
        function, given = self._function(stop, collectors)
        self.build.made.append(function)
        start = [self.build.constant(np.asarray(0), I64), *stop.values()]
        arguments = [*start, *self.plan.carried, *(c.start for c in collectors), *given]
        items = self.build.items(_invoke(function, arguments, self.build))
        count, last = len(self.carried), len(self.carried) + len(collectors)
        told = dict(zip(self._told(stop, collectors), items[last:], strict=True))
        rows = [
            c.cut(self.build, r, told[self.index]) if c.grows else r
            for c, r in zip(collectors, items[count:last], strict=True)
        ]
        go = next((told[v] for v in stop if v in told), None)
        known = all(c.rows_known for c in collectors)
        return Left(items[:count], rows, told.get(self.index), go, known)

    def _told(self, stop: Iterable[Var], collectors: Sequence[Collector]) -> list[Var]:
        """Return what of its own parameters the function leaves besides."""
        if self.plan.tells:
            return [self.index, *(v for v in stop if v.tensor.dtype == BOOL)]
        return [self.index] if any(c.grows for c in collectors) else []

    def _collectors(self) -> list[Collector]:
        length = self._length() if self.plan.length is None else self.plan.length
        varying = frozenset[str]().union(*(bound_symbols(t.param) for t in self.types if t.varying))
        return [collector(row, length, varying, self.build, self.outer) for row in self.trip.rows]

    def _length(self) -> Length:
        """Return how many trips there are, if that is known before the first."""
        limit = self.plan.limit
        if limit is None or self.plan.go is not None or self.trip.go is not None:
            return None
        content = self.build.content(limit)
        if content is None:
            return limit
        (length,) = content
        return at_least_0(length)

    def _stop(self) -> dict[Var, Var]:
        """Return the parameters that say when the loop ends, with what they are at the start."""
        found: dict[Var, Var] = {}
        if self.plan.limit is not None:
            found[self.outer.parameter("limit", TensorType(I64, ()))] = self.plan.limit
        if self.plan.go is not None or self.trip.go is not None:
            go = self.plan.go or self.build.constant(np.asarray(True))
            found[self.outer.parameter("go", TensorType(BOOL, ()))] = go
        return found

    def _function(
        self, stop: Mapping[Var, Var], collectors: Sequence[Collector]
    ) -> tuple[Function, Sequence[Var]]:
        """Return the function, and what it is to be given of the graph around it."""
        told = self._told(stop, collectors)
        types: list[Type] = [t.result for t in self.types]
        result = TupleType((*types, *(c.result for c in collectors), *(v.tensor for v in told)))
        again = self._again(list(stop), collectors)
        own = [self.index, *stop, *self.carried, *(c.param for c in collectors)]
        read = _read(self.inner, again)
        needed = captures(read, own, _dims(result), self.build.names.given, self.outer)
        params = (*own, *needed.params)
        name = f"{self.plan.name}{len(self.build.made)}"
        head = Function(name, params, result, Block((), own[0]))
        rest = _invoke(head, (*again, *needed.params), self.inner)
        done = self.outer.nested()
        whole = done.pack([*self.carried, *(c.param for c in collectors), *told])
        leave = Block(tuple(done.bindings), whole)
        then = Block(tuple(self.inner.bindings), rest)
        chosen = self.outer.branch(self._more(list(stop)), then, leave, result)
        body = substitute_block(Block(tuple(self.outer.bindings), chosen), needed.renamed)
        body, params = finished(body, params, self.outer.names)
        return Function(name, params, result, body), needed.arguments(self.build)

    def _again(self, stop: Sequence[Var], collectors: Sequence[Collector]) -> list[Var]:
        """Return what the next trip is given."""
        inner, trip = self.inner, self.trip
        pairs = zip(collectors, trip.rows, strict=True)
        rows = [c.written(row, self.index, inner) for c, row in pairs]
        following = inner.call("add", self.index, inner.constant(np.asarray(1), I64))
        stays = [v if v.tensor.dtype != BOOL else self._goes_on() for v in stop]
        return [following, *stays, *trip.carried, *rows]

    def _goes_on(self) -> Var:
        return self.trip.go or self.inner.constant(np.asarray(True))

    def _more(self, stop: Sequence[Var]) -> Var:
        """Append what says whether there is another trip."""
        outer = self.outer
        signs = [v if v.tensor.dtype == BOOL else outer.call("less", self.index, v) for v in stop]
        return signs[0] if len(signs) == 1 else outer.call("logical_and", *signs)


def _read(inner: Builder, results: Sequence[Var]) -> Block:
    """Return a block that reads what one trip reads, and what it hands on."""
    kinds = (v.type for v in results)
    whole = Var("again", TupleType(tuple(k for k in kinds if k is not None)))
    return Block((*inner.bindings, Binding(whole, MakeTuple(tuple(results)))), whole)


def _dims(type_: Type) -> list[Dim]:
    return [dim for leaf in leaves(type_) for dim in leaf.shape or ()]


def _invoke(function: Function, arguments: Sequence[Var], build: Builder) -> Var:
    """Append a call, with the result's type in terms of the arguments."""
    values: dict[str, Dim] = {}
    for param, argument in zip(function.params, arguments, strict=True):
        assert param.type is not None
        assert argument.type is not None
        bind_symbols(param.type, argument.type, values)
    result = substitute_dims(function.result, values)
    return build.invoke(function.name, arguments, result)


__all__ = ["ATTEMPTS", "Body", "Left", "Plan", "Trip", "make_loop"]
