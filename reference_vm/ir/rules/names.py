"""Every variable is bound before it is read, where it can be seen, and bound once.

A region sees what is bound before it in the regions around; what it binds ends with it. Of a
dataflow block only the outputs are seen after it. Names are compared as long as they are those of
a text: once ``infer-types`` has run a variable has its `Var.source`, and its name is free.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, final

from reference_vm.diagnostics import Diagnostic, catalog
from reference_vm.ir.nodes import Binding, Block, Closure, Dataflow, Function, Var, operands
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

SUGGESTIONS: Final = 20
"""How many unbound variables of a function are answered with a near name."""

COMPARED: Final = 1000
"""In functions of more names no near one is looked for."""


def check(function: Function) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each variable that is read unbound or bound again."""
    scope = _Scope()
    for event in events(function):
        yield from scope.take(event)


@final
@dataclass(slots=True)
class _Scope:
    """What can be seen at one point of a function."""

    visible: set[Var] = field(default_factory=set)
    frames: list[list[Var]] = field(default_factory=list)
    """What each open region has bound, outermost first."""

    defining: list[Binding] = field(default_factory=list)
    """The bindings whose expressions are being read, outermost first."""

    hidden: dict[Var, str] = field(default_factory=dict)
    """What was bound but cannot be seen, and what to do about it."""

    bound: set[Var] = field(default_factory=set)
    names: dict[str, Var] = field(default_factory=dict)
    reported: set[Var] = field(default_factory=set)
    repeated: set[str] = field(default_factory=set)
    """Names bound twice; which of the two a later reader means is not worth a diagnostic."""

    def take(self, event: Event) -> Iterator[Diagnostic]:
        match event:
            case Opened(bound=bound):
                self.frames.append([])
                for var in bound:
                    yield from self._bind(var)
            case OpenedDataflow():
                self.frames.append([])
            case Reading(binding=binding):
                self.defining.append(binding)
                for var in operands(binding.value):
                    yield from self._read(var, binding.value.span)
            case Bound(binding=binding):
                self.defining.pop()
                yield from self._bind(binding.var)
            case ClosedDataflow(dataflow=dataflow):
                yield from self._close_dataflow(dataflow)
            case Closed(block=block):
                yield from self._close(block)

    def _close(self, block: Block) -> Iterator[Diagnostic]:
        yield from self._read(block.result, block.span)
        self._hide("it is bound in another region: yield it from there")

    def _close_dataflow(self, dataflow: Dataflow) -> Iterator[Diagnostic]:
        inside = set(self.frames[-1])
        for var in dataflow.outputs:
            if var in inside:
                continue
            if var in self.visible:
                hint = "an output is bound in its dataflow block"
                yield catalog.undefined_variable(var.name, dataflow.span, hint)
            else:
                yield from self._read(var, dataflow.span)
        outputs = [var for var in dataflow.outputs if var in inside]
        self._hide("it is bound in a dataflow block: add it to the output of the block")
        self.visible.update(outputs)
        self.frames[-1].extend(outputs)

    def _hide(self, hint: str) -> None:
        for var in self.frames.pop():
            self.visible.discard(var)
            self.hidden[var] = hint

    def _read(self, var: Var, span: Span | None) -> Iterator[Diagnostic]:
        if var in self.visible or var in self.reported:
            return
        self.reported.add(var)
        if _is_written(var) and var.name in self.repeated:
            return
        if var in self.hidden:
            yield catalog.undefined_variable(var.name, span, self.hidden[var])
            return
        span = var.span or span
        if any(isinstance(b.value, Closure) and _same(b.var, var) for b in self.defining):
            yield catalog.recursive_closure(var.name, span)
            return
        yield catalog.undefined_variable(var.name, span, self._nearest(var.name))

    def _nearest(self, name: str) -> str | None:
        if len(self.reported) > SUGGESTIONS or len(self.names) > COMPARED:
            return None  # comparing names is slow, and so many errors are no slip of the pen
        close = difflib.get_close_matches(name, self.names, n=1)
        return f"did you mean %{close[0]}?" if close else None

    def _bind(self, var: Var) -> Iterator[Diagnostic]:
        earlier = var if var in self.bound else self.names.get(var.name)
        if earlier is not None and (earlier is var or _is_written(var)):
            self.repeated.add(var.name)
            yield catalog.redefined_variable(var.name, var.span, earlier.span)
        if _is_written(var):
            self.names.setdefault(var.name, var)
        self.bound.add(var)
        self.visible.add(var)
        self.frames[-1].append(var)


def _is_written(var: Var) -> bool:
    """Whether the name of ``var`` is that of a text, which no pass has changed."""
    return var.span is not None and var.source is None


def _same(bound: Var, read: Var) -> bool:
    return bound is read or (_is_written(bound) and bound.name == read.name)
