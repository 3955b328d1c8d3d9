"""A lock: the items that are to be run, each with how it ended when the lock was written.

One item a line, its outcome after two spaces or more, and the devices on which it was seen to run;
``#`` begins a comment. A list of items alone, as ``hettest list`` prints it, is a lock that says
nothing of outcomes.

An item that passed by the lock and is unsupported or waived now has lost what it had, and fails;
so does one that passes without being seen where it was seen before.
One that ends better is told, so that the lock can be written again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, final

from hettest.devicemap import canonical
from hettest.errors import UsageError
from hettest.files import write_text
from hettest.files.reading import DocumentError, read_text
from hettest.outcome import Outcome, Record
from hettest.ran import ran_on

_COMMENT: Final = re.compile(r"(?:^|\s)#.*")
"""Names of folders and runs may hold a ``#``."""

_HEAD: Final = "# How each item ended, as --het-update-lock wrote it; an item may not end worse.\n"
_ENTRY: Final = re.compile(r"(?P<item>.*?\S)(?:\s{2,}|\t)\s*(?P<outcome>\S.*)")
_KEPT: Final = (Outcome.PASSED, Outcome.WAIVED, Outcome.UNSUPPORTED)
"""What an item may end as by a lock, the best first; the others are no end to hold it to."""


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a lock."""

    line: int
    outcome: Outcome | None = None
    """``None`` where the item is only listed."""

    devices: tuple[str, ...] = ()
    """Where it was seen to run when it passed."""


@final
@dataclass(frozen=True)
class Lock:
    """What a file says."""

    path: Path
    entries: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(self.entries)

    def applied(self, record: Record) -> Record:
        """Return ``record``, as failed if it lost what it had when the lock was written."""
        entry = self.entries.get(record.id)
        if entry is None or entry.outcome is None or record.outcome not in _KEPT:
            return record
        place = f"{self.path}:{entry.line}"
        if _is_worse(record.outcome, entry.outcome):
            why = record.waiver if record.outcome is Outcome.WAIVED else record.reason
            return _failed(record, f"{record.outcome}, and {entry.outcome} by {place}: {why}")
        unseen = sorted(set(entry.devices) - ran_on(record))
        if record.outcome is Outcome.PASSED and unseen:
            where = ", ".join(unseen)
            return _failed(
                record,
                f"passed, and was seen to run on {where} by {place}: nothing was seen there now",
            )
        return record

    def better(self, records: Iterable[Record]) -> Iterator[str]:
        """Yield each item that ended better than the lock says."""
        for record in records:
            was = self._former(record)
            if was is not None and record.outcome in _KEPT and _is_worse(was, record.outcome):
                yield f"{record.id}: {was} by {self.path}, now {record.outcome}"

    def _former(self, record: Record) -> Outcome | None:
        entry = self.entries.get(record.id)
        return None if entry is None else entry.outcome

    def renewed(self, records: Iterable[Record]) -> str:
        """Return the text of a lock of a run; what failed or was not run keeps what it had."""
        lines = [_HEAD]
        for record in records:
            entry = self.entries.get(record.id, Entry(0))
            if record.outcome in _KEPT:
                passed = record.outcome is Outcome.PASSED
                entry = Entry(0, record.outcome, tuple(sorted(ran_on(record))) if passed else ())
            lines.append(_line(record.id, entry))
        return "".join(lines)


def _line(item: str, entry: Entry) -> str:
    outcome = "" if entry.outcome is None else f"  {entry.outcome}"
    where = f" on {' '.join(entry.devices)}" if entry.devices else ""
    return f"{item}{outcome}{where}\n"


def _failed(record: Record, reason: str) -> Record:
    return replace(record, outcome=Outcome.FAILED, reason=reason, waiver="", stage="lock")


def _is_worse(now: Outcome, then: Outcome) -> bool:
    return _KEPT.index(now) > _KEPT.index(then)


def read(path: Path) -> Lock:
    """Return what a lock says.

    Raises:
        UsageError: It cannot be read, lists no item, lists one twice, or names no outcome.
    """
    try:
        lines = read_text(path, "the list of items").splitlines()
    except DocumentError as error:
        raise UsageError(str(error)) from error
    found: dict[str, Entry] = {}
    for number, text in enumerate(lines, 1):
        line = _COMMENT.sub("", text).strip()
        if not line:
            continue
        item, entry = _taken_apart(path, number, line)
        if item in found:
            first = found[item].line
            raise UsageError(f"{path}:{number}: {item} is listed on line {first} already")
        found[item] = entry
    if not found:
        raise UsageError(f"{path}: lists no item; hettest list --devices=... > {path} writes it")
    return Lock(path, found)


def _taken_apart(path: Path, number: int, line: str) -> tuple[str, Entry]:
    split = _ENTRY.fullmatch(line)
    if split is None:
        return line, Entry(number)
    word, _, devices = split["outcome"].partition(" on ")
    if word not in [outcome.value for outcome in _KEPT]:
        expected = ", ".join(outcome.value for outcome in _KEPT)
        raise UsageError(
            f"{path}:{number}: {split['item']}: found the outcome {word!r}, expected one of "
            f"{expected}, or none"
        )
    try:
        return split["item"], Entry(number, Outcome(word), tuple(map(canonical, devices.split())))
    except UsageError as error:
        raise UsageError(f"{path}:{number}: {split['item']}: {error}") from error


def write(lock: Lock, records: Iterable[Record]) -> None:
    """Write a lock again, by how the items of a run ended.

    Raises:
        UsageError: The file cannot be written.
    """
    write_text(lock.path, lock.renewed(records), "the lock")
