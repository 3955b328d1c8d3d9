"""What a run covered of what is published, and what it did not: the gaps.

Clauses, operators and kinds of fault are *proven* by an item that passed, *failed* by one that did
not hold, *open* where items are there and none was decided, and a *gap* where no item of the run
is about them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, TypeAlias, final

from hettest.outcome import UNPLACED, Outcome, Record, Status, computed_wrong
from hettest.ran import shows_its_place

_About: TypeAlias = Callable[[Record], Iterable[str]]
"""What an item is about."""

_ABOUT_PLACES: Final = ("placement", "copies")
"""The areas of clauses that say nothing where it is not seen what ran on which device."""

_DEFAULT: Final = re.compile(r"[\[,]default=([^,\]]+)\]$")
_ORDER: Final = (Outcome.CRASHED, Outcome.FAILED, Outcome.WAIVED, Outcome.PASSED)
"""Of several outcomes, the one that is shown is the first of these."""


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """One operator at one dtype on one device."""

    op: str
    dtype: str
    device: str
    shown: str
    """The outcome that counts most: crashed, failed, waived, passed, else the first."""

    items: int


@final
@dataclass(frozen=True, slots=True)
class Part:
    """One kind of thing that can be covered."""

    proven: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    """Unsupported, waived or not run, and nothing else."""

    gaps: tuple[str, ...] = ()
    """Published, and no item of the run is about them."""

    unlisted: tuple[str, ...] = ()
    """Named by cases and not published."""

    @property
    def published(self) -> int:
        """How many are published."""
        here = len(self.proven) + len(self.failed) + len(self.open) + len(self.gaps)
        return here - len(self.unlisted)

    def to_json(self) -> dict[str, list[str]]:
        return {name: list(words) for name, words in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Sequence[str]]) -> Part:
        return cls(**{name: tuple(words) for name, words in data.items()})


@final
@dataclass(frozen=True, slots=True)
class Coverage:
    """What a run covered."""

    clauses: Part = Part()
    operators: Part = Part()
    dtypes: Part = Part()
    faults: Part = Part()
    matrix: tuple[Cell, ...] = ()
    """Operator by dtype by device, of the items that run on one device alone."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes an equal coverage."""
        data: dict[str, Any] = {name: getattr(self, name).to_json() for name in _PARTS}
        data["matrix"] = [asdict(cell) for cell in self.matrix]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Coverage:
        parts = {name: Part.from_json(data[name]) for name in _PARTS}
        return cls(**parts, matrix=tuple(Cell(**cell) for cell in data["matrix"]))


_PARTS: Final = ("clauses", "operators", "dtypes", "faults")


@final
@dataclass(frozen=True)
class Published:
    """What there is to cover."""

    clauses: Sequence[str] = ()
    operators: Sequence[str] = ()
    dtypes: Sequence[str] = ()
    faults: Sequence[str] = ()
    fault_of: Mapping[str, str] = field(default_factory=dict)
    """The kind of fault of each case that has one, by case id."""


def coverage(records: Iterable[Record], published: Published) -> Coverage:
    """Return what ``records`` cover of what is published; records of one's own tests do not."""
    found = [record for record in records if record.case is not None]
    proving = [part for record in found for part in _of_clauses(record)]
    computed = [_of_operators(record) for record in found]
    return Coverage(
        clauses=_part(proving, published.clauses, lambda record: record.proves),
        operators=_part(computed, published.operators, _operators),
        dtypes=_part(computed, published.dtypes, _dtypes),
        faults=_part(
            found,
            published.faults,
            lambda record: filter(None, [published.fault_of.get(record.case or "")]),
        ),
        matrix=tuple(_matrix(computed)),
    )


def _of_clauses(record: Record) -> Iterator[Record]:
    """Yield how an item ended for the clauses that it is to prove.

    One about devices of which nothing was seen there passed for its values alone: of placement and
    copies it leaves open what it says.
    """
    if shows_its_place(record):
        yield record
        return
    about = [c for c in record.proves if c.partition(".")[0] in _ABOUT_PLACES]
    yield replace(record, proves=tuple(c for c in record.proves if c not in about))
    yield replace(record, proves=tuple(about), outcome=Outcome.UNSUPPORTED)


def _of_operators(record: Record) -> Record:
    """Return how an item ended for its operators: those that a planner only placed wrongly pass."""
    if record.outcome is not Outcome.FAILED or computed_wrong(record):
        return record
    if record.level is None or record.level <= UNPLACED:
        return record
    proven = any(c.name == "values" and c.status is Status.PROVEN for c in record.clauses)
    return replace(record, outcome=Outcome.PASSED if proven else Outcome.UNSUPPORTED)


def _part(records: Sequence[Record], published: Sequence[str], about: _About) -> Part:
    outcomes: dict[str, set[Outcome]] = {name: set() for name in published}
    for record in records:
        for name in about(record):
            outcomes.setdefault(name, set()).add(record.outcome)
    groups: dict[str, list[str]] = {name: [] for name in ("proven", "failed", "open", "gaps")}
    for name, ends in outcomes.items():
        groups[_standing(ends)].append(name)
    unlisted = [name for name in outcomes if name not in set(published)]
    return Part(
        **{name: tuple(sorted(words)) for name, words in groups.items()},
        unlisted=tuple(sorted(unlisted)) if published else (),
    )


def _standing(ends: set[Outcome]) -> str:
    if not ends:
        return "gaps"
    if ends & {Outcome.FAILED, Outcome.CRASHED}:
        return "failed"
    return "proven" if Outcome.PASSED in ends else "open"


def _operators(record: Record) -> Iterator[str]:
    return (word.split(":")[1] for word in record.requires if word.startswith("op:"))


def _dtypes(record: Record) -> Iterator[str]:
    return (word.split(":")[1] for word in record.requires if word.startswith("dtype:"))


def _matrix(records: Iterable[Record]) -> Iterator[Cell]:
    cells: dict[tuple[str, str, str], Counter[Outcome]] = {}
    for record in records:
        device = _device(record)
        outcome = record.outcome if shows_its_place(record) else Outcome.UNSUPPORTED
        for word in record.requires if device is not None else ():
            parts = word.split(":")
            if parts[0] == "op" and len(parts) == 3:
                key = (parts[1], parts[2], device or "")
                cells.setdefault(key, Counter())[outcome] += 1
    for (op, dtype, device), counts in sorted(cells.items()):
        shown = next((o for o in _ORDER if counts[o]), next(iter(counts)))
        yield Cell(op, dtype, device, shown.value, counts.total())


def _device(record: Record) -> str | None:
    """Return the one device that the item's operators run on, or ``None`` if there are several."""
    if len(record.devices) == 1:
        return record.devices[0]
    named = _DEFAULT.search(record.id)
    return named[1] if named else None
