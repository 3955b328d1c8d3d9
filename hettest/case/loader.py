"""Reads a case file: TOML to `Case`s, one for each combination of its sweep.

Whatever is wrong with the file is told with the line it stands on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from hettest.case.elements import wrong_tensor
from hettest.case.faults import fault_of
from hettest.case.lines import Path as KeyPath
from hettest.case.lines import key_lines, line_of, show
from hettest.case.model import (
    Case,
    Counts,
    Expect,
    Limits,
    Marker,
    Random,
    Run,
    Tensor,
    Values,
    Written,
)
from hettest.case.schema import violations
from hettest.case.sweep import combinations, fill, wrong_sweep
from hettest.devicemap import Bind
from hettest.errors import CaseError, Problem
from hettest.files.reading import DocumentError, parse_toml, read_text

POLICIES = ("copy", "replicate", "error")
_MARKER = re.compile(r"//~(\^?)\s*([a-z0-9-]+)")
_SWEPT = ("clauses", "program", "run", "expect", "requires", "policies")


def load(path: Path, root: Path) -> tuple[Case, ...]:
    """Return the cases of one file, whose id is its path under ``root``.

    Raises:
        CaseError: The file cannot be read, is no TOML, breaks the schema, names what it does not
            have, or writes down a tensor that cannot be.
    """
    case_id = path.relative_to(root).with_suffix("").as_posix()
    try:
        text = read_text(path)
        data = parse_toml(text, path)
    except DocumentError as error:
        raise CaseError([error.problem]) from error
    return _Reader(path, case_id, text, key_lines(text)).cases(data)


@final
@dataclass(frozen=True)
class _Reader:
    path: Path
    case_id: str
    text: str
    lines: Mapping[KeyPath, int]

    def cases(self, data: dict[str, Any]) -> tuple[Case, ...]:
        sweep = data.pop("sweep", {})
        wrong = list(wrong_sweep(sweep))
        if wrong:
            raise CaseError([self._problem(("sweep", *path), message) for path, message in wrong])
        return tuple(self._case(data, combination) for combination in combinations(sweep))

    def _problem(self, path: KeyPath, message: str) -> Problem:
        return Problem(str(self.path), line_of(self.lines, path), show(path), message)

    def _case(self, data: dict[str, Any], combination: Mapping[str, tuple[str, Any]]) -> Case:
        filled = self._fill(data, {name: value for name, (_, value) in combination.items()})
        problems = [self._problem(path, message) for path, message in violations(filled)]
        if problems:
            raise CaseError(problems)
        expect = filled.get("expect", {})
        return Case(
            id=self.case_id,
            path=self.path,
            summary=filled["summary"],
            level=filled["level"],
            clauses=tuple(filled["clauses"]),
            requires=tuple(filled.get("requires", ())),
            origin=filled.get("origin"),
            policies=tuple(filled.get("policies", ("copy",))),
            bind=Bind(filled.get("bind", Bind.HOST_FIRST)),
            default=filled.get("default"),
            unbound=tuple(filled.get("unbound", ())),
            program=filled["program"],
            program_line=self._program_line(),
            runs=self._runs(filled.get("run", [])),
            expect=self._expect(expect),
            markers=tuple(markers(filled["program"])),
            swept=tuple(f"{name}={word}" for name, (word, _) in combination.items()),
            fault=fault_of(self.case_id, filled.get("fault")),
        )

    def _fill(self, data: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        filled = dict(data)
        for key in _SWEPT:
            if key not in data:
                continue
            try:
                filled[key] = fill(data[key], values)
            except KeyError as error:
                message = f"${{{error.args[0]}}} is no name of [sweep]"
                raise CaseError([self._problem((key,), message)]) from error
        return filled

    def _program_line(self) -> int:
        line = line_of(self.lines, ("program",)) or 1
        opening = self.text.splitlines()[line - 1].rstrip()
        return line + 1 if opening.endswith(("'''", '"""')) else line

    def _runs(self, runs: list[dict[str, Any]]) -> tuple[Run, ...]:
        names = [run["name"] for run in runs]
        for index, name in enumerate(names):
            if name in names[:index]:
                path: KeyPath = ("run", index, "name")
                raise CaseError([self._problem(path, f"there is another run named {name}")])
            after = runs[index].get("after")
            if after is not None and after not in names[:index]:
                where: KeyPath = ("run", index, "after")
                raise CaseError([self._problem(where, f"no run before this one is named {after}")])
        return tuple(self._run(index, run) for index, run in enumerate(runs))

    def _run(self, index: int, run: dict[str, Any]) -> Run:
        path: KeyPath = ("run", index)
        result = run.get("result")
        return Run(
            name=run["name"],
            args={k: self._value((*path, "args", k), v) for k, v in run.get("args", {}).items()},
            result=self._value((*path, "result"), result) if _is_value(result) else result,
            error=run.get("error"),
            entry=run.get("entry", "main"),
            after=run.get("after"),
            advisory=run.get("advisory"),
            line=line_of(self.lines, path),
        )

    def _value(self, path: KeyPath, value: Any) -> Written:
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return tuple(self._value((*path, i), item) for i, item in enumerate(value))
        tensor = Tensor(
            dtype=value["dtype"],
            shape=tuple(value["shape"]),
            data=tuple(value["data"]) if "data" in value else None,
            hex=value.get("hex"),
            file=value.get("file"),
            random=Random(**value["random"]) if "random" in value else None,
            fill=value.get("fill"),
            cycle=value.get("cycle"),
            line=line_of(self.lines, path),
        )
        message = wrong_tensor(tensor)
        if message is not None:
            raise CaseError([self._problem(path, message)])
        return tensor

    def _expect(self, expect: dict[str, Any]) -> Expect:
        values = expect.get("values", {})
        return Expect(
            placement=dict(expect.get("placement", {})),
            copies=self._counts("copies", expect),
            moved=self._counts("moved", expect),
            values=Values(
                values.get("ulps"), values.get("reason"), values.get("signed-zeros", False)
            ),
            placement_line=line_of(self.lines, ("expect", "placement")),
        )

    def _counts(self, key: str, expect: dict[str, Any]) -> Counts | None:
        if key not in expect:
            return None
        table = dict(expect[key])
        sizes = table.pop("bytes", {})
        line = line_of(self.lines, ("expect", key))
        return Counts(_by_policy(table), _by_policy(sizes), line)


def _is_value(result: Any) -> bool:
    return isinstance(result, dict | list)


def _by_policy(table: Mapping[str, Any]) -> dict[str, Limits]:
    return {
        policy: limits
        for policy in POLICIES
        if (
            limits := Limits(
                exact=_for_policy(table.get("exact"), policy),
                at_least=_for_policy(table.get("at-least"), policy),
                at_most=_for_policy(table.get("at-most"), policy),
            )
        )
    }


def _for_policy(limit: Any, policy: str) -> int | None:
    return limit.get(policy) if isinstance(limit, dict) else limit


def markers(program: str) -> Iterator[Marker]:
    """Yield the program's markers, from the top."""
    for number, line in enumerate(program.split("\n"), start=1):
        for found in _MARKER.finditer(line):
            yield Marker(found[2], number - len(found[1]))
