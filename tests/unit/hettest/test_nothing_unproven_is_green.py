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
COMMANDS = {
    "run": ("run", "--cases=cases", "--backend={}", "--lock=hettest.lock", "--isolate"),
    "require": ("run", "opening", "--level=0", "--backend={}", "--require=core@1:L2"),
    "conformance": (
        *("conformance", "run", "--level=0", "--backend={}", "--out=out", "--require=core@1:L1"),
    ),
}
"""Commands that ask for all that a sound backend had, or for a level."""


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
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_that_asks_for_it_ends_well(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, fault: str
) -> None:
    words = [word.format(f"{FAULTY}{fault}") for word in COMMANDS[command]]

    code = hettest(monkeypatch, *words)

    sound = fault == "none" and "lock" in " ".join(words)
    assert (code == 0) is sound


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
