"""What is wrong with a case by its keys alone, without a look at its program.

Its id, its summary, the words and clauses that it names, its kind of fault, and how many items it
gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from hettest.case.clauses import Clause, unknown
from hettest.case.expansion import DEVICE_COUNTS, expand
from hettest.case.faults import fault_classes
from hettest.case.model import Case
from hettest.errors import Problem

MOST_ITEMS: Final = 12
"""Items that one combination of a file's sweep may give on two devices."""

MOST_SWEPT: Final = 120
"""Items that all its combinations may give."""

PAIR: Final = ("cpu:0", "sim:0")
_ID: Final = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)+")
_AREAS: Final = (
    "op",
    "dtype",
    "construct",
    "shape",
    "policy",
    "device",
    "observe",
    "diagnostics",
    "mode",
)


def wrong_keys(
    path: Path, cases: Sequence[Case], listed: Mapping[str, Clause] | None
) -> Iterator[Problem]:
    """Yield what is wrong with the keys of one file, whose sweep gives ``cases``.

    Clauses are those of ``listed``, or free if that is ``None``.
    """
    case = cases[0]
    yield from _id(case)
    yield from _summary(case)
    yield from _words(case)
    yield from _fault(case)
    if listed is not None:
        yield from _clauses(cases, listed)
    yield from _size(path, cases)


def _clauses(cases: Sequence[Case], listed: Mapping[str, Clause]) -> Iterator[Problem]:
    named = dict.fromkeys(clause for case in cases for clause in case.clauses)
    for clause in named:
        wrong = unknown(clause, listed)
        if wrong is not None:
            yield Problem(str(cases[0].path), None, "clauses", wrong)


def _size(path: Path, cases: Sequence[Case]) -> Iterator[Problem]:
    counts = [len(expand(case, PAIR)) for case in cases]
    for found, most, what in (
        (max(counts), MOST_ITEMS, " for one combination of its sweep" if len(counts) > 1 else ""),
        (sum(counts), MOST_SWEPT, ""),
    ):
        if found > most:
            devices = ", ".join(PAIR)
            message = f"gives {found} items on {devices}{what}; at most {most} are allowed"
            yield Problem(str(path), None, "", message)


def _id(case: Case) -> Iterator[Problem]:
    if not _ID.fullmatch(case.id):
        message = f"the id {case.id} is not area/name in snake_case"
        yield Problem(str(case.path), None, "", message)


def _summary(case: Case) -> Iterator[Problem]:
    summary = case.summary
    first, wish = summary.split()[0], re.search(r"\b(should|shall|will)\b", summary)
    if wish is not None:
        wrong = f"says '{wish[0]}'; state what holds, in the present tense"
    elif summary.endswith("."):
        wrong = "ends in a full stop; it is a phrase"
    elif first.istitle():
        wrong = "begins with a capital; it is a phrase"
    elif re.search(r"#\d+|\bissue\b", summary):
        wrong = "names an issue; that belongs in origin"
    else:
        return
    yield Problem(str(case.path), None, "summary", wrong)


def _words(case: Case) -> Iterator[Problem]:
    for word in case.requires:
        if word not in DEVICE_COUNTS and word.partition(":")[0] not in _AREAS:
            message = (
                f"{word} is no word; known are {', '.join(sorted(DEVICE_COUNTS))}, and words that "
                f"begin with {', '.join(f'{area}:' for area in _AREAS)}"
            )
            yield Problem(str(case.path), None, "requires", message)


def _fault(case: Case) -> Iterator[Problem]:
    if case.fault is None:
        return
    found = fault_classes().get(case.fault)
    if found is None:
        known = ", ".join(fault_classes())
        yield Problem(str(case.path), None, "fault", f"{case.fault} is none of {known}")
    elif not found.has_cases:
        why = found.feature or "a case has no words for it"
        message = f"{case.fault} ({found.name}) is listed as without cases: {why}"
        yield Problem(str(case.path), None, "fault", message)
