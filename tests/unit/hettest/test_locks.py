"""A real device is held by one at a time; a dead holder's is free; who waits too long is told."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hettest.locks import DeviceBusy, DeviceLocks, default_folder

HOLDS = """
import fcntl, hashlib, os, platform, socket, struct, sys
from hettest.locks import DeviceLocks
from pathlib import Path
if len(sys.argv) > 3:
    os.setuid(int(sys.argv[3]))
with DeviceLocks(Path(sys.argv[1]), scope=sys.argv[2]).hold(["npu:0"]):
    print("held", flush=True)
    sys.stdin.read()
"""


NOBODY = 65534

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="names of the kernel are Linux's")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")


@pytest.fixture(autouse=True)
def _own_scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the locks of a test apart from those of this machine."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def holder(
    folder: Path, scope: object = "other", user: int | None = None, within: Path | None = None
) -> subprocess.Popen[str]:
    """Return a process that holds ``npu:0`` until its input ends.

    It begins within a folder, from which another user reaches ``folder`` though not what is above.
    """
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLDS,
            str(folder),
            str(scope),
            *([] if user is None else [str(user)]),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=within,
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


def busy(locks: DeviceLocks) -> str:
    """Return why ``npu:0`` is not to be had."""
    with pytest.raises(DeviceBusy) as caught, locks.hold(["npu:0"]):
        pass
    return str(caught.value)


def lock_file(folder: Path) -> Path:
    """Return where the lock of ``npu:0`` is, which is not there now."""
    with DeviceLocks(folder).hold(["npu:0"]):
        (lock,) = folder.iterdir()
    lock.unlink()
    return lock


@needs_linux
def test_another_folder_is_no_way_round_and_the_holder_is_named(tmp_path: Path) -> None:
    """As of two users, who have a folder each."""
    with holder(tmp_path / "theirs", scope=tmp_path) as process:
        told = busy(DeviceLocks(tmp_path / "ours", 0.2))
        process.communicate("")

    assert told.startswith(f"npu:0 was held by process {process.pid} of user {os.geteuid()} for")
    with DeviceLocks(tmp_path / "ours", 0.2).hold(["npu:0"]):
        pass


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "locks").symlink_to("elsewhere")

    told = busy(DeviceLocks(tmp_path / "locks", 0.1))

    assert "locks is a link or no folder; remove it, or set TMPDIR" in told
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("there", [True, False])
def test_a_link_in_place_of_the_file_is_not_followed(there: bool, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    if there:
        victim.write_text("precious")
    lock = lock_file(tmp_path / "locks")
    lock.symlink_to(victim)

    told = busy(DeviceLocks(tmp_path / "locks", 0.1))

    assert f"{lock.name}: Too many levels of symbolic links; remove it" in told
    assert victim.exists() is there
    assert not there or victim.read_text() == "precious"


def test_a_pipe_or_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    lock = lock_file(tmp_path / "locks")
    os.mkfifo(lock)
    assert "is not a plain file; remove it" in busy(DeviceLocks(tmp_path / "locks", 0.1))

    lock.unlink()
    lock.mkdir()
    assert "Is a directory; remove it" in busy(DeviceLocks(tmp_path / "locks", 0.1))


def test_the_folder_is_the_users_alone_and_named_after_them(tmp_path: Path) -> None:
    former = os.umask(0)
    try:
        with DeviceLocks().hold(["npu:0"]):
            found = default_folder().stat()
            (lock,) = default_folder().iterdir()
    finally:
        os.umask(former)

    assert default_folder() == tmp_path / f"hettest-device-locks-{os.geteuid()}"
    assert stat.S_IMODE(found.st_mode) == 0o700
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600


def test_a_folder_of_ours_that_others_may_write_to_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    folder.mkdir()
    folder.chmod(0o777)

    with DeviceLocks(folder).hold(["npu:0"]):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@needs_root
@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_belongs_to_somebody_else_is_refused(what: str, tmp_path: Path) -> None:
    lock = lock_file(tmp_path / "locks")
    lock.write_text("")
    os.chown(lock if what == "file" else lock.parent, NOBODY, NOBODY)

    told = busy(DeviceLocks(tmp_path / "locks", 0.1))

    assert f"belongs to the user {NOBODY}, expected 0; set TMPDIR" in told


@needs_linux
@needs_root
def test_two_users_exclude_each_other(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)

    with holder(Path(), scope=tmp_path, user=NOBODY, within=theirs) as process:
        told = busy(DeviceLocks(tmp_path / "ours", 0.2))
        process.communicate("")

    assert f"of user {NOBODY}" in told


@needs_linux
def test_nothing_stays_open_after_a_failed_attempt(tmp_path: Path) -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    with holder(tmp_path) as process:
        before = opened()
        for _ in range(5):
            busy(DeviceLocks(tmp_path, 0.1))
        assert opened() == before
        process.communicate("")
