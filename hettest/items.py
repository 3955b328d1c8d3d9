"""Which pytest tests are the kit's, on which devices each runs, and what becomes of each.

A test is the kit's if it uses a fixture of the kit's own. Those depend on private fixtures that no
one else has, such as ``_het_device``, which stand in a test's closure only if the ``device`` that
the test sees is ours. Somebody else's ``device``, fixture or parameter, is never touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Final

import pytest

from hettest.capability import missing
from hettest.devicemap import kind_of
from hettest.errors import BackendCrash, UsageError
from hettest.outcome import Outcome, Record
from hettest.session import ENDED, Chosen, KitSession

if TYPE_CHECKING:
    from hettest.case.expansion import Item

OURS: Final = "_het_session"
_TOO_FEW: Final = "needs-more-devices"


def is_ours(item: pytest.Item) -> bool:
    """Whether the test uses a fixture of the kit's, be it one that it asked for as it ran."""
    if OURS in getattr(item, "fixturenames", ()):
        return True
    request = getattr(item, "_request", None)  # the only place that has what was asked for later
    return OURS in (getattr(request, "fixturenames", None) or ())


def parametrize(metafunc: pytest.Metafunc, session: KitSession) -> None:
    """Run the test once for each device, accelerator, pair or case that it takes."""
    if "_het_case" in metafunc.fixturenames:
        _over_corpus(metafunc, session)
    devices = session.options.devices
    if not devices:
        return
    choices: dict[str, list[tuple[str, ...]]] = {
        "device": [(d,) for d in devices],
        "accelerator": [(d,) for d in devices if kind_of(d) != "cpu"],
        "device_pair": list(permutations(devices, 2)),
    }
    for fixture, chosen in choices.items():
        if f"_het_{fixture}" in metafunc.fixturenames:
            _over(metafunc, fixture, [Chosen(c) for c in chosen], ["-".join(c) for c in chosen])


def _over_corpus(metafunc: pytest.Metafunc, session: KitSession) -> None:
    if not session.options.devices:
        raise UsageError("the conformance suite needs devices: pytest --devices=cpu,sim")
    selection = session.corpus
    session.offer(selection, whole=True)
    values = [Chosen(item.devices, item) for item in selection.items]
    _over(metafunc, "het_case", values, [item.id for item in selection.items])


def _over(
    metafunc: pytest.Metafunc, fixture: str, values: Sequence[Chosen], ids: Sequence[str]
) -> None:
    """Parametrize; without values, by a mark that is deselected before the run.

    Someone else's hook may have parametrized a name of ours before; then it is theirs.
    """
    try:
        metafunc.parametrize(
            fixture, values or (Chosen(()),), ids=ids or (_TOO_FEW,), indirect=True, scope="session"
        )
    except (ValueError, pytest.Collector.CollectError) as error:
        if "duplicate" not in str(error):
            raise


def _chosen(item: pytest.Item) -> list[Chosen]:
    callspec = getattr(item, "callspec", None)
    params = {} if callspec is None else callspec.params
    return [value for value in params.values() if isinstance(value, Chosen)]


def devices_of(item: pytest.Item) -> tuple[str, ...]:
    """Return the devices that the test was parametrized with, each once."""
    return tuple(dict.fromkeys(d for chosen in _chosen(item) for d in chosen.devices))


def needed_devices(item: pytest.Item, session: KitSession) -> tuple[str, ...]:
    """Return the devices without which the test cannot run: its own, and those of its map."""
    own = devices_of(item)
    if "_het_device_map" not in getattr(item, "fixturenames", ()):
        return own
    mapped = session.binding_of(session.options.devices).values()
    return tuple(dict.fromkeys((*own, *mapped)))


def wrong_mark(item: pytest.Item) -> str | None:
    """Return what is wrong with a marker of the kit's, or ``None``."""
    for name, example in (("device", '"cuda"'), ("needs", '"op:add"')):
        for mark in item.iter_markers(name):
            for word in mark.args:
                if not isinstance(word, str):
                    return f"the marker {name} takes texts such as {example}, found {word!r}"
            if mark.kwargs:
                return f"the marker {name} takes texts alone, found {next(iter(mark.kwargs))}="
    return None


def case_of(item: pytest.Item) -> Item | None:
    """Return the conformance item that the test runs, if it is one of the suite's."""
    return next((c.item for c in _chosen(item) if c.item is not None), None)


def id_of(item: pytest.Item) -> str:
    """Return the id by which reports call the test: a case item's own, else pytest's."""
    case = case_of(item)
    return item.nodeid if case is None else case.id


