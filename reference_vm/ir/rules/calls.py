"""Calls of functions: the function is there, takes so many arguments, and keeps what is donated.

A dataflow block calls none that is not pure, and chooses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

from reference_vm.diagnostics import Diagnostic, catalog
from reference_vm.ir.nodes import (
    Alias,
    Arm,
    Call,
    Expr,
    Function,
    FunctionValue,
    GlobalRef,
    If,
    Invoke,
    Match,
    Var,
    operands,
)
from reference_vm.ir.rules.declarations import Declarations
from reference_vm.ir.rules.events import (
    Bound,
    Closed,
    ClosedDataflow,
    Event,
    Opened,
    OpenedDataflow,
    Reading,
    events,
)
from reference_vm.source import Span


def check(function: Function, declared: Declarations) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each wrong call in ``function``."""
    in_dataflow: list[bool] = []
    donations = _Donations(declared)
    for event in events(function):
        yield from donations.take(event)
        match event:
            case Opened() | OpenedDataflow():
                in_dataflow.append(isinstance(event, OpenedDataflow))
            case Closed() | ClosedDataflow():
                in_dataflow.pop()
            case Reading(binding=binding):
                yield from _references(binding.value, declared)
                if in_dataflow[-1]:
                    yield from _purity(binding.value, declared)
            case Bound():
                pass


def _references(expr: Expr, declared: Declarations) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each unknown function that ``expr`` names, and a wrong call."""
    for name in _named(expr):
        if name not in declared.functions:
            yield catalog.unknown_function(name, list(declared.functions), expr.span)
    if not isinstance(expr, Invoke) or not isinstance(expr.callee, GlobalRef):
        return
    called = declared.functions.get(expr.callee.function)
    if called is None:
        return
    if len(expr.args) != len(called.params):
        found, expected = len(expr.args), len(called.params)
        yield catalog.wrong_argument_count(f"@{called.name}", found, expected, expr.span)
    elif None in expr.args:
        yield catalog.argument_left_out(called.name, expr.span)


def _named(expr: Expr) -> Iterator[str]:
    match expr:
        case FunctionValue(ref=ref):
            yield ref.function
        case Invoke(callee=callee, args=args):
            yield from (o.function for o in (callee, *args) if isinstance(o, GlobalRef))
        case Call(args=args):
            yield from (o.function for o in args if isinstance(o, GlobalRef))
        case _:
            return


def _purity(expr: Expr, declared: Declarations) -> Iterator[Diagnostic]:
    match expr:
        case If():
            yield catalog.impure_dataflow("`if`", expr.span)
        case Match():
            yield catalog.impure_dataflow("`match`", expr.span)
        case Invoke(callee=Var(name=name)):
            yield catalog.impure_dataflow(f"a call of the closure %{name}", expr.span)
        case Invoke(callee=GlobalRef(function=name)):
            called = declared.functions.get(name)
            if called is not None and called.attrs.get("pure") is not True:
                yield catalog.impure_dataflow(f"a call of @{name}", expr.span)
        case _:
            return


@final
@dataclass(slots=True)
class _Donations:
    """Which variables have been given away at one point of a function."""

    declared: Declarations
    gone: dict[Var, Span | None] = field(default_factory=dict)
    alias_of: dict[Var, Var] = field(default_factory=dict)
    branches: list[tuple[dict[Var, Span | None], dict[Var, Span | None]]] = field(
        default_factory=list
    )
    """For each open choice what was gone before it, and what is after the arms so far."""

    def take(self, event: Event) -> Iterator[Diagnostic]:
        match event:
            case Reading(binding=binding):
                yield from self._read(binding.value)
                if isinstance(binding.value, If | Match):
                    self.branches.append((self.gone, dict(self.gone)))
            case Opened(owner=If() | Arm()):
                self.gone = dict(self.branches[-1][0])
            case Closed(block=block, owner=owner):
                yield from self._use(block.result, block.span)
                if isinstance(owner, If | Arm):
                    self.branches[-1][1].update(self.gone)
            case Bound(binding=binding):
                if isinstance(binding.value, If | Match):
                    _, self.gone = self.branches.pop()
                elif isinstance(binding.value, Alias):
                    self.alias_of[binding.var] = self._root(binding.value.var)
            case _:
                return

    def _root(self, var: Var) -> Var:
        return self.alias_of.get(var, var)

    def _use(self, var: Var, span: Span | None) -> Iterator[Diagnostic]:
        root = self._root(var)
        if root in self.gone:
            yield catalog.use_after_donation(var.name, span, self.gone[root])

    def _read(self, expr: Expr) -> Iterator[Diagnostic]:
        if self.gone:
            for var in dict.fromkeys(operands(expr)):
                yield from self._use(var, expr.span)
        if isinstance(expr, Invoke) and isinstance(expr.callee, GlobalRef):
            called = self.declared.functions.get(expr.callee.function)
            if called is not None and called.donated:
                yield from self._give(expr, called)

    def _give(self, call: Invoke, called: Function) -> Iterator[Diagnostic]:
        roots = [self._root(a) if isinstance(a, Var) else None for a in call.args]
        for position in sorted(called.donated):
            root = roots[position] if position < len(roots) else None
            if root is None:
                continue
            if roots.count(root) > 1:
                yield catalog.use_after_donation(root.name, call.span, call.span)
            self.gone[root] = call.span
