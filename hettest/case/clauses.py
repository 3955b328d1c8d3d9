"""The published clauses: what must hold, each with the page that defines it.

They are those of ``clauses.toml``, and one for each operator of the language. A folder of one's own
cases may have a ``clauses.toml`` of its own, in the same form; without one its clauses are free.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, final

from hettest.errors import CaseError, Problem
from hettest.files.reading import DocumentError, parse_toml, read_text
from hettest.language import operators

TABLE: Final = Path(__file__).with_name("clauses.toml")
OPERATORS: Final = "ops"
"""The area of the clauses that operators have by themselves."""

PLACING: Final = frozenset({"device_copy", "to_vdevice", "hint_on_device"})
"""Operators whose meaning is where values live: clauses of placement and copies say it."""

_FIELDS: Final = frozenset({"says", "defined", "gap"})


@final
@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that must hold: ``copies.shared-input``."""

    id: str
    says: str
    """What must hold, a sentence."""

    defined: str
    """The page, and its heading, that defines it: ``planning.md#how-many-copies``."""

    gap: str | None = None
    """Why no case proves it; ``None`` if one must."""


@cache
def published() -> Mapping[str, Clause]:
    """Return the clauses of this installation by id, area by area, operators last."""
    return MappingProxyType({**read(TABLE), **_of_operators()})


@cache
def titles() -> Mapping[str, str]:
    """Return the heading of each area."""
    table = parse_toml(read_text(TABLE), TABLE)
    found = {area: str(clauses["title"]) for area, clauses in table.items()}
    return MappingProxyType({**found, OPERATORS: "Operators"})


def read(path: Path) -> Mapping[str, Clause]:
    """Return the clauses that a file lists, by id.

    Raises:
        CaseError: The file is no TOML, or not of this form.
    """
    try:
        table = parse_toml(read_text(path), path)
    except DocumentError as error:
        raise CaseError([error.problem]) from error
    found: dict[str, Clause] = {}
    for area, clauses in table.items():
        if not isinstance(clauses, dict):
            raise _wrong(path, area, f"found {clauses!r}, expected the table of an area")
        for name, entry in clauses.items():
            if name != "title":
                found[f"{area}.{name}"] = _clause(path, f"{area}.{name}", entry)
    return MappingProxyType(found)


def listed_for(root: Path, own: Path) -> Mapping[str, Clause] | None:
    """Return the clauses that the cases under ``root`` may name; ``None`` if any will do.

    Args:
        root: The folder of cases.
        own: The folder of the cases that belong to this installation.

    Raises:
        CaseError: The folder's own list is malformed.
    """
    if root.resolve() == own.resolve():
        return published()
    mine = root / TABLE.name
    return {**published(), **read(mine)} if mine.is_file() else None


def unknown(clause: str, listed: Mapping[str, Clause]) -> str | None:
    """Return what is wrong with a clause that a case names, or ``None``."""
    if clause in listed:
        return None
    near = difflib.get_close_matches(clause, listed, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{clause} is no clause{hint or '; hettest explain clauses lists them'}"


def _clause(path: Path, id_: str, entry: Any) -> Clause:
    if not isinstance(entry, dict) or not {"says", "defined"} <= entry.keys() <= _FIELDS:
        expected = "says and defined, and gap where no case proves it"
        raise _wrong(path, id_, f"found {entry!r}, expected a table with {expected}")
    return Clause(id_, str(entry["says"]), str(entry["defined"]), entry.get("gap"))


def _wrong(path: Path, where: str, message: str) -> CaseError:
    return CaseError([Problem(str(path), None, where, message)])


def _of_operators() -> Mapping[str, Clause]:
    """Return a clause for each operator that computes."""
    return {
        f"{OPERATORS}.{op.name}": Clause(
            f"{OPERATORS}.{op.name}", f"`{op.name}`: {op.summary}", f"operators.md#{op.name}"
        )
        for op in operators().values()
        if op.name not in PLACING
    }
