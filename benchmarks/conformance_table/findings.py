"""What is known of an engine: how it is run, and each fault that the corpus finds in it.

One TOML file per engine. A finding names the cases or items that fail of it, ``ops/sum/values`` or
``ops/sum/values[nothing``, and holds a minimal program in the engine's own words. Every failure
must have one finding, and every finding a failure, so that neither outlives the other.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from hettest.outcome import Outcome, Record

FAULTS: Final = (Outcome.FAILED, Outcome.CRASHED)


@final
@dataclass(frozen=True)
class Finding:
    """One fault of an engine, checked by hand."""

    title: str
    cases: tuple[str, ...]
    """Ids of cases, or beginnings of ids of items up to a ``,`` or ``]``."""

    text: str
    program: str
    """Shows the fault without this project; what it prints is put below it."""

    link: str | None = None
    """A public report, or the engine's own words on it."""

    def explains(self, item: str) -> bool:
        """Whether the finding is about the item of this id."""
        return any(_is_of(item, pattern) for pattern in self.cases)


@final
@dataclass(frozen=True)
class Engine:
    """An engine that the corpus is run on."""

    key: str
    """The name of its page and of its file here; also of its backend."""

    title: str
    packages: tuple[str, ...]
    """What its versions are told by; the first one is the engine itself."""

    devices: tuple[str, ...]
    about: str
    findings: tuple[Finding, ...]


def read(folder: Path) -> tuple[Engine, ...]:
    """Return the engines of the TOML files in ``folder``, by name.

    Raises:
        KeyError: A file lacks a key.
    """
    return tuple(_engine(path) for path in sorted(folder.glob("*.toml")))


def unexplained(engine: Engine, records: Iterable[Record]) -> list[Record]:
    """Return the failures that no finding of the engine is about."""
    return [
        record
        for record in records
        if record.outcome in FAULTS and not any(f.explains(record.id) for f in engine.findings)
    ]


def idle(engine: Engine, records: Iterable[Record]) -> list[tuple[Finding, str]]:
    """Return the patterns of findings that no failure matches any more."""
    failing = [record.id for record in records if record.outcome in FAULTS]
    return [
        (finding, pattern)
        for finding in engine.findings
        for pattern in finding.cases
        if not any(_is_of(item, pattern) for item in failing)
    ]


def _is_of(item: str, pattern: str) -> bool:
    rest = item.removeprefix(pattern)
    return item.startswith(pattern) and rest[:1] in ("", "[", ",", "]")


def _engine(path: Path) -> Engine:
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return Engine(
        path.stem,
        found["title"],
        _texts(found["packages"]),
        _texts(found["devices"]),
        found["about"].strip(),
        tuple(map(_finding, found.get("finding", ()))),
    )


def _finding(found: dict[str, Any]) -> Finding:
    return Finding(
        found["title"],
        _texts(found["cases"]),
        found["text"].strip(),
        found["program"].strip(),
        found.get("link"),
    )


def _texts(found: Sequence[str]) -> tuple[str, ...]:
    return tuple(found)
