"""A real device is held by one at a time; a dead holder's is free; who waits too long is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hettest.locks import DeviceBusy, DeviceLocks

HOLDS = """
import sys
from hettest.locks import DeviceLocks
from pathlib import Path
with DeviceLocks(Path(sys.argv[1])).hold(["npu:0"]):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """Return a process that holds ``npu:0`` until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_another_process_waits_and_is_told_who_was_busy(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with (
            pytest.raises(
                DeviceBusy, match=r"npu:0 was held by another process for 0\.2 s \(.*lock"
            ),
            DeviceLocks(tmp_path, 0.2).hold(["cpu:0", "npu:0"]),
        ):
            pass
        process.communicate("")

    with DeviceLocks(tmp_path, 0.2).hold(["npu:0"]):
        pass


def test_the_lock_of_a_dead_process_is_free(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.kill()
        process.wait()

        with DeviceLocks(tmp_path, 0.2).hold(["npu:0"]):
            pass


def test_two_devices_of_a_kind_are_two(tmp_path: Path) -> None:
    with DeviceLocks(tmp_path).hold(["npu:0"]), DeviceLocks(tmp_path, 0.2).hold(["npu:1"]):
        pass


def test_what_is_not_real_is_not_locked(tmp_path: Path) -> None:
    with DeviceLocks(tmp_path).hold(["cpu:0", "sim:0", "sim.no-f64:1"]):
        assert list(tmp_path.iterdir()) == []


def test_one_holder_may_hold_again_and_keeps_it_till_the_end(tmp_path: Path) -> None:
    locks, others = DeviceLocks(tmp_path), DeviceLocks(tmp_path, 0.1)

    with locks.hold(["npu:0"]):
        with locks.hold(["npu:0", "npu:1"]):
            pass
        with pytest.raises(DeviceBusy), others.hold(["npu:0"]):
            pass
    with others.hold(["npu:0", "npu:1"]):
        pass


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(DeviceBusy, match="npu:0 cannot be locked: "),
        DeviceLocks(tmp_path / "file").hold(["npu:0"]),
    ):
        pass