def one_line(error: BaseException) -> str:
    """Return what an error says, or what it is where it says nothing, in one line."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def level_of(item: pytest.Item) -> int | None:
    case = case_of(item)
    return None if case is None else case.case.level


def conclude(item: pytest.Item, record: Record) -> None:
    """End the test as ``record`` says; the one place that says what pytest makes of an outcome.

    Raises:
        Exception: One of pytest's own, unless the item passed.
    """
    item.stash[ENDED] = record
    match record.outcome:
        case Outcome.PASSED:
            return
        case Outcome.FAILED | Outcome.CRASHED:
            pytest.fail(record.text or record.reason, pytrace=False)
        case Outcome.WAIVED:
            pytest.xfail(record.waiver)
        case _:
            pytest.skip(f"{record.outcome}: {record.reason}")


def left_out(item: pytest.Item) -> str | None:
    """Return why a test of the kit's is not to be run with these devices, or ``None``."""
    chosen = _chosen(item)
    if not all(c.is_any for c in chosen):
        return "need more devices than were named"
    kinds = {kind_of(device) for device in devices_of(item)}
    if not kinds:
        return None
    if item.get_closest_marker("cpu_only") and kinds != {"cpu"}:
        return "are for the cpu only"
    wanted = {kind for mark in item.iter_markers("device") for kind in mark.args}
    if wanted and not wanted & kinds:
        return f"are for devices of kind {', '.join(sorted(map(str, wanted)))}"
    return None


def lacking(item: pytest.Item, session: KitSession) -> tuple[str, ...]:
    """Return the capability words that the test needs and the backend does not claim."""
    needed = tuple(_needed(item))
    return missing(needed, session.tested.here.facts.capabilities) if needed else ()


def _needed(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("needs"):
        yield from mark.args


def record_of(
    item: pytest.Item, report: pytest.TestReport, error: BaseException | None
) -> Record | None:
    """Return how the test ended, if this phase of it, which raised ``error``, decides that."""
    known = item.stash.get(ENDED, None)
    if known is not None and report.when in ("setup", "call") and report.outcome != "passed":
        return known
    if report.when == "call" and known is not None:
        return known
    case = case_of(item)
    if case is not None and known is None and not report.failed:
        return _not_judged(item, case, report)
    name, level = id_of(item), level_of(item)
    if report.failed:
        reason = first_line(report)
        prefix = "" if report.when == "call" else f"{report.when}: "
        text = report.longreprtext
        outcome = Outcome.CRASHED if isinstance(error, BackendCrash) else Outcome.FAILED
        return Record(name, outcome, prefix + reason, level, seconds=report.duration, text=text)
    if report.skipped:
        waived = hasattr(report, "wasxfail")
        outcome = Outcome.WAIVED if waived else Outcome.UNSUPPORTED
        return Record(name, outcome, _skip_reason(report), level)
    if report.when == "call":
        return Record(name, Outcome.PASSED, "", level, seconds=report.duration)
    return None


def _not_judged(item: pytest.Item, case: Item, report: pytest.TestReport) -> Record | None:
    """Return the end of a conformance item that others kept from the kit: it was never run.

    Only the kit's own record says that such an item passed, is unsupported or is waived.
    """
    if report.skipped:
        reason = _kept_back(item, report)
    elif report.when == "call":
        reason = "its test was not executed by the kit; a plugin or a conftest ran it instead"
    else:
        return None
    from hettest.runner import unjudged

    return unjudged(case, Outcome.NOT_RUN, reason)


def _kept_back(item: pytest.Item, report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        why, by = report.wasxfail.removeprefix("reason: "), "a mark xfail"
    else:
        marked = any(item.iter_markers("skip")) or any(item.iter_markers("skipif"))
        why = report.longrepr[2].removeprefix("Skipped: ") if type(report.longrepr) is tuple else ""
        by = "a mark" if marked and report.when == "setup" else "a plugin or a conftest"
    return f"skipped by {by}: {why or 'no reason given'}"


def shorten(report: pytest.TestReport, error: BaseException | None) -> None:
    """Let lists of failures say what the kit found, without the name of its exception."""
    crash = getattr(report.longrepr, "reprcrash", None)
    summary = getattr(error, "summary", None) or (error if isinstance(error, UsageError) else None)
    if crash is not None and summary is not None:
        crash.message = str(summary)


def first_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return what a report of a failure says, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    missing = getattr(report.longrepr, "errorstring", None)  # of a fixture that there is not
    text = crash.message if crash is not None else missing or report.longreprtext
    return next((line for line in text.splitlines() if line.strip()), "failed")


def _skip_reason(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail or 'no reason given'}"
    if isinstance(report.longrepr, tuple):
        return f"skipped by the test: {report.longrepr[2].removeprefix('Skipped: ')}"
    return "skipped by the test"
