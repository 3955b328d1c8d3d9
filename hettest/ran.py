"""On which devices an item was seen to run, which is not the same as those it was meant for."""

from __future__ import annotations

from hettest.outcome import Clause, Evidence, Outcome, Record, Status, Transfer


def ran_on(record: Record) -> frozenset[str]:
    """Return the devices on which the item was seen to compute.

    A backend reports them, or shows them when the results of one device are doubled. Of one that
    shows nothing only this is known: an item that has no other device than the host ran there.
    """
    if _was_not_run(record):
        return frozenset()
    found = {d for devices in _placement(record) for d in devices}
    if any(map(_is_caused, record.clauses)):
        found.update(record.devices)
    if not found and len(record.devices) == 1:
        found.update(record.devices)
    return frozenset(found)


def reached_on(record: Record) -> frozenset[str]:
    """Return those devices, and those that a value was seen to come to or to leave."""
    if _was_not_run(record):
        return frozenset()
    ends = {end for t in _transfers(record) for end in (t.source, t.target)}
    return ran_on(record) | ends


def _was_not_run(record: Record) -> bool:
    """Whether nothing was executed: no clause is of a run, or there is none at all."""
    return all(clause.name == "diagnostics" for clause in record.clauses)


def _placement(record: Record) -> tuple[tuple[str, ...], ...]:
    return () if record.seen is None else tuple(record.seen.placement.values())


def _transfers(record: Record) -> tuple[Transfer, ...]:
    return () if record.seen is None else record.seen.transfers


def _is_caused(clause: Clause) -> bool:
    proven = clause.name == "placement" and clause.status is Status.PROVEN
    return proven and clause.evidence is Evidence.CAUSED


def shows_its_place(record: Record) -> bool:
    """Whether a passed item says something of its devices: it has one, or was seen on the others.

    An item on the host and one more device was seen there if anything was.
    """
    if record.outcome is not Outcome.PASSED or len(record.devices) < 2 or _was_not_run(record):
        return True
    return bool(reached_on(record) - {record.devices[0]})
