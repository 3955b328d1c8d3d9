"""The promises of the corpus, and what breaks them.

Every file keeps the schema; its program parses unless it is meant to be refused; its exact numbers
follow from the definition; its summary states a fact.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from hettest.case.clauses import Clause
from hettest.case.counts import Transfers, transfers
from hettest.case.expansion import Item, expand, roles_of
from hettest.case.explicit import NotExplicit
from hettest.case.fitting import mismatch
from hettest.case.keys import wrong_keys
from hettest.case.levels import wrong_level
from hettest.case.loader import load, markers
from hettest.case.model import ORACLE, Case, Counts, Limits, Run, Tensor, Written
from hettest.case.walk import bindings, name_of
from hettest.errors import CaseError, Problem
from hettest.language import (
    CODES,
    DiagnosticError,
    Module,
    Poly,
    TensorType,
    TupleType,
    Type,
    nodes,
    operators,
    parse,
)


def problems_in(
    files: Iterable[Path], root: Path, listed: Mapping[str, Clause] | None = None
) -> Iterator[Problem]:
    """Yield every problem of the case files, file by file.

    Args:
        files: The case files.
        root: The folder under which their ids are paths.
        listed: The clauses that they may name; ``None`` if any will do.
    """
    for path in files:
        try:
            cases = load(path, root)
        except CaseError as error:
            yield from error.problems
            continue
        yield from _file_problems(path, cases, listed)


def _file_problems(
    path: Path, cases: Sequence[Case], listed: Mapping[str, Clause] | None
) -> Iterator[Problem]:
    yield from wrong_keys(path, cases, listed)
    seen: set[str] = set()
    for one in cases:
        for problem in _Checker(one).problems():
            if str(problem) not in seen:
                seen.add(str(problem))
                yield problem


@final
@dataclass(frozen=True)
class _Checker:
    case: Case

    def _problem(self, where: str, message: str, line: int | None = None) -> Problem:
        return Problem(str(self.case.path), line, where, message)

    def problems(self) -> Iterator[Problem]:
        case = self.case
        yield from self._codes()
        try:
            module = parse(case.program, case.id)
        except DiagnosticError as error:
            yield from self._malformed(error)
            return
        if case.refused:
            return
        yield from self._operators(module)
        yield from self._names(module)
        wrong = [problem for run in case.runs for problem in self._run(run, module)]
        yield from wrong
        if not wrong:
            yield from self._level(module)
            yield from self._numbers(module)

    def _codes(self) -> Iterator[Problem]:
        """Yield the markers and errors that name no diagnostic."""
        case = self.case
        for number, line in enumerate(case.program.split("\n"), start=1):
            if line.count("//~") > sum(1 for _ in markers(line)):
                yield self._problem(
                    "program", "has a marker without a code", case.file_line(number)
                )
        for marker in case.markers:
            if marker.code not in CODES:
                line_ = case.file_line(marker.line)
                yield self._problem("program", _no_code(marker.code), line_)
        for run in case.runs:
            if run.error is not None and run.error not in CODES:
                yield self._problem(f"run {run.name}.error", _no_code(run.error), run.line)

    def _malformed(self, error: DiagnosticError) -> Iterator[Problem]:
        found = error.diagnostics[0]
        line = None if found.span is None else self.case.file_line(found.span.line)
        codes = {marker.code for marker in self.case.markers}
        if not self.case.refused:
            yield self._problem("program", f"{found.message} [{found.code}]", line)
        elif found.code not in codes:
            message = f"is refused with {found.code}, expected {' or '.join(sorted(codes))}"
            yield self._problem("program", message, line)

    def _operators(self, module: Module) -> Iterator[Problem]:
        """Yield the operators that the language does not have, each on its line."""
        for function in module.functions:
            for binding in bindings(function):
                call = binding.value
                if isinstance(call, nodes.Call) and call.op not in operators():
                    line = None if call.span is None else self.case.file_line(call.span.line)
                    near = difflib.get_close_matches(call.op, operators(), n=1)
                    hint = f"; did you mean {near[0]}?" if near else ""
                    yield self._problem("program", f"found no operator {call.op}{hint}", line)

    def _names(self, module: Module) -> Iterator[Problem]:
        roles = {vdevice.role for vdevice in module.vdevices}
        if set(roles_of(self.case.program)) != {v.role for v in module.vdevices if not v.device}:
            yield self._problem("program", "the roles cannot be read off the text")
        variables = {name_of(f, b.var): b for f in module.functions for b in bindings(f)}
        line = self.case.expect.placement_line
        for key, role in self.case.expect.placement.items():
            function, slash, name = key.rpartition("/")
            binding = variables.get(f"{function if slash else 'main'}/%{name}")
            where = f"expect.placement.{key}"
            if binding is None:
                yield self._problem(where, f"the program binds no %{name}", line)
            elif binding.request is None:
                message = "is not requested in the program; only requested operators may be listed"
                yield self._problem(where, message, line)
            elif binding.request.role != role:
                message = f"says @{role}, but the program requests @{binding.request.role}"
                yield self._problem(where, message, line)
            if role not in roles:
                yield self._problem(where, f"@{role} is no role of the program", line)
        for role in (*self.case.unbound, *((self.case.default,) if self.case.default else ())):
            if role not in roles:
                yield self._problem("", f"@{role} is no role of the program")

    def _run(self, run: Run, module: Module) -> Iterator[Problem]:
        where = f"run {run.name}"
        function = module.by_name.get(run.entry)
        if function is None:
            yield self._problem(where, f"the program has no function @{run.entry}", run.line)
            return
        wanted = {param.name: param.type for param in function.params}
        for name in sorted(set(wanted) ^ set(run.args)):
            known = "has no parameter" if name in run.args else "needs an argument"
            yield self._problem(where, f"@{run.entry} {known} {name}", run.line)
        yield from self._arrays(run)
        for name, written in run.args.items():
            if name in wanted and (wrong := mismatch(written, wanted[name], module)):
                yield self._problem(f"{where}.args.{name}", wrong, run.line)
        if isinstance(run.result, Tensor | tuple) and (
            wrong := mismatch(run.result, function.result, module)
        ):
            yield self._problem(f"{where}.result", wrong, run.line)
        if run.result == ORACLE and self.case.expect.values.ulps is not None:
            message = "a looser bound needs a literal result"
            yield self._problem("expect.values", message, run.line)

    def _arrays(self, run: Run) -> Iterator[Problem]:
        """Yield what is wrong with the arrays themselves, such as a file that is missing."""
        from hettest.case.tensors import value

        written = list(run.args.values())
        if isinstance(run.result, Tensor | tuple):
            written.append(run.result)
        for one in written:
            try:
                value(one, self.case.path)
            except CaseError as error:
                yield from error.problems

    def _level(self, module: Module) -> Iterator[Problem]:
        items = expand(self.case, _named(self.case))
        wrong = wrong_level(self.case, module, items[0].binding) if items else None
        if wrong is not None:
            yield self._problem("level", wrong)

    def _numbers(self, module: Module) -> Iterator[Problem]:
        items = [i for i in expand(self.case, _named(self.case)) if i.is_straight and i.run]
        for item in items:
            for name, counts in (
                ("copies", item.case.expect.copies),
                ("moved", item.case.expect.moved),
            ):
                if counts is not None:
                    yield from self._counted(item, module, name, counts)

    def _counted(self, item: Item, module: Module, name: str, counts: Counts) -> Iterator[Problem]:
        number = counts.number.get(item.policy, Limits())
        size = counts.bytes.get(item.policy, Limits())
        exact = number.exact is not None or size.exact is not None
        where = f"expect.{name}"
        try:
            found = _transfers(item, module)
        except NotExplicit as error:
            if exact:
                message = f"an exact number needs a fully explicit program: {error}"
                yield self._problem(where, message, counts.line)
            return
        of_number, of_size = _of(found, name)
        for limits, right, what in ((number, of_number, ""), (size, of_size, " bytes")):
            if not limits.admits(right):
                message = f"says {limits}{what} under {item.policy}; the definition gives {right}"
                yield self._problem(where, message, counts.line)


def _no_code(code: str) -> str:
    close = difflib.get_close_matches(code, CODES, n=1)
    return f"{code} is no code{f'; did you mean {close[0]}?' if close else ''}"


def _of(found: Transfers, name: str) -> tuple[int, int]:
    if name == "copies":
        return found.copies, found.copied_bytes
    return found.moved, found.moved_bytes


def _named(case: Case) -> tuple[str, ...]:
    """Return devices enough for each role to have its own."""
    roles = max(2, len(roles_of(case.program)))
    return ("cpu:0", *(f"sim:{i}" for i in range(roles - 1)))


def _transfers(item: Item, module: Module) -> Transfers:
    assert item.run is not None
    function = module.by_name[item.run.entry]
    sizes: dict[str, int] = {}
    for param in function.params:
        _read_sizes(param.type, item.run.args[param.name], sizes)
    return transfers(module, item.run.entry, item.binding, item.default, item.policy, sizes)


def _read_sizes(type_: Type | None, written: Written, sizes: dict[str, int]) -> None:
    if isinstance(type_, TupleType) and isinstance(written, tuple):
        for inner, item in zip(type_.items, written, strict=False):
            _read_sizes(inner, item, sizes)
    elif isinstance(type_, TensorType) and isinstance(written, Tensor):
        for dim, size in zip(type_.shape or (), written.shape, strict=False):
            if isinstance(dim, Poly):
                sizes.setdefault(str(dim), size)
