"""The pytest plugin: hooks only; what they do is in `options`, `items`, `session` and `report`.

Without ``--devices`` it parametrizes nothing, prints nothing and changes no outcome. Loading it
imports neither NumPy nor any backend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, final

import pytest

from hettest import items as ours
from hettest import narrowing, options, registration, workers
from hettest.bench.hooks import AsBenchmarks, with_timing
from hettest.errors import BackendCrash, HettestError, MissingDevice, UsageError
from hettest.files import cleaned, encodable, printable
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
from hettest.outcome import Outcome, Record
from hettest.run_end import RunEnd
from hettest.session import ENDED, KEY, KitSession

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
SUITE: Final = Path(__file__).parent / "suite" / "test_corpus.py"
_HELD = pytest.StashKey[ExitStack]()
"""On a test: the real devices that it holds while it runs."""


@final
class SuiteModule(pytest.Module):
    """The module of the conformance suite; its tests are named as it says, not as the user does."""

    def funcnamefilter(self, name: str) -> bool:
        return name.startswith("test_")


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
    end = RunEnd(config.stash[KEY], config)
    config.pluginmanager.register(end, "hettest-run-end")
    if not end.is_worker:
        config.pluginmanager.register(end.controller, "hettest-controller")


def pytest_report_header(config: pytest.Config) -> list[str]:
    asked = config.stash[KEY].options
    if not asked.devices:
        return []
    wrong = []
    if asked.reports:
        from hettest.report.unfinished import warning

        wrong = [text for path in asked.reports if (text := warning(path)) is not None]
    return [f"hettest: {asked.backend} on {', '.join(asked.devices)}", *wrong]


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


def pytest_itemcollected(item: pytest.Item) -> None:
    narrowing.read_parameters(item, item.config.stash[KEY])


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count what others leave out, so that it is said."""
    if items:
        narrowing.note_deselected(items[0].config.stash[KEY], items)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect the suite whatever the user's ``python_files`` are."""
    found = yield
    if file_path == SUITE and not found:
        return [parent.ihook.pytest_pycollect_makemodule(module_path=file_path, parent=parent)]
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Collect the suite's test whatever the user's ``python_functions`` are."""
    return SuiteModule.from_parent(parent, path=module_path) if module_path == SUITE else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Note what is to be run, before the first test of any worker."""
    kit = session.config.stash[KEY]
    found = [item for item in session.items if ours.is_ours(item)]
    times = Counter(ours.id_of(item) for item in found)
    for item in found:
        name = ours.id_of(item)
        kit.ledger.select(name, ours.level_of(item), times[name])
        kit.nodes[item.nodeid] = name
    workers.announce(session.config)


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
    item.stash[ENDED] = None  # of an earlier attempt
    if not ours.is_ours(item) or ours.case_of(item) is not None:
        return
    if item.config.getoption("setupplan", False):
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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write on the report how the test ended, after all others have changed what they change."""
    report = yield
    if ours.is_ours(item):
        ours.shorten(report, None if call.excinfo is None else call.excinfo.value)
        record = ours.record_of(item, report, None if call.excinfo is None else call.excinfo.value)
        if record is not None:
            report.hettest = with_timing(item, record).to_json()  # type: ignore[attr-defined]
        if report.failed and ours.case_of(item) is None:
            from hettest import replaying

            again = printable(replaying.line(item, item.config.stash[KEY]))
            report.sections.append(("run it again", again))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(
    report: Any,
) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
    """Send nothing to the process that collects reports that cannot be sent: it would lose all."""
    data = yield
    return cleaned(data, encodable) if hasattr(report, "hettest") else data
