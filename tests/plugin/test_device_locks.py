"""A real device is held by one test at a time, whichever worker runs it."""

from __future__ import annotations

import os

import pytest

MOODY = "--het-backend=tests.unit.hettest.moody:WithNpu"
TEST = """
import time
import pytest

@pytest.mark.parametrize("number", range(8))
def test_it(device, number):
    with open("log.txt", "a") as log:
        log.write(f"{device} begins\\n"); log.flush()
        time.sleep(0.05)
        log.write(f"{device} ends\\n")
"""


@pytest.fixture(autouse=True)
def _own_locks(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the locks of these runs apart from those of this machine."""
    monkeypatch.setenv("TMPDIR", str(pytester.mkdir("tmp")))
    monkeypatch.setattr("tempfile.tempdir", None)


def runs_of(log: str, device: str) -> list[str]:
    return [line.rpartition(" ")[2] for line in log.splitlines() if line.startswith(device)]


def test_two_workers_never_hold_one_device_at_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)

    result = pytester.runpytest_subprocess("--devices=cpu,sim,npu", MOODY, "-n2", "--dist=load")

    result.assert_outcomes(passed=24)
    log = (pytester.path / "log.txt").read_text()
    assert runs_of(log, "npu:0") == ["begins", "ends"] * 8
    assert (pytester.path / f"tmp/hettest-device-locks-{os.geteuid()}").is_dir()


def test_a_device_that_stays_in_use_is_not_run(pytester: pytest.Pytester) -> None:
    from hettest.locks import DeviceLocks

    pytester.makepyfile("def test_it(device): pass\n")
    with DeviceLocks().hold(["npu:0"]):
        result = pytester.runpytest_inprocess(
            "--devices=cpu,npu", MOODY, "--het-device-wait=0.1", "-p", "no:cacheprovider"
        )

    assert result.ret == 6
    result.stdout.fnmatch_lines(
        [
            "2 items: 1 passed, 0 failed, 0 crashed, 1 not run, *",
            "*npu:0 was held by another process for 0.1 s (*.lock)",
        ]
    )


@pytest.mark.parametrize(("policy", "code"), [("incomplete", 6), ("fail", 1)])
def test_a_run_without_the_devices_library_is_never_green(
    pytester: pytest.Pytester, policy: str, code: int
) -> None:
    pytester.makepyfile("def test_it(device): pass\n")

    result = pytester.runpytest_inprocess(
        *("--devices=cpu,npu", f"--het-policy={policy}"),
        "--het-backend=tests.unit.hettest.moody:WithoutLibrary",
    )

    assert result.ret == code
    result.stdout.fnmatch_lines(["*npu:0: No module named 'no_such_npu_library'*"])
