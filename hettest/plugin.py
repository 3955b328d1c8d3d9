"""The pytest plugin: hooks only; what they do is in `options`, `items`, `session` and `report`.

Without ``--devices`` it parametrizes nothing, prints nothing and changes no outcome. Loading it
imports neither NumPy nor any backend.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from hettest import items as ours
from hettest import narrowing, options, registration, workers
from hettest.bench.hooks import AsBenchmarks, timing_lines, with_timing
from hettest.errors import BackendCrash, HettestError, MissingDevice, UsageError
from hettest.files import cleaned, encodable, one_line, printable
from hettest.fixtures import (
    _het_accelerator,
    _het_case,
    _het_device,
    _het_device_map,
    _het_device_pair,
    _het_session,
    accelerator,
    device,
    device_map,
    device_pair,
    het,
    het_benchmark,
    het_case,
    het_golden,
)
from hettest.locks import DeviceBusy
from hettest.outcome import INCOMPLETE, Outcome, Record
from hettest.session import KEY, KitSession

__all__ = [
    "_het_accelerator",
    "_het_case",
    "_het_device",
    "_het_device_map",
    "_het_device_pair",
    "_het_session",
    "accelerator",
    "device",
    "device_map",
    "device_pair",
    "het",
    "het_benchmark",
    "het_case",
    "het_golden",
]

_MARKERS = (
    "device(kind, ...): hettest: run only on devices of these kinds",
    "needs(word, ...): hettest: unsupported by backends that do not claim these capability words",
    "cpu_only: hettest: run only on devices of kind cpu",
)
_HELD = pytest.StashKey[ExitStack]()
"""On a test: the real devices that it holds while it runs."""

_FINISHED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.INTERRUPTED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)
"""Not wrong usage and not an internal error: those have their own exit codes and no outcomes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    registration.register(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    parser: pytest.Parser, args: list[str]
) -> Generator[None, Any, Any]:
    """Register ``--devices`` when every conftest has had its chance to define it."""
    result = yield
    registration.register_devices(parser, args)
    return result


def pytest_configure(config: pytest.Config) -> None:
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    try:
        config.stash[KEY] = KitSession(options.read(config))
        config.stash[KEY].read_files()
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    config.pluginmanager.register(AsBenchmarks(), "hettest-benchmarks")
    config.pluginmanager.register(narrowing.Watch(), "hettest-watch")
    config.pluginmanager.register(_MissingDevices(), "hettest-missing-devices")


def pytest_report_header(config: pytest.Config) -> str | None:
    asked = config.stash[KEY].options
    if not asked.devices:
        return None
    return f"hettest: {asked.backend} on {', '.join(asked.devices)}"


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if ours.OURS not in metafunc.fixturenames:
        return
    try:
        ours.parametrize(metafunc, metafunc.config.stash[KEY])
    except HettestError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what these devices cannot run, and count it; ask for no run that makes no sense.

    Last, so that what others leave out is not counted.
    """
    kit = config.stash[KEY]
    if kit.options.devices and not config.option.collectonly:
        narrowing.check(kit, items, config)
    dropped = narrowing.narrow(kit, items)
    if dropped:
        config.hook.pytest_deselected(items=dropped)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Note what there is before ``--lf`` narrows it, which does so while tests are collected."""
    report = yield
    if collector.config.getoption("lf", False):
        narrowing.note_collected(collector.config.stash[KEY], report.result)
    return report


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count what others leave out, so that it is said."""
    if items:
        narrowing.note_deselected(items[0].config.stash[KEY], items)


def pytest_collection_finish(session: pytest.Session) -> None:
    kit = session.config.stash[KEY]
    for item in session.items:
        if ours.is_ours(item):
            kit.ledger.select(ours.id_of(item), ours.level_of(item))
            kit.nodes[item.nodeid] = ours.id_of(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Give back the devices that a test held, however it ended."""
    try:
        return (yield)
    finally:
        held = item.stash.get(_HELD, None)
        if held is not None:
            held.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """End a test before its fixtures are made, if its device is missing or a word not claimed.

    A conformance item is looked after by the session, which runs it.
    """
    if not ours.is_ours(item) or ours.case_of(item) is not None:
        return
    kit = item.config.stash[KEY]
    try:
        record = _ended_before(item, kit)
    except UsageError as error:
        pytest.fail(str(error), pytrace=False)
    except BackendCrash as crash:
        record = Record(item.nodeid, Outcome.CRASHED, str(crash))
    except DeviceBusy as busy:
        record = Record(item.nodeid, Outcome.NOT_RUN, str(busy))
    if record is not None:
        ours.conclude(item, record)


