"""Which pytest tests are the kit's, on which devices each runs, and what becomes of each.

A test is the kit's if it uses a fixture of the kit's own: those depend on ``_het_session``, which
no one else has. What is parametrized are private fixtures that ours depend on, so that a stranger's
``device`` is never touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

import pytest

from hettest.capability import missing
from hettest.devicemap import kind_of
from hettest.outcome import Outcome, Record
from hettest.session import ENDED, KitSession

if TYPE_CHECKING:
    from hettest.case.expansion import Item

OURS: Final = "_het_session"
DEVICE: Final = "_het_device"
ACCELERATOR: Final = "_het_accelerator"
PAIR: Final = "_het_pair"
CASE: Final = "_het_case"
_TOO_FEW: Final = "needs-more-devices"


def is_ours(item: pytest.Item) -> bool:
    """Whether the test uses a fixture of the kit's."""
    return OURS in getattr(item, "fixturenames", ())


def parametrize(metafunc: pytest.Metafunc, session: KitSession) -> None:
    """Run the test once for each device, accelerator or pair that it takes."""
    devices = session.options.devices
    if CASE in metafunc.fixturenames:
        items = session.corpus.items if devices else ()
        _over(metafunc, CASE, tuple(items), tuple(i.id for i in items))
    if not devices:
        return
    accelerators = tuple(d for d in devices if kind_of(d) != "cpu")
    if DEVICE in metafunc.fixturenames:
        _over(metafunc, DEVICE, devices, devices)
    if ACCELERATOR in metafunc.fixturenames:
        _over(metafunc, ACCELERATOR, accelerators, accelerators)
    if PAIR in metafunc.fixturenames:
        pairs = tuple(permutations(devices, 2))
        _over(metafunc, PAIR, pairs, tuple("-".join(pair) for pair in pairs))


def _over(
    metafunc: pytest.Metafunc, name: str, values: tuple[object, ...], ids: tuple[str, ...]
) -> None:
    """Parametrize; without values, by a mark that is deselected before the run."""
    metafunc.parametrize(
        name, values or (None,), ids=ids or (_TOO_FEW,), indirect=True, scope="session"
    )


def devices_of(item: pytest.Item) -> tuple[str, ...]:
    """Return the devices that the test was parametrized with."""
    params = _params(item)
    case = params.get(CASE)
    if case is not None:
        return case_of(item).devices
    found: list[str] = []
    for name in (DEVICE, ACCELERATOR):
        found += [params[name]] if params.get(name) else []
    found += params.get(PAIR) or ()
    return tuple(dict.fromkeys(found))


def case_of(item: pytest.Item) -> Item:
    """Return the conformance item that a test of the suite runs."""
    found: Item = _params(item)[CASE]
    return found


def _params(item: pytest.Item) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else callspec.params


def id_of(item: pytest.Item) -> str:
    """Return the id by which reports call the test: a case item's own, else pytest's."""
    return case_of(item).id if _params(item).get(CASE) is not None else item.nodeid


def level_of(item: pytest.Item) -> int | None:
    return case_of(item).case.level if _params(item).get(CASE) is not None else None


def left_out(item: pytest.Item) -> str | None:
    """Return why a test of the kit's is not to be run with these devices, or ``None``."""
    params = _params(item)
    if any(name in params and params[name] is None for name in (ACCELERATOR, PAIR, CASE)):
        return "need more devices than were named"
    kinds = {kind_of(device) for device in devices_of(item)}
    if not kinds:
        return None
    if item.get_closest_marker("cpu_only") and kinds != {"cpu"}:
        return "are for the cpu only"
    wanted = {kind for mark in item.iter_markers("device") for kind in mark.args}
    if wanted and not wanted & kinds:
        return f"are for devices of kind {', '.join(sorted(wanted))}"
    return None


def lacking(item: pytest.Item, session: KitSession) -> tuple[str, ...]:
    """Return the capability words that the test needs and the backend does not claim."""
    needed = tuple(_needed(item))
    return missing(needed, session.backend.capabilities) if needed else ()


def _needed(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("needs"):
        yield from mark.args


def record_of(item: pytest.Item, report: pytest.TestReport) -> Record | None:
    """Return how the test ended, if this phase of it decides that."""
    known = item.stash.get(ENDED, None)
    if known is not None and report.when in ("setup", "call") and report.outcome != "passed":
        return known
    if report.when == "call" and known is not None:
        return known
    name, level = id_of(item), level_of(item)
    if report.failed:
        reason = _first_line(report)
        prefix = "" if report.when == "call" else f"{report.when}: "
        text = report.longreprtext
        return Record(
            name, Outcome.FAILED, prefix + reason, level, seconds=report.duration, text=text
        )
    if report.skipped:
        waived = hasattr(report, "wasxfail")
        outcome = Outcome.WAIVED if waived else Outcome.UNSUPPORTED
        return Record(name, outcome, _skip_reason(report), level)
    if report.when == "call":
        return Record(name, Outcome.PASSED, "", level, seconds=report.duration)
    return None


def _first_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    return next((line for line in text.splitlines() if line.strip()), "failed")


def _skip_reason(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail or 'no reason given'}"
    if isinstance(report.longrepr, tuple):
        return f"skipped by the test: {report.longrepr[2].removeprefix('Skipped: ')}"
    return "skipped by the test"
