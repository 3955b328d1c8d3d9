"""How an item ends: in exactly one of six ways, with what was checked and seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, final


class Outcome(StrEnum):
    """The end of one selected item."""

    PASSED = "passed"
    """Every expectation was checked and holds."""

    FAILED = "failed"
    CRASHED = "crashed"
    """The implementation raised something other than a rejection, or its process died."""

    NOT_RUN = "not run"
    """A requested device is missing, or the run was cut short."""

    UNSUPPORTED = "unsupported"
    """By declaration: a capability word that the item needs is not claimed."""

    WAIVED = "waived"


class Status(StrEnum):
    """How one clause of an item ended."""

    PROVEN = "proven"
    FAILED = "failed"
    UNPROVEN = "unproven"
    """The backend does not show what would prove it."""

    ADVISORY = "advisory"
    """Differs from what only we have pinned; shown, never counted."""

    WAIVED = "waived"
    """Failed, and a waiver says that it would, in an item that fails in something else too."""


class Evidence(StrEnum):
    """How it is known where work ran and what was copied; the strongest first."""

    CAUSED = "caused"
    """One device's results were changed, and exactly the predicted results changed."""

    METERED = "metered"
    """Counted by something other than the implementation's own report."""

    REPORTED = "reported"
    """The implementation says so, and what it says is consistent in itself."""

    UNOBSERVED = "unobserved"


UNPLACED = 2
"""The last level at which cases are about operators alone, placed nowhere."""


def weakest(grades: Iterable[Evidence]) -> Evidence | None:
    """Return the weakest of the grades; ``None`` of none."""
    order = list(Evidence)
    return max(grades, key=order.index, default=None)


@final
@dataclass(frozen=True, slots=True)
class Measure:
    """One of the numeric checks behind the clause ``values``."""

    name: str
    """``form``, ``expected``, ``local``, ``ratio``, ``anchor`` or ``bound``."""

    status: str
    """``holds``, ``fails``, ``undecided``, ``vacuous`` or ``unproven``."""

    worst: float | None = None
    """The largest error as a part of what is allowed, above 1 fails; ``None`` if there is none or
    it is infinite."""

    undecided: int = 0
    """Elements that hang on a decision that rounding could tip."""


@final
@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that was checked of one item."""

    name: str
    """``values``, ``placement``, ``copies``, ``moved``, ``arrivals``, ``evidence``, ``arguments``,
    ``memory``, ``backend`` or ``diagnostics``."""

    status: Status
    detail: str
    """What was found and what was expected, in one line or a few."""

    line: int | None = None
    """In the case file."""

    word: str | None = None
    """The capability word that is missing, of an unproven clause."""

    evidence: Evidence | None = None
    """Of clauses about placement and copies: how well it is known."""

    measures: tuple[Measure, ...] = ()
    """Of the clause ``values``: each numeric check."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes an equal clause."""
        data: dict[str, Any] = {"name": self.name, "status": self.status.value}
        data |= {"detail": self.detail, "line": self.line}
        if self.word is not None:
            data["word"] = self.word
        if self.evidence is not None:
            data["evidence"] = self.evidence.value
        if self.measures:
            data["measures"] = [asdict(measure) for measure in self.measures]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Clause:
        return cls(
            name=data["name"],
            status=Status(data["status"]),
            detail=data["detail"],
            line=data["line"],
            word=data.get("word"),
            evidence=Evidence(data["evidence"]) if "evidence" in data else None,
            measures=tuple(Measure(**measure) for measure in data.get("measures", ())),
        )


@final
@dataclass(frozen=True, slots=True)
class Transfer:
    """One transfer of a run, as reports show it."""

    value: str | None
    source: str
    target: str
    bytes: int | None = None
    cause: str | None = None
    reader: str | None = None
    count: int = 1


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """What one run showed of placement and transfers, for the reports' graphs."""

    placement: Mapping[str, tuple[str, ...]]
    """The devices on which each variable was computed: ``main/%s``."""

    transfers: tuple[Transfer, ...]
    reads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What each of them computes with, as the program is written: such variables, and parameters
    of the entry."""

    results: tuple[str, ...] = ()
    """What the program returns, named likewise."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes what is equal."""
        data: dict[str, Any] = {
            "placement": {name: list(devices) for name, devices in self.placement.items()},
            "transfers": [asdict(transfer) for transfer in self.transfers],
        }
        if self.reads:
            data["reads"] = {name: list(sources) for name, sources in self.reads.items()}
        if self.results:
            data["results"] = list(self.results)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Seen:
        placement, reads = (
            {name: tuple(words) for name, words in data.get(key, {}).items()}
            for key in ("placement", "reads")
        )
        transfers = tuple(Transfer(**transfer) for transfer in data["transfers"])
        return cls(placement, transfers, reads, tuple(data.get("results", ())))


