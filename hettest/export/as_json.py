"""Cases as JSON: one file for each case, the schemas, and a list of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from hettest.case.expansion import Item
from hettest.corpus import Selection
from hettest.export import writing
from hettest.export.document import Unsaid, document
from hettest.files import write_bytes
from hettest.language import tree_schema
from hettest.runner.cases import CaseData

SCHEMA: Final = Path(__file__).with_name("case.schema.json")
PROGRAM_SCHEMA: Final = "program.schema.json"
"""What the schema of cases calls the schema of programs, which lies beside it in an export."""

Group: TypeAlias = Sequence[Item]
Progress: TypeAlias = Callable[[Sequence[Group]], Iterable[Group]]


def export(
    selection: Selection, devices: tuple[str, ...], folder: Path, progress: Progress
) -> dict[str, Any]:
    """Write the items to ``folder``, and return the list of what was written.

    Raises:
        UsageError: The folder is not empty, or cannot be written.
        CaseError: A case is at fault.
    """
    writing.require_empty(folder)
    data, unsaid, cases = CaseData(), list[Unsaid](), []
    for group in progress(by_case(selection.items)):
        made = document(group, data, unsaid)
        file = f"cases/{made['id']}.json"
        write_bytes(folder / file, writing.to_bytes(made))
        count = sum(len(program["items"]) for program in made["programs"])
        cases.append({"id": made["id"], "level": made["level"], "file": file, "items": count})
    for name, schema in ((SCHEMA.name, SCHEMA), (PROGRAM_SCHEMA, tree_schema())):
        write_bytes(folder / name, schema.read_bytes())
    index = writing.index(
        "json",
        devices,
        cases=cases,
        not_exported=[{"item": each.item, "reason": each.reason} for each in unsaid],
        left_out=dict(selection.left_out),
    )
    write_bytes(folder / writing.INDEX, writing.to_bytes(index))
    return index


def by_case(items: Iterable[Item]) -> list[list[Item]]:
    """Return the items, those of each case file together."""
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(item.case.id, []).append(item)
    return list(found.values())
