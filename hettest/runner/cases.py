"""Programs and arguments of cases, read once however many items need them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from hettest.case.expansion import Item
from hettest.case.model import ORACLE, Case, Run, Written
from hettest.case.requirements import of_item
from hettest.errors import CaseError, Problem
from hettest.language import DiagnosticError, Module
from hettest.runner.program import TextProgram

if TYPE_CHECKING:
    from hettest.backend.protocol import Value


@final
@dataclass
class CaseData:
    """What is read of cases during one session."""

    programs: dict[str, TextProgram] = field(default_factory=dict)

    def program(self, case: Case) -> TextProgram:
        """Return the case's program, without its markers; the same object for the same text."""
        known = self.programs.get(case.text)
        if known is None:
            known = self.programs[case.text] = TextProgram(case.id, case.text)
        return known

    def module(self, case: Case) -> Module | None:
        """Return the parsed program; ``None`` if it is malformed."""
        try:
            return self.program(case).module
        except DiagnosticError:
            return None

    def requires(self, item: Item) -> tuple[str, ...]:
        """Return the capability words that the item requires."""
        return of_item(item, self.module(item.case))


def arguments(case: Case, run: Run, module: Module) -> tuple[Value, ...]:
    """Return the run's arguments in the order of the entry's parameters.

    Raises:
        CaseError: The names are not those of the parameters, or there is no such entry.
    """
    function = module.by_name.get(run.entry)
    if function is None:
        raise _wrong(case, run, f"the program has no function @{run.entry}")
    names = [param.name for param in function.params]
    if set(names) != set(run.args):
        found = ", ".join(run.args) or "none"
        raise _wrong(case, run, f"found arguments {found}, expected {', '.join(names) or 'none'}")
    return tuple(_value(run.args, name, case) for name in names)


def _value(args: Mapping[str, Written], name: str, case: Case) -> Value:
    from hettest.case.tensors import value

    return value(args[name], case.path)


def literal(case: Case, run: Run) -> Value | None:
    """Return the result that the run states; ``None`` where the oracle judges."""
    from hettest.case.tensors import value

    if run.result is None or run.result == ORACLE or isinstance(run.result, str):
        return None
    return value(run.result, case.path)


def _wrong(case: Case, run: Run, message: str) -> CaseError:
    return CaseError([Problem(str(case.path), run.line, f"run {run.name}", message)])
