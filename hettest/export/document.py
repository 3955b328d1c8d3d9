"""One case as JSON: its programs, what each run is given and must give, and its items.

The form is `case.schema.json`; docs/guides/other-languages.md explains it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from hettest.backend.protocol import Observation
from hettest.case.expansion import Item
from hettest.case.model import Case, Limits, Run
from hettest.errors import CaseError, Problem
from hettest.expect import computed, placement, transfers
from hettest.expect.situation import Situation
from hettest.export.answer import Answer, Element, Unanswered, answer_of
from hettest.language import Module, elements_to_json, from_numpy
from hettest.runner.cases import CaseData, arguments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hettest.backend.protocol import Value

FORMAT: Final = "hettest-case-1"
ANY: Final = "any"
"""In place of a bound: whatever comes back is right."""


@final
@dataclass(frozen=True)
class Unsaid:
    """An item that is not exported, or a part of it, and why."""

    item: str
    reason: str


def document(items: Sequence[Item], data: CaseData, unsaid: list[Unsaid]) -> dict[str, Any]:
    """Return the items of one case file as plain data; ``unsaid`` gets those that are left out.

    Raises:
        CaseError: The case is at fault.
    """
    case = items[0].case
    programs = [_program(group, data, unsaid) for group in by_combination(items)]
    return {
        "format": FORMAT,
        "id": case.id,
        "summary": case.summary,
        "level": case.level,
        "origin": case.origin,
        "fault": case.fault,
        "programs": programs,
    }


def by_combination(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items of one file, those of each combination of its sweep together."""
    found: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        found.setdefault(item.case.swept, []).append(item)
    return list(found.values())


def _program(items: Sequence[Item], data: CaseData, unsaid: list[Unsaid]) -> dict[str, Any]:
    case, module = items[0].case, data.module(items[0].case)
    runs, reasons = _runs(items, module)
    unsaid += [Unsaid(i.id, reasons[i.name]) for i in items if i.name in reasons]
    kept = [item for item in items if item.name not in reasons]
    return {
        "swept": list(case.swept),
        "clauses": list(case.clauses),
        "text": case.text,
        "tree": None if module is None else data.program(case).json(),
        "refused": case.refused,
        "diagnostics": [{"code": m.code, "line": m.line} for m in case.markers],
        "runs": runs,
        "items": [_item(item, data, module) for item in kept],
    }


def _runs(
    items: Sequence[Item], module: Module | None
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the runs that the items make, those before them too, and why others cannot be said."""
    case = items[0].case
    wanted = {item.run.name for item in items if item.run is not None}
    wanted |= {run.after for run in case.runs if run.name in wanted and run.after is not None}
    runs, reasons = [], {}
    for run in case.runs:
        if run.name not in wanted:
            continue
        try:
            runs.append(_run(case, run, _parsed(case, run, module)))
        except Unanswered as error:
            reasons[run.name] = str(error)
    return runs, reasons


def _parsed(case: Case, run: Run, module: Module | None) -> Module:
    if module is None:
        problem = Problem(str(case.path), run.line, f"run {run.name}", "the program is malformed")
        raise CaseError([problem])
    return module


def _run(case: Case, run: Run, module: Module) -> dict[str, Any]:
    args = arguments(case, run, module)
    answer = None if run.error is not None else answer_of(case, run, module, args)
    names = [param.name for param in module.by_name[run.entry].params]
    return {
        "name": run.name,
        "entry": run.entry,
        "after": run.after,
        "args": [
            {"name": name, "value": _given(arg)} for name, arg in zip(names, args, strict=True)
        ],
        "error": run.error,
        "result": None if answer is None else _wanted(answer.results),
        "judge": None if answer is None else answer.judge,
        "loosened": None if answer is None else answer.reason,
        "vacuous": answer is not None and answer.vacuous,
        "signed_zeros": case.expect.values.signed_zeros,
        "advisory": run.advisory,
    }


def _given(value: Value) -> Any:
    if isinstance(value, tuple):
        return [_given(item) for item in value]
    return value if isinstance(value, str) else tensor(value)


def _wanted(results: Element | tuple[Any, ...]) -> Any:
    if isinstance(results, tuple):
        return [item if isinstance(item, str) else _wanted(item) for item in results]
    return {**tensor(results.value), "allowed": bounds(results.allowed)}


def tensor(array: NDArray[Any]) -> dict[str, Any]:
    """Return a tensor in the form of constants: ``dtype``, ``shape``, ``data`` or ``hex``."""
    dtype, shape = from_numpy(array.dtype).name, array.shape
    little = array if sys.byteorder == "little" else array.byteswap()
    return {
        "dtype": dtype,
        "shape": list(shape),
        **elements_to_json(dtype, shape, little.tobytes()),
    }


def bounds(allowed: NDArray[np.float64]) -> Any:
    """Return one number for all elements where they share it, else one for each."""
    shown = [ANY if np.isinf(bound) else bound for bound in allowed.ravel().tolist()]
    if len(set(shown)) <= 1:
        return shown[0] if shown else 0
    return shown


def _item(item: Item, data: CaseData, module: Module | None) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": item.id,
        "run": None if item.run is None else item.run.name,
        "binding": dict(item.binding),
        "host": item.host,
        "default": item.default,
        "policy": item.policy,
        "requires": list(data.requires(item)),
    }
    if item.run is None or item.run.error is not None or module is None:
        return said
    return said | _expected(_situation(item, item.run, module))


def _situation(item: Item, run: Run, module: Module) -> Situation:
    """Return the item as the kit's checks see it, before anything has been observed."""
    return Situation(
        module=module,
        entry=run.entry,
        args=arguments(item.case, run, module),
        binding=item.binding,
        default=item.default,
        policy=item.policy,
        expect=item.case.expect,
        expected=None,
        observation=Observation(results=()),
        baseline=lambda: None,
        numbers_hold=item.is_straight,
    )


def _expected(situation: Situation) -> dict[str, Any]:
    """Return what must be observable beside the results, where anything must."""
    said: dict[str, Any] = {}
    placed = placement.wanted(situation)
    if placed:
        said["placement"] = {name: situation.device(role) for name, role in placed.items()}
        said["executed"] = [list(names) for names in computed.every(situation)]
    for name, counts in (("copies", situation.expect.copies), ("moved", situation.expect.moved)):
        number, size = transfers.limits(situation, counts, name)
        limits = {k: _limits(v) for k, v in (("number", number), ("bytes", size)) if v}
        if limits:
            said[name] = limits
    return said


def _limits(limits: Limits) -> Mapping[str, int]:
    return dict(_stated(limits))


def _stated(limits: Limits) -> Iterator[tuple[str, int]]:
    named = {"exact": limits.exact, "at_least": limits.at_least, "at_most": limits.at_most}
    yield from ((name, bound) for name, bound in named.items() if bound is not None)


__all__ = ["ANY", "FORMAT", "Answer", "Unsaid", "bounds", "by_combination", "document", "tensor"]
