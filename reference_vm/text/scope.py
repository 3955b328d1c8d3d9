"""The variables that the names of one function stand for, while it is read.

A name is the variable last bound to it. One that nothing has bound yet becomes a variable of its
own, which `ir.verify` reports.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from reference_vm.ir.nodes import Var
from reference_vm.text.cursor import Cursor
from reference_vm.text.type_parser import parse_type


@final
@dataclass(slots=True)
class Scope:
    """A place in the tokens of a function, and its variables so far."""

    c: Cursor
    variables: dict[str, Var] = field(default_factory=dict)

    def bind(self, var: Var) -> None:
        """Let the name of ``var`` stand for it."""
        self.variables[var.name] = var

    def typed(self) -> Var:
        """Read ``%x: type``."""
        c = self.c
        first = c.at
        name = c.name("LOCAL", "a variable")
        span = c.span(first)
        c.take(":")
        return Var(name, parse_type(c), span)

    def target(self) -> Var:
        """Read what a binding names, up to and with the ``=``."""
        c = self.c
        first = c.at
        name = c.name("LOCAL", "a variable")
        span = c.span(first)
        type_ = parse_type(c) if c.accept(":") else None
        c.take("=", "`=`" if type_ else "`:` or `=`")
        return Var(name, type_, span)

    def _read_slowly(self, at: int) -> Var:
        """Return the variable of a name that is quoted or not bound."""
        c = self.c
        c.at = at
        name = c.name("LOCAL", "a variable")
        known = self.variables.get(name)
        if known is None:
            known = self.variables[name] = Var(name, None, c.span(at))
        return known

    def read(self) -> Var:
        """Read a variable that is used."""
        c = self.c
        at = c.at
        if c.kinds[at] != "LOCAL":
            raise c.error("a variable such as %x")
        c.at = at + 1
        word = c.words[at]
        var = self.variables.get(word[1:])
        return self._read_slowly(at) if var is None or word[1] == '"' else var
