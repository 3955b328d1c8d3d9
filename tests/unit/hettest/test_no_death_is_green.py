"""Whatever a backend dies of, at whatever point, no command that uses it ends with 0."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.hettest.case.written import write
from tests.unit.hettest.dying import DIED, MANNERS, POINTS
from tests.unit.hettest.test_cli import hettest
from tests.unit.hettest.test_missing_devices import ASKING, CASE, WAIVERS

DYING: Final = "tests.unit.hettest.dying:Dying"
ORACLE: Final = """[[run]]
name   = "plain"
args.a = { dtype = "f32", shape = [4], data = [1, 2, 3, 4] }
args.b = { dtype = "f32", shape = [4], data = [5, 6, 7, 8] }
result = "oracle"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working folder: a case that passes, and one that needs the waiver that there is."""
    found = tmp_path_factory.mktemp("dying")
    adding = CASE.replace(CASE[CASE.index("[[run]]") :], ORACLE)
    write(found / "cases", adding)
    write(found / "waived", CASE)
    (found / "waivers.toml").write_text(WAIVERS)
    with chdir(found):
        yield found


def ended(folder: Path, command: str, backend: str) -> tuple[int, bool]:
    """Return a command's exit code, and whether the backend died in it."""
    devices = "cpu" if command == "conformance run" else "cpu,npu"  # level 0 computes nothing
    words = [*ASKING[command](backend), f"--devices={devices}"]
    if command == "run":
        words.append("--isolate")
    if command == "waive audit":
        words = [word.replace("--cases=cases", "--cases=waived") for word in words]
    with tempfile.TemporaryDirectory(dir=folder) as apart, pytest.MonkeyPatch.context() as patch:
        words = [word.replace("--out=out", f"--out={apart}/out") for word in words]
        patch.setenv(DIED, f"{apart}/died")
        return hettest(patch, *words), Path(apart, "died").exists()


@pytest.mark.parametrize("command", ASKING)
def test_a_backend_that_lives_ends_well(folder: Path, command: str) -> None:
    assert ended(folder, command, DYING) == (0, False)


@settings(max_examples=24)
@given(
    st.sampled_from(sorted(ASKING)),
    st.sampled_from(POINTS),
    st.sampled_from(sorted(MANNERS)),
    st.sampled_from([0, 0, 1, 3]),
)
def test_one_that_dies_does_not(
    folder: Path, command: str, point: str, manner: str, after: int
) -> None:
    code, died = ended(folder, command, f"{DYING}:point={point},manner={manner},after={after}")

    assert (code != 0) is died


REPORTED: Final = (f"{DYING}:point=close", "tests.unit.hettest.unruly:Shows", DYING)


@pytest.mark.parametrize("backend", REPORTED)
def test_a_report_that_is_read_again_ends_as_the_run_did(
    folder: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    report = folder / "r.json"
    asked = (*ASKING["run"](backend), "--devices=cpu,npu", "--isolate", f"--report={report}")
    monkeypatch.setenv(DIED, str(folder / "died"))

    code = hettest(monkeypatch, *asked)

    assert (code == 0) is (backend == DYING)
    assert hettest(monkeypatch, "report", str(report)) == code
