"""The report as JSON; its schema is report.schema.json beside this file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hettest.files import json_text
from hettest.files.reading import DocumentError, parse_json, read_text, time_of
from hettest.levels.coverage import Coverage
from hettest.levels.standing import Standing
from hettest.outcome import Outcome, Record
from hettest.report.content import ReportContent, environment

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

SCHEMA = Path(__file__).with_name("report.schema.json")
NAME = "hettest-report-2"
_TOLD = ("unmet", "better")
"""The lists of sentences that are there only if they say something."""


@cache
def _validator() -> Validator:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(parse_json(read_text(SCHEMA), SCHEMA))


def render(content: ReportContent) -> str:
    """Return the report's text."""
    return json_text(document(content)) + "\n"


def document(content: ReportContent) -> dict[str, Any]:
    """Return the report as plain data, as the schema says."""
    return {
        "schema": NAME,
        "backend": content.backend,
        "devices": list(content.devices),
        "policy": content.policy,
        "counts": {outcome.value: content.counts[outcome] for outcome in Outcome},
        "selected": len(content.records),
        "deselected": dict(content.deselected),
        "expected": _expected(content),
        "claims": list(content.claims),
        **({"unopened": content.unopened} if content.unopened else {}),
        "levels": [standing.to_json() for standing in content.standings],
        "coverage": None if content.coverage is None else content.coverage.to_json(),
        "problems": list(content.problems),
        **{name: list(getattr(content, name)) for name in _TOLD if getattr(content, name)},
        "waivers": waivers(content.records),
        "partial": content.partial,
        **({} if content.in_process is None else {"in_process": content.in_process}),
        "seed": content.seed,
        "items": [record.to_json() for record in content.records],
        "models": [dict(model) for model in content.models],
        "suite": dict(content.suite),
        "packages": dict(source_digests(content)),
        "environment": dict(environment() if content.environment is None else content.environment),
        "started": datetime.fromtimestamp(content.started, UTC).isoformat(timespec="seconds"),
        "seconds": round(content.seconds, 3),
    }


def _expected(content: ReportContent) -> dict[str, Any] | None:
    """Return how the run's items compare with the committed list."""
    if content.expected is None:
        return None
    wanted, found = set(content.expected), set(content.case_ids)
    return {
        "file": content.expected_file,
        "count": len(content.expected),
        "missing": sorted(wanted - found),
        "unexpected": sorted(found - wanted),
    }


def waivers(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return each waiver that was used, with the items that it waives."""
    used: dict[str, list[str]] = {}
    for record in records:
        if record.outcome is Outcome.WAIVED:
            used.setdefault(record.waiver or record.reason, []).append(record.id)
    return [{"waiver": text, "items": items} for text, items in used.items()]


def source_digests(content: ReportContent) -> Mapping[str, str]:
    """Return the SHA-256 of the source of each package at work."""
    if content.packages is not None:
        return content.packages
    from hettest.report.provenance import packages

    return packages(content.backend)


def _coverage(data: Mapping[str, Any] | None) -> Coverage | None:
    return None if data is None else Coverage.from_json(data)


def _listed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the committed list that a report was compared with, as it can be told from it."""
    found = data["expected"]
    if found is None:
        return {}
    there = (item["id"] for item in data["items"] if item["level"] is not None)
    unexpected = set(found["unexpected"])
    expected = [item for item in there if item not in unexpected] + found["missing"]
    return {"expected": expected, "expected_file": found["file"]}


def read(text: str) -> ReportContent:
    """Return the run that a JSON report is about.

    Raises:
        ValueError: The text is no such report; says at which key, what was found and expected.
    """
    data = parsed(text)
    return ReportContent(
        backend=data["backend"],
        devices=data["devices"],
        policy=data["policy"],
        counts={outcome: data["counts"][outcome.value] for outcome in Outcome},
        records=[Record.from_json(item) for item in data["items"]],
        deselected=data["deselected"],
        models=data["models"],
        claims=data.get("claims", ()),
        unopened=data.get("unopened", ""),
        standings=tuple(map(Standing.from_json, data.get("levels", ()))),
        coverage=_coverage(data.get("coverage")),
        problems=data.get("problems", ()),
        unmet=data.get("unmet", ()),
        better=data.get("better", ()),
        partial=data.get("partial", ""),
        in_process=data.get("in_process"),
        seed=data.get("seed"),
        environment=data["environment"],
        packages=data.get("packages", {}),
        suite=data.get("suite", {}),
        **_listed(data),
        started=time_of(data["started"]).timestamp(),
        seconds=data["seconds"],
    )


def parsed(text: str) -> dict[str, Any]:
    """Return the plain data of a JSON report, held to the schema and to its own sums.

    Raises:
        ValueError: The text is no such report; says at which key, what was found and expected.
    """
    try:
        data = parse_json(text, "")
    except DocumentError as error:
        line = "" if error.problem.line is None else f"line {error.problem.line}: "
        raise ValueError(f"{line}{error.problem.message}") from error
    if not isinstance(data, dict) or data.get("schema") != NAME:
        raise ValueError(f"not a report of schema {NAME}: {_named(data)}")
    wrong = next(_validator().iter_errors(data), None)
    if wrong is not None:
        raise ValueError(f"{wrong.json_path}: {wrong.message}")
    for problem in sums(data):
        raise ValueError(problem)
    try:
        time_of(data["started"])
    except ValueError as error:
        raise ValueError(f"$.started: {error}") from error
    return data


def _named(data: Any) -> str:
    if not isinstance(data, dict):
        return f"found a {type(data).__name__}, expected an object"
    return f"found schema {data.get('schema')!r}; another version of hettest may read it"


def sums(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield where a report's numbers do not add up, by key."""
    items = data["items"]
    if data["selected"] != len(items):
        yield f"$.selected: found {data['selected']}, expected {len(items)}, the number of items"
    for outcome, count in data["counts"].items():
        found = sum(i["outcome"] == outcome and i["counted"] for i in items)
        if found != count:
            yield f"$.counts.{outcome}: found {count}, expected {found}, as the items ended"
    twice = [name for name, n in Counter(i["id"] for i in items).items() if n > 1]
    if twice:
        yield f"$.items: {twice[0]} is there twice; each item has one outcome"
