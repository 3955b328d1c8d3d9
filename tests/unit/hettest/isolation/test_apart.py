"""The judge and the backend never meet: neither process loads what belongs to the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hettest.isolation import Isolated
from hettest.outcome import Outcome
from hettest.runner.asked import Asked
from tests.unit.hettest.isolation.test_isolated import DEVICES, items

BACKEND = '''
"""Six lines that reach for the judge, in a backend whose values are wrong."""

import sys

from tests.unit.hettest import fake_backend, lying


class Backend(fake_backend.Backend):
    def __init__(self):
        super().__init__(fake_backend.Fault.WRONG_VALUE)
        lying.agree()


JUDGE = ("hettest.judge", "hettest.expect", "hettest.runner.run", "reference_vm.oracle")
print("loaded:", [name for name in sys.modules if name.startswith(JUDGE)])
'''
COMMAND = "import sys; from hettest.cli.main import main; main()"


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a backend whose module is on the path, and has never been imported."""
    folder = tmp_path / "path"
    folder.mkdir()
    (folder / "six_lines.py").write_text(BACKEND, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{Path.cwd()}")
    return "six_lines:Backend"


def test_neither_process_loads_what_is_the_others(tmp_path: Path, stranger: str) -> None:
    (item,) = items(tmp_path / "cases", "well")
    tested = Isolated(Asked(stranger, DEVICES))

    assert tested.facts.name == "fake"
    record = tested.run(item)
    tested.close()

    assert record.outcome is Outcome.FAILED
    assert "  printed:\n    loaded: []" in record.text
    assert "six_lines" not in sys.modules


def hettest(*args: str, seen: Path) -> subprocess.CompletedProcess[str]:
    """Run a command, in whose process no module of the backend may be found at the end."""
    watched = (
        "import atexit, sys; "
        f"atexit.register(lambda: open({str(seen)!r}, 'w').write(' '.join(sys.modules))); "
    )
    return subprocess.run(
        [sys.executable, "-c", watched + COMMAND, *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_no_command_that_judges_imports_the_backend(tmp_path: Path, stranger: str) -> None:
    seen, out = tmp_path / "modules", tmp_path / "report"
    common = (f"--backend={stranger}", "--devices=cpu,sim")
    commands = (
        ("run", "ops/add/*", *common),
        ("conformance", "run", "--quick=0.02%", f"--out={out}", *common),
        ("conformance", "verify", str(out), "--rerun=100%"),
        ("backend", "check", stranger),
        ("doctor", f"--backend={stranger}"),
    )
    for command in commands:
        ended = hettest(*command, seen=seen)

        assert "Traceback" not in ended.stderr, ended.stderr
        assert "six_lines" not in seen.read_text().split(), command
        if command[0] == "run":
            assert ended.returncode == 1, ended.stdout
            assert "values: " in ended.stdout


def test_conformance_is_refused_where_the_backend_could_reach_the_judge(
    tmp_path: Path, stranger: str
) -> None:
    from hettest.conformance import running
    from hettest.errors import UsageError
    from hettest.levels import profile
    from hettest.options import HetOptions
    from hettest.session import KitSession

    core = profile.load("core@1")
    options = HetOptions(DEVICES, None, stranger, "incomplete", None, (), False, isolate=False)

    with pytest.raises(UsageError, match="judged in another process than the backend's"):
        running.run(KitSession(options), core, running.items_of(core, DEVICES, 0), list)
    assert "six_lines" not in sys.modules
