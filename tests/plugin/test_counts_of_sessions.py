"""Whatever ends a session, and wherever: what its report counts is what was selected.

Sessions are drawn: tests that end in every way, on some devices, chosen by some options, run in
some mode, of which one test may end more than itself. What was selected, and how each item that
ran must have ended, is worked out here, without the kit.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugin.sessions import Session, run, write

KINDS = {
    "passes": ("device", "pass", "passed"),
    "fails": ("device", "assert False", "failed"),
    "skips": ("device", "pytest.skip('not today')", "unsupported"),
    "expected": ("device", "pytest.xfail('known')", "waived"),
    "broken": ("broken", "pass", "failed"),
    "late": ("late", "pass", "failed"),
    "far": ("accelerator", "pass", "passed"),
    "pair": ("device_pair", "pass", "passed"),
}
"""What a test takes, what it does, and how it ends if it is run."""

ENDS = {
    "exit": "pytest.exit('enough', returncode=0)",
    "interrupt": "raise KeyboardInterrupt",
    "terminated": "os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)",
    "gone": "os._exit(0)",
    "replaced": "os.execv(sys.executable, [sys.executable, '-c', ''])",
    "stopped": "request.session.shouldstop = 'enough'",
}
"""What ends more than a test; the last one lets it pass."""

PHASES = ("setup", "call", "teardown")
ALONE = [(), ("-x",), ("--maxfail=2",), ("-p", "no:logging"), ("--capture=no",)]
SPREAD = [
    ("-n1", "--max-worker-restart=0"),
    ("-n2",),
    ("-n2", "--dist=loadfile", "--max-worker-restart=1"),
    ("-n1", "--dist=worksteal", "-x"),
]
CHOICES = [(), ("-k", "test_1 or test_2"), ("--deselect=test_it.py::test_0",)]
GOOD = {"passed", "unsupported", "waived"}

HEAD = """
import os, signal, sys, time
import pytest

@pytest.fixture
def broken(device): raise RuntimeError("setup")

@pytest.fixture
def late(device):
    yield
    raise RuntimeError("teardown")

@pytest.fixture
def ends(request):
    if request.param == "setup": {end}
    yield
    if request.param == "teardown": {end}
"""


@dataclass(frozen=True)
class Drawn:
    """A session; ``ends`` is the place of the test that ends more than itself."""

    kinds: tuple[str, ...]
    devices: tuple[str, ...]
    choice: tuple[str, ...]
    mode: tuple[str, ...]
    end: str
    phase: str
    ends: int

    def text(self) -> str:
        lines = [HEAD.format(end=ENDS[self.end])]
        for i, kind in enumerate(self.kinds):
            fixture, body, _ = KINDS[kind]
            if i == self.ends:
                mark = f"@pytest.mark.parametrize('ends', ['{self.phase}'], indirect=True)"
                call = ENDS[self.end] if self.phase == "call" else "pass"
                lines.append(f"{mark}\ndef test_{i}(device, ends, request):\n    {call}\n")
            else:
                lines.append(f"def test_{i}({fixture}):\n    {body}\n")
        return "\n".join(lines)

    def expected(self) -> dict[str, str]:
        """Return how each selected item ends if it is run, by its id."""
        found = {}
        for i, kind in enumerate(self.kinds):
            if self.choice[:1] == ("-k",) and i not in (1, 2):
                continue
            if self.choice == CHOICES[2] and i == 0:
                continue
            fixture, _, outcome = KINDS[kind]
            for name in self._names(i, fixture):
                found[f"test_it.py::test_{i}[{name}]"] = "ends" if i == self.ends else outcome
        return found

    def _names(self, i: int, fixture: str) -> list[str]:
        if i == self.ends:
            return [f"{self.phase}-{device}" for device in self.devices]
        if fixture == "device_pair":
            return ["-".join(pair) for pair in permutations(self.devices, 2)]
        if fixture == "accelerator":
            return [device for device in self.devices if not device.startswith("cpu")]
        return list(self.devices)


@st.composite
def sessions(draw: st.DrawFn, modes: list[tuple[str, ...]], ends: list[str]) -> Drawn:
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=2, max_size=5))
    return Drawn(
        kinds=tuple(kinds),
        devices=draw(
            st.sampled_from([("cpu:0",), ("cpu:0", "sim:0"), ("cpu:0", "sim:0", "sim:1")])
        ),
        choice=draw(st.sampled_from(CHOICES)),
        mode=draw(st.sampled_from(modes)),
        end=draw(st.sampled_from(ends)),
        phase=draw(st.sampled_from(PHASES)),
        ends=draw(st.integers(0, len(kinds))),
    )


def ended(drawn: Drawn) -> Session:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), {"test_it.py": drawn.text()})
        options = (*drawn.mode, *drawn.choice, "-p", "no:randomly")
        return run(Path(folder), *options, devices=",".join(drawn.devices))


def hold(drawn: Drawn) -> Session:
    """Run a session and compare its report with what was selected."""
    session = ended(drawn)
    expected = drawn.expected()
    if not expected:
        assert session.code == pytest.ExitCode.NO_TESTS_COLLECTED, session.output
        return session
    assert session.report is not None, session.output
    outcomes = session.outcomes
    assert outcomes.keys() == expected.keys(), session.output
    assert Counter(outcomes.values()) == session.counts
    assert sum(session.counts.values()) == session.report["selected"] == len(expected)
    for item, outcome in outcomes.items():
        due = {"passed", "crashed"} if expected[item] == "ends" else {expected[item]}
        assert outcome in {"not run", *due}, (item, session.output)
    assert (session.code == 0) == (set(outcomes.values()) <= GOOD), session.output
    return session


@settings(max_examples=10, deadline=None)
@given(sessions(ALONE, list(ENDS)))
def test_in_one_process(drawn: Drawn) -> None:
    assert "INTERNALERROR" not in hold(drawn).output


@settings(max_examples=5, deadline=None)
@given(sessions(SPREAD, ["exit", "terminated", "gone", "stopped"]))
def test_over_workers(drawn: Drawn) -> None:
    """A worker that is told to exit is an internal error of pytest-xdist; the count holds."""
    hold(drawn)
