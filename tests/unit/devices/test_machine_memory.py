"""What the machine lets a process have: read from files like those of the system."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reference_vm.devices import machine_memory
from reference_vm.devices.cpu import CpuDevice
from reference_vm.devices.faults import OutOfMemory
from reference_vm.devices.machine_memory import BOUNDLESS, RESERVE, STEP, Machine
from reference_vm.types import HOST

GIB = 1 << 30


def machine(root: Path, files: dict[str, str], total: int = 8, left: int = 6) -> Machine:
    """Return a machine with so many GiB, and control groups as the files say."""
    meminfo = f"MemTotal: {total << 20} kB\nMemFree: 1 kB\nMemAvailable: {left << 20} kB\n"
    for name, text in {"proc/meminfo": meminfo, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return Machine(root)


def test_physical_memory_is_the_limit_where_nothing_else_is(tmp_path: Path) -> None:
    found = machine(tmp_path, {})
    assert (found.limit, found.left()) == (8 * GIB, 6 * GIB)


def test_groups_of_version_2_limit_what_is_inside(tmp_path: Path) -> None:
    found = machine(
        tmp_path,
        {
            "proc/self/cgroup": "0::/outer/inner\n",
            "sys/fs/cgroup/outer/inner/memory.max": "max\n",
            "sys/fs/cgroup/outer/memory.max": f"{2 * GIB}\n",
            "sys/fs/cgroup/outer/memory.current": f"{GIB}\n",
            "sys/fs/cgroup/outer/memory.stat": "anon 5\ninactive_file 100\nactive_file 23\n",
        },
    )
    assert (found.limit, found.left()) == (2 * GIB, GIB + 123)


def test_groups_of_version_1_limit_too(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/memory"  # as a container sees its own group
    found = machine(
        tmp_path,
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/there\n4:memory:/there\n0::/\n",
            f"{group}/memory.limit_in_bytes": f"{3 * GIB}\n",
            f"{group}/memory.usage_in_bytes": f"{GIB}\n",
            f"{group}/memory.stat": "total_inactive_file 7\ninactive_file 100\n",
        },
    )
    assert (found.limit, found.left()) == (3 * GIB, 2 * GIB + 7)


def test_group_without_limit_changes_nothing(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/\n0::/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory.max": "max\n",
    }
    assert machine(tmp_path, files).limit == 8 * GIB


@pytest.mark.parametrize(("which", "line"), [("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")])
def test_limit_of_the_process_itself(
    which: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    limited = getattr(resource, which)
    monkeypatch.setattr(
        resource,
        "getrlimit",
        lambda asked: (GIB if asked == limited else resource.RLIM_INFINITY, GIB),
    )
    found = machine(tmp_path, {"proc/self/status": f"Name:\tpython\n{line}:\t  1024 kB\n"})
    assert (found.limit, found.left()) == (GIB, GIB - (1 << 20))


def test_system_is_asked_before_it_gives_much(tmp_path: Path) -> None:
    found = machine(tmp_path, {}, left=1)
    assert found.has(GIB - RESERVE)
    assert not found.has(GIB - RESERVE + 1)
    assert found.has(STEP - 1)
    assert found.has(1)
    machine(tmp_path, {}, left=0)
    assert found.has(STEP - 1), "not asked yet"
    assert not found.has(1)
    assert not found.has(1), "what was refused was not taken"
    machine(tmp_path, {}, left=1)
    assert found.has(1)


def test_system_that_tells_nothing_bounds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)
    monkeypatch.setattr(machine_memory, "resource", None)
    found = Machine(tmp_path)
    assert (found.limit, found.left()) == (BOUNDLESS, BOUNDLESS)


def test_device_gives_its_free_blocks_back_before_it_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = CpuDevice(HOST)
    buffer = device.allocate(STEP)
    device.free(buffer)
    refused: list[int] = []

    def refuse_once(_: Machine, nbytes: int) -> bool:
        refused.append(nbytes)
        return len(refused) > 1

    monkeypatch.setattr(Machine, "has", refuse_once)
    device.free(device.allocate(2 * STEP))
    assert refused == [2 * STEP, 2 * STEP]
    device.allocate(STEP)
    assert refused[2:] == [STEP], "the free block had gone"


def test_refusal_says_what_the_machine_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    device = CpuDevice(HOST, 1 << 40)
    monkeypatch.setattr(Machine, "left", lambda _: 5000)
    limit = device.memory().limit
    words = f"cannot allocate {STEP} bytes: 0 of {limit} bytes are in use, and the machine has 5000"
    with pytest.raises(OutOfMemory, match=words):
        device.allocate(STEP)
