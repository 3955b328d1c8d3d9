"""The files that a run writes: reports, and the lock that it was asked to renew.

What cannot be written is noted in ``unwritten`` of the session; the former file is as it was.
"""

from __future__ import annotations

from hettest.errors import UsageError
from hettest.session import KitSession


def begin(kit: KitSession) -> None:
    """Note that tests are to be run; a report is of an earlier run until they have ended."""
    kit.began = True
    if kit.options.reports:
        from hettest.report.unfinished import mark

        mark(kit.options.reports, kit.started)


def keep_former(kit: KitSession) -> None:
    """Leave the reports of earlier runs as they are: this one has none."""
    from hettest.report.unfinished import unmark

    for path in kit.options.reports:
        unmark(path)


def write_lock(kit: KitSession) -> None:
    """Write the lock again, if that was asked for and all items have ended.

    The lock of a run that was cut short would hold the next run to a part.
    """
    if kit.lock is None or not kit.options.update_lock or kit.cut or kit.unfinished:
        return
    from hettest.outcome_lock import write

    try:
        write(kit.lock, [r for r in kit.ledger.in_order() if r.case is not None])
    except UsageError as error:
        kit.unwritten.append(str(error))


def write_reports(kit: KitSession) -> bool:
    """Write each report that was asked for, and return whether all that is to be written was."""
    if not kit.options.reports:
        return not kit.unwritten
    from hettest.report import write
    from hettest.report.unfinished import unmark

    for path in kit.options.reports:
        try:
            write(path, kit.content())
            unmark(path)
        except UsageError as error:
            kit.unwritten.append(str(error))
    return not kit.unwritten
