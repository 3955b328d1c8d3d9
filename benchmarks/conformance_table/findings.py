"""What is known of an engine: how it is run, and each fault that the corpus finds in it.

One TOML file per engine. A finding names the items that fail of it and at which stage, in the words
of a waiver, and holds a minimal program in the engine's own words. The waivers that the adapter
ships are written from the findings, so that neither says what the other does not.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from hettest.outcome import Outcome, Record
from hettest.waivers.audit import problems
from hettest.waivers.loader import FORMAT
from hettest.waivers.model import Waiver, Waivers, stages
from hettest.waivers.writing import render

FAULTS: Final = (Outcome.FAILED, Outcome.CRASHED)
OWNER: Final = "hettest"
COMMAND: Final = "python -m benchmarks.conformance_table"


@final
@dataclass(frozen=True)
class Finding:
    """One fault of an engine, checked by hand."""

    title: str
    fails: Mapping[str, tuple[str, ...]]
    """By stage, such as ``values`` or ``run``: patterns of items or cases that fail there."""

    text: str
    program: str
    """Shows the fault without this project; what it prints is put below it."""

    link: str | None = None
    """A public report, or the engine's own words on it."""

    def waivers(self, expires: datetime.date) -> Waivers:
        """Return a waiver for each pattern and stage."""
        return Waivers(
            tuple(
                Waiver(
                    case=pattern,
                    stage=stage,
                    kind="permanent",
                    reason=self.title,
                    issue=self.link or "",
                    owner=OWNER,
                    expires=expires,
                )
                for stage, patterns in self.fails.items()
                for pattern in patterns
            )
        )

    def explains(self, record: Record) -> bool:
        """Whether the finding is about a stage at which the item failed."""
        return record.outcome in FAULTS and any(
            waiver.covers(record) and waiver.stage in stages(record)
            for waiver in self.waivers(datetime.date.max).entries
        )


@final
@dataclass(frozen=True)
class Engine:
    """An engine that the corpus is run on."""

    key: str
    """The name of its page, of its file here and of its waiver file."""

    title: str
    backend: str
    """As ``--het-backend`` names it."""

    packages: tuple[str, ...]
    """What its versions are told by; the first one is the engine itself."""

    devices: tuple[str, ...]
    expires: datetime.date
    """The last day on which its waivers hold."""

    about: str
    findings: tuple[Finding, ...]
    only: tuple[str, ...] = ("*",)
    """Patterns of the cases that are run, for an engine that is too slow for all."""

    @property
    def waivers(self) -> Waivers:
        """The waivers of all findings."""
        found = (finding.waivers(self.expires).entries for finding in self.findings)
        return Waivers(tuple(entry for entries in found for entry in entries))


def read(folder: Path) -> tuple[Engine, ...]:
    """Return the engines of the TOML files in ``folder``, by name.

    Raises:
        KeyError: A file lacks a key.
    """
    return tuple(_engine(path) for path in sorted(folder.glob("*.toml")))


def waiver_file(engine: Engine) -> str:
    """Return the text of the waiver file that the engine's adapter ships."""
    head = f"# Written by `{COMMAND}` from the findings of {engine.key}.toml there.\n"
    return "\n".join([f"{head}format = {FORMAT}\n", *map(render, engine.waivers.entries)])


def unexplained(engine: Engine, records: Sequence[Record]) -> list[Record]:
    """Return the failures of which some stage has no finding."""
    today = datetime.date.min
    return [r for r in records if engine.waivers.applied(r, today).outcome in FAULTS]


def idle(engine: Engine, records: Sequence[Record], cases: Collection[str]) -> Iterator[str]:
    """Yield what of the findings nothing fails of any more, in one line each."""
    for finding in engine.findings:
        waivers = finding.waivers(datetime.date.max)
        for told in problems(waivers, records, cases, datetime.date.min):
            yield f"{finding.title}: {told.lstrip(': ')}"


def _engine(path: Path) -> Engine:
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return Engine(
        path.stem,
        found["title"],
        found["backend"],
        tuple(found["packages"]),
        tuple(found["devices"]),
        found["expires"],
        found["about"].strip(),
        tuple(map(_finding, found.get("finding", ()))),
        tuple(found.get("only", ("*",))),
    )


def _finding(found: dict[str, Any]) -> Finding:
    return Finding(
        found["title"],
        {stage: tuple(patterns) for stage, patterns in found["fails"].items()},
        found["text"].strip(),
        found["program"].strip(),
        found.get("link"),
    )
