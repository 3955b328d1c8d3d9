"""How a run of pytest ends: every item has its end, and the reports are written, whatever comes."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from typing import Final, final

import pytest

from hettest import items as ours
from hettest import outputs, termination, workers
from hettest.bench.hooks import timing_lines
from hettest.files import cleaned, encodable, one_line
from hettest.ledger import INCOMPLETE
from hettest.outcome import Outcome, Record
from hettest.phases import PhaseReports, is_part
from hettest.session import KitSession

_COUNTED: Final = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.INTERRUPTED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)
"""Pytest's exit codes in whose place the outcomes of the items decide; any other stays."""

_SUMMED_UP: Final = (*_COUNTED, pytest.ExitCode.USAGE_ERROR)
"""Those with which pytest prints a summary by itself."""


@final
class RunEnd:
    """A plugin: it hears of all that ends a test or the run, and settles the count."""

    def __init__(self, kit: KitSession, config: pytest.Config) -> None:
        self.kit = kit
        self.config = config
        self.process = os.getpid()
        self.is_worker = hasattr(config, "workerinput")
        self.phases = PhaseReports(kit.ledger, kit.dead)
        self.controller = workers.Controller(kit)
        self.session: pytest.Session | None = None
        self.finished = False
        self.collected = False
        self.code: int | None = None
        """Of the run, when everything has its end."""

        first = self._abandon if self.is_worker else None
        self.signals = termination.SignalHandlers(first=first, second=self._end_by_signal)
        self.guard = termination.ExitGuard(self._end_by_exit)

    @property
    def is_active(self) -> bool:
        """Whether anything was asked of the kit."""
        kit = self.kit
        asked = kit.options.devices or kit.options.reports or kit.must_be_settled
        return bool(asked or kit.ledger.selected or kit.ledger.records)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, object, object]:
        self.session = session
        if self.is_active:
            self.signals.install()
            if not self.is_worker:  # pytest-xdist notices that a worker is gone
                self.guard.install()
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        if not self.finished and not self.is_worker and os.getpid() == self.process:
            self._finish_early()
        self.signals.restore()
        self.guard.restore()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            why = _why_not_collected(report)
            what = report.nodeid or "a part of the tests"
            self.kit.unfinished.append(f"{what} could not be collected: {why}")
        elif report.skipped:
            self.kit.ledger.leave_out("files that skipped themselves while they were collected")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        result = yield
        self.collected = True
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        if self.is_worker or _is_dry(self.config):
            self.kit.began = True
        else:
            outputs.begin(self.kit)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.kit.running = item
        try:
            return (yield)
        finally:
            self.kit.running = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.is_active and os.getpid() != self.process and not is_part(report):
            self._end_child(report.nodeid)
        if not self.is_worker:
            self.phases.add(report)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        error = excinfo.value
        if isinstance(error, termination.Terminated):
            self.kit.interrupt(error)
            self.controller.terminate(error.signal)
        else:
            self.kit.cut = _what_cut(error)

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.kit.cut = f"an internal error of pytest or a plugin: {ours.one_line(excinfo.value)}"

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Settle the outcomes when all others are done, whatever they raise."""
        try:
            return (yield)
        except termination.Terminated as end:  # in a teardown
            self.kit.interrupt(end)
            return None
        finally:
            if os.getpid() == self.process:
                self._finish(session)

    def _finish(self, session: pytest.Session) -> None:
        self.finished = True
        kit, own = self.kit, int(session.exitstatus)
        with kit.interruptible():
            kit.release()
        if kit.signal is not None:
            kit.abandon()
        if self.is_worker:
            self.config.workeroutput[workers.OUTPUT] = cleaned(workers.output_of(kit), encodable)  # type: ignore[attr-defined]
            return
        self.controller.settle()
        if kit.usage is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            outputs.keep_former(kit)
        elif self._is_to_settle(own):
            kit.cut = kit.cut or str(session.shouldfail or session.shouldstop or "")
            session.exitstatus = self._settle(own)
            if own not in _SUMMED_UP:
                self._print_in_place_of_pytest()

    def _finish_early(self) -> None:
        """Settle a run that a plugin ended as it began, of which pytest says no more."""
        if self.session is None:
            return
        own = int(self.session.exitstatus)
        self._finish(self.session)
        if own in _SUMMED_UP and self.code is not None:
            self._print_in_place_of_pytest()

    def _is_to_settle(self, own: int) -> bool:
        """Whether there is anything to count: tests were to be run, or it was not known yet."""
        if not self.is_active:
            return False
        if self.kit.began:
            return not _is_dry(self.config)
        return own not in (*_COUNTED, pytest.ExitCode.USAGE_ERROR) or bool(self.kit.cut)

    def _settle(self, own: int) -> int:
        """Give every item its end and write the reports; return the exit code."""
        kit = self.kit
        if not self.collected and not self.controller.is_distributed:
            kit.unfinished.append("the run ended before all tests were collected")
        if self.config.getoption("setuponly", False):
            kit.cut = kit.cut or "--setup-only runs no test"
        self.phases.close()
        kit.close()
        outputs.write_lock(kit)
        code = own
        if own in _COUNTED or kit.signal is not None:
            code = kit.exit_code(own)
        if not outputs.write_reports(kit) and code == pytest.ExitCode.OK:
            code = INCOMPLETE
        self.code = code
        return code

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self._print(terminalreporter)

    def _print(self, out: pytest.TerminalReporter) -> None:
        """Say how the items ended, if devices were named; a missing device is always said.

        So is what was required of the run, and what was timed, or was to be timed and was not.
        """
        kit = self.kit
        if kit.usage is not None:
            _say(out, f"ERROR: {kit.usage}")
        for error in kit.unwritten:
            _say(out, f"ERROR: {error}")
        timed = list(timing_lines(kit.ledger.in_order()))
        if timed:
            out.section("hettest benchmarks")
        for line in timed:
            _say(out, line)
        missed = any(r.outcome is Outcome.NOT_RUN for r in kit.ledger.in_order())
        settled = self.code is not None and (missed or kit.must_be_settled)
        if kit.usage is not None or not (kit.options.devices or settled):
            return
        if self.code is not None:
            self._print_ends(out)
        elif kit.ledger.deselected:
            out.section("hettest")
            for reason, count in kit.ledger.deselected.items():
                _say(out, f"deselected: {count} {reason}")

    def _print_ends(self, out: pytest.TerminalReporter) -> None:
        kit = self.kit
        counted = kit.ledger.records or kit.ledger.deselected or kit.unfinished
        if counted or kit.must_be_settled:
            from hettest.report.text import lines

            out.section("hettest")
            for line in lines(kit.content()):
                _say(out, line)
        if kit.crash is not None:
            _say(out, f"crashed: {kit.crash}")
        elif self.code == INCOMPLETE:
            why = self._why_incomplete()
            _say(out, f"incomplete: exit code {INCOMPLETE}, {why}")
        for path in kit.options.reports if not kit.unwritten else ():
            _say(out, f"report: {path}")

    def _why_incomplete(self) -> str:
        kit, missed = self.kit, "something was not run"
        if any(record.outcome is Outcome.NOT_RUN for record in kit.ledger.in_order()):
            return missed
        unwritten = "not all that was asked for could be written" if kit.unwritten else ""
        return kit.account.undecided or unwritten or "; ".join(kit.unfinished) or missed

    def _print_in_place_of_pytest(self) -> None:
        out = self.config.pluginmanager.getplugin("terminalreporter")
        if out is not None:
            self._print(out)

    def _abandon(self, number: int) -> None:
        self.kit.abandon()

    def _end_by_signal(self, number: int) -> None:
        self.kit.signal = number
        self._end_at_once(termination.name_of(number))

    def _end_by_exit(self, call: str) -> None:
        item = self.kit.running
        where = "outside of tests" if item is None else f"in {item.nodeid}"
        if item is not None and ours.is_ours(item):
            name, level = ours.id_of(item), ours.level_of(item)
            reason = f"{call} was called: it ends the whole run"
            self.kit.ledger.add(Record(name, Outcome.CRASHED, reason, level, stage="crash"))
        self._end_at_once(f"{call} was called {where}")

    def _end_at_once(self, why: str) -> None:
        """Settle and print what there is, in a process that will not go on."""
        kit = self.kit
        capture = self.config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.suspend_global_capture(in_=True)
        kit.cut = why
        kit.abandon()
        self.controller.terminate()
        self.controller.settle()
        self._settle(pytest.ExitCode.TESTS_FAILED)
        self._print_in_place_of_pytest()
        print(f"\nhettest: the run ends here: {one_line(why)}", file=sys.stderr, flush=True)
        sys.stdout.flush()

    def _end_child(self, node: str) -> None:
        """End a forked child that came back out of the test which forked it."""
        why = "forked, and the child came back out of the test; it ends here"
        print(f"hettest: {one_line(node)} {why}", file=sys.__stderr__, flush=True)
        os._exit(1)


def _say(out: pytest.TerminalReporter, line: str) -> None:
    """Write one line to the terminal, with nothing in it that a terminal would obey."""
    out.write_line(one_line(line))


def _why_not_collected(report: pytest.CollectReport) -> str:
    """Return the error itself, which stands last, after where it was raised."""
    lines = [line for line in report.longreprtext.splitlines() if line.strip()]
    errors = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    return (errors or lines[-1:] or ["no reason given"])[-1]


def _is_dry(config: pytest.Config) -> bool:
    """Whether pytest was asked to show tests, and to run none."""
    return any(config.getoption(name, False) for name in ("collectonly", "setupplan"))


def _what_cut(error: BaseException) -> str:
    if isinstance(error, pytest.exit.Exception):
        return f"pytest.exit: {ours.one_line(error)}"
    name = type(error).__name__
    return ours.one_line(error) if name == "Interrupted" else name
