"""The report as JSON; its schema is report.schema.json beside this file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hettest.outcome import Outcome, Record
from hettest.report.content import ReportContent, environment

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

SCHEMA = Path(__file__).with_name("report.schema.json")
NAME = "hettest-report-2"


@cache
def _validator() -> Validator:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def render(content: ReportContent) -> str:
    """Return the report's text."""
    return json.dumps(document(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


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
        "items": [record.to_json() for record in content.records],
        "models": [dict(model) for model in content.models],
        "environment": environment(),
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


def read(text: str) -> ReportContent:
    """Return the run that a JSON report is about.

    Raises:
        ValueError: The text is no such report.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("schema") != NAME:
        raise ValueError(f"not a report of schema {NAME}")
    wrong = next(_validator().iter_errors(data), None)
    if wrong is not None:
        raise ValueError(f"{wrong.json_path}: {wrong.message}")
    return ReportContent(
        backend=data["backend"],
        devices=data["devices"],
        policy=data["policy"],
        counts={outcome: data["counts"][outcome.value] for outcome in Outcome},
        records=[Record.from_json(item) for item in data["items"]],
        deselected=data["deselected"],
        models=data["models"],
        started=datetime.fromisoformat(data["started"]).timestamp(),
        seconds=data["seconds"],
    )