@final
@dataclass(frozen=True, slots=True)
class Record:
    """The end of one item, as reports hold it."""

    id: str
    outcome: Outcome
    reason: str = ""
    """Why, in one line; empty when passed."""

    level: int | None = None
    clauses: tuple[Clause, ...] = ()
    stage: str = ""
    """Where it ended, if not in clauses that failed: ``compile``, ``run``, ``crash``, ``timeout``,
    ``backend`` (a breach of the protocol), ``case`` or ``kit``."""

    seconds: float = 0.0
    text: str = ""
    """The whole story of a failure, over several lines."""

    counted: bool = True
    """Whether it counts; not under policy ``skip`` for missing devices."""

    case: str | None = None
    """The id of the case file, of a conformance item."""

    proves: tuple[str, ...] = ()
    """The clauses of the published list that the case proves: ``placement.operands``."""

    requires: tuple[str, ...] = ()
    """The capability words that the item requires."""

    lacks: tuple[str, ...] = ()
    """Those that the backend does not claim."""

    devices: tuple[str, ...] = ()
    """The devices that the item runs on, the host first."""

    seen: Seen | None = None
    """Of items on more than one device."""

    waiver: str = ""
    """Of a waived item: the waiver's reason, issue, owner and end date, in one line."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes an equal record."""
        data: dict[str, Any] = {
            "id": self.id,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "level": self.level,
            "clauses": [clause.to_json() for clause in self.clauses],
            "seconds": round(self.seconds, 6),
            "text": self.text,
            "counted": self.counted,
        }
        if self.case is not None:
            data["case"] = self.case
        if self.stage:
            data["stage"] = self.stage
        for name in _LISTS:
            if getattr(self, name):
                data[name] = list(getattr(self, name))
        if self.seen is not None:
            data["seen"] = self.seen.to_json()
        if self.waiver:
            data["waiver"] = self.waiver
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        return cls(
            id=data["id"],
            outcome=Outcome(data["outcome"]),
            reason=data["reason"],
            level=data["level"],
            clauses=tuple(Clause.from_json(clause) for clause in data["clauses"]),
            seconds=data["seconds"],
            text=data["text"],
            counted=data["counted"],
            case=data.get("case"),
            stage=data.get("stage", ""),
            seen=Seen.from_json(data["seen"]) if "seen" in data else None,
            waiver=data.get("waiver", ""),
            **{name: tuple(data.get(name, ())) for name in _LISTS},
        )


_TELLING: Final = (
    *("diagnostics", "values", "arguments", "backend", "arrivals", "placement", "evidence"),
    *("copies", "moved", "memory"),
)
"""Of several clauses the first of these says most: variables and devices, and last what was only
counted."""


def headline(clauses: Iterable[Clause]) -> str:
    """Return in one line what the clause says that says most of those given."""
    first = min(clauses, key=lambda clause: _TELLING.index(clause.name))
    return f"{first.name}: {next(iter(first.detail.splitlines()), '')}"


_LISTS = ("proves", "requires", "lacks", "devices")
"""The fields of a record that are lists of words."""


def computed_wrong(record: Record) -> bool:
    """Whether a failed item says that something was computed wrongly, or not at all.

    It does not where nothing failed but clauses on where work ran, on what was copied, and on how
    well that was shown. An item that ended outside its clauses says so.
    """
    failed = {clause.name for clause in record.clauses if clause.status is Status.FAILED}
    return not failed or bool(failed & _COMPUTED)


_COMPUTED = frozenset({"values", "diagnostics", "arguments"})
"""The clauses that fail because of what operators do."""


def worst(clauses: Iterable[Clause]) -> Status:
    """Return failed if any clause failed, else unproven if any is, else proven."""
    found = {clause.status for clause in clauses}
    return next((s for s in (Status.FAILED, Status.UNPROVEN) if s in found), Status.PROVEN)