class _MissingDevices:
    """A plugin around setup and call: a device that a test itself asks for may be missing too."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from _by_policy(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from _by_policy(item))


def _by_policy(item: pytest.Item) -> Generator[None, Any, Any]:
    """End a test as the policy says that asks for a device which is missing."""
    try:
        return (yield)
    except MissingDevice as missing:
        kit = item.config.stash[KEY]
        record = kit.missing_record(Record(item.nodeid, Outcome.NOT_RUN, ""), str(missing))
        return ours.conclude(item, record)


def _ended_before(item: pytest.Item, kit: KitSession) -> Record | None:
    """Return how a test ends that cannot be run; else hold its devices for it."""
    devices = ours.needed_devices(item, kit)
    missing = kit.tested.missing(devices, kit.tested.here) if devices else None
    if missing is not None:
        return kit.missing_record(Record(item.nodeid, Outcome.NOT_RUN, ""), missing)
    lacking = ours.lacking(item, kit)
    if lacking:
        reason = f"not claimed: {', '.join(lacking)}"
        return replace(Record(item.nodeid, Outcome.UNSUPPORTED, reason), lacks=lacking)
    if devices and item.stash.get(_HELD, None) is None:  # a rerun holds them already
        held = item.stash[_HELD] = ExitStack()
        held.enter_context(kit.locks.hold(devices))
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if ours.is_ours(item):
        ours.shorten(report, None if call.excinfo is None else call.excinfo.value)
        record = ours.record_of(item, report, None if call.excinfo is None else call.excinfo.value)
        if record is not None:
            report.hettest = with_timing(item, record).to_json()  # type: ignore[attr-defined]
        if report.failed and ours.case_of(item) is None:
            again = printable(ours.replay(item, item.config.stash[KEY]))
            report.sections.append(("run it again", again))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(
    report: Any,
) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
    """Send nothing to the process that collects reports that cannot be sent: it would lose all."""
    data = yield
    return cleaned(data, encodable) if hasattr(report, "hettest") else data


class _Listener:
    """Takes in the reports of all processes, in the one process that has them all."""

    def __init__(self, kit: KitSession) -> None:
        self.kit = kit

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = getattr(report, "hettest", None)
        if found is not None:
            self.kit.ledger.add(Record.from_json(found))
        elif report.failed and report.when not in ("setup", "call", "teardown"):
            self.kit.dead[report.nodeid] = str(report.longrepr)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", None) or {}
        if "hettest" in output:
            workers.merge(self.kit, output["hettest"])


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Listener(config.stash[KEY]), "hettest-listener")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Settle the outcomes, write the reports and choose the exit code."""
    kit = session.config.stash[KEY]
    kit.release()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["hettest"] = cleaned(workers.output_of(kit), encodable)
        return
    own = int(session.exitstatus)
    if kit.usage is not None:
        session.exitstatus = pytest.ExitCode.USAGE_ERROR
        return
    if session.config.option.collectonly or own not in _FINISHED:
        return
    if not (kit.ledger.selected or kit.options.reports or kit.must_be_settled):
        return
    kit.close()
    kit.renew_lock()
    session.exitstatus = kit.exit_code(own)
    if not kit.write_reports() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = INCOMPLETE


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Say how the items ended, if devices were named; a missing device is always said.

    So is what was timed, and what was to be timed and was not.
    """
    kit = config.stash[KEY]
    if kit.usage is not None:
        _say(terminalreporter, f"ERROR: {kit.usage}")
    for error in kit.unwritten:
        _say(terminalreporter, f"ERROR: {error}")
    timed = list(timing_lines(kit.ledger.in_order()))
    if timed:
        terminalreporter.section("hettest benchmarks")
    for line in timed:
        _say(terminalreporter, line)
    missed = [r for r in kit.ledger.in_order() if r.outcome is Outcome.NOT_RUN]
    if not ((kit.options.devices and (kit.ledger.records or kit.ledger.deselected)) or missed):
        return
    if exitstatus in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        return  # nothing was settled
    from hettest.report.text import lines

    terminalreporter.section("hettest")
    for line in lines(kit.content()):
        _say(terminalreporter, line)
    if kit.crash is not None:
        _say(terminalreporter, f"crashed: {kit.crash}")
    elif kit.exit_code() == INCOMPLETE:
        why = kit.account.undecided or "something was not run"
        _say(terminalreporter, f"incomplete: exit code {INCOMPLETE}, {why}")
    for path in kit.options.reports:
        if not kit.unwritten:
            _say(terminalreporter, f"report: {path}")


def _say(reporter: pytest.TerminalReporter, line: str) -> None:
    """Write one line to the terminal, with nothing in it that a terminal would obey."""
    reporter.write_line(one_line(line))
