"""Whatever a backend does not do of what was asked for, no command that asks for it ends with 0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.unit.hettest.case.written import text, write
from tests.unit.hettest.faulty import FAULTS
from tests.unit.hettest.test_cli import hettest
from tests.unit.hettest.test_missing_devices import ASKING

FAULTY = "tests.unit.hettest.faulty:Faulty:fault="
ALONE = """module {
  fn @main(%x: f32[4]) -> f32[4] {
    %r = negative(%x)
    return %r
  }
}
"""
ZEROS = """[[run]]
name   = "plain"
args.x = { dtype = "f32", shape = [4], data = [0.0, 1, 2, 3] }
result = "oracle"
"""
SIGNED = "[expect.values]\nsigned-zeros = true\n"
LOCKED: Final = ("run", "--cases=cases", "--lock=hettest.lock", "--isolate")
"""Asks for all that a sound backend had."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: cases on two devices and on the default, and a lock of a sound run."""
    write(tmp_path / "cases", text(head='requires = ["distinct-devices"]'))
    write(tmp_path / "cases", text(ALONE, ZEROS, tail=SIGNED), "area/alone.toml")
    monkeypatch.chdir(tmp_path)
    locking = ("run", "--cases=cases", f"--backend={FAULTY}none", "--lock=hettest.lock")
    assert hettest(monkeypatch, *locking, "--update-lock") == 0
    assert Path("hettest.lock").read_text().count("  passed on ") == 3
    return tmp_path


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_by_a_lock_ends_well_with_a_sound_backend_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    code = hettest(monkeypatch, *LOCKED, f"--backend={FAULTY}{fault}")

    assert (code == 0) is (fault == "none")


KEPT: Final[Mapping[str, tuple[str, ...]]] = {
    "run": ("none", "no-placement", "no-observation", "drops-an-operator"),
    "probe": ("none", "no-placement", "no-observation", "drops-an-operator", "drops-a-dtype"),
    "doctor": ("none",),
}
"""Faults that take nothing from what a command asks for.

Without a lock a run asks for items on each device, whatever else is declared; a probe for what is
declared; the doctor for devices.
"""
OF_DEVICES: Final = ("none", "renames-a-device", "misses-the-accelerator", "misses-every-device")


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        *((command, fault) for command in ("run", "probe") for fault in FAULTS),
        *(("doctor", fault) for fault in OF_DEVICES),
    ],
)
def test_one_that_asks_for_less_ends_well_only_if_that_is_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, fault: str
) -> None:
    asked = (*ASKING[command](f"{FAULTY}{fault}"), "--devices=cpu,sim")

    assert (hettest(monkeypatch, *asked) == 0) is (fault in KEPT[command])


@pytest.mark.parametrize("policy", ["incomplete", "fail"])
@pytest.mark.parametrize("fault", ["misses-the-accelerator", "misses-every-device"])
def test_nor_does_a_run_without_a_lock_that_misses_devices(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str, policy: str
) -> None:
    asked = ("run", "--cases=cases", f"--backend={FAULTY}{fault}", f"--policy={policy}")

    assert hettest(monkeypatch, *asked) == {"incomplete": 6, "fail": 1}[policy]
