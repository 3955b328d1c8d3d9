"""A plugin that fails the test that is skipped, unless ``tests/expected-skips.txt`` expects it.

Each line of that file names a test, and what it needs that a machine may lack: ``package jax``,
``program node``, ``device cuda:0``, ``system linux``. A test that is skipped though its need is
there fails too. So the packages that tests need are in the extra ``dev``, but for the large ones
that are listed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Generator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from reference_vm.devices.catalog import describe
from reference_vm.types import DeviceName

FILE: Final = "tests/expected-skips.txt"


@cache
def expected(path: Path) -> dict[str, str]:
    """Return what each test needs that may be skipped, by its name without parameters."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        test, _, need = line.partition("#")[0].strip().partition(" ")
        if test:
            found[test] = need.strip()
    return found


def is_there(need: str) -> bool:
    """Whether this machine has what a test needs."""
    kind, _, name = need.partition(" ")
    match kind:
        case "package":
            package, _, least = name.partition(">=")
            return find_spec(package) is not None and (not least or _major(package) >= int(least))
        case "program":
            return shutil.which(name) is not None
        case "system":
            return name in (os.name, sys.platform)
        case "user":
            return hasattr(os, "geteuid") and (os.geteuid() == 0) == (name == "root")
        case "device":
            return describe(DeviceName.parse(name)).available
    raise ValueError(f"{FILE} says {need!r}, expected package, program, device, system or user")


def _major(package: str) -> int:
    return int(version(package).partition(".")[0])


def wrong(test: str, reason: str, path: Path) -> str | None:
    """Return what is wrong about a test that was skipped, if something is."""
    name = re.sub(r"\[.*", "", test, flags=re.DOTALL)
    need = expected(path).get(name)
    if need is None:
        advice = f"put what it needs into the extra dev, or list {name} in {FILE}"
        return f"{test} was skipped: {reason}; {advice}"
    if is_there(need):
        return f"{test} was skipped: {reason}; {FILE} says that it needs {need}, which is here"
    return None


def _fail_if_unexpected(report: Any, config: pytest.Config) -> None:
    if report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    found = wrong(report.nodeid, reason, config.rootpath / FILE)
    if found is not None:
        report.outcome = "failed"
        report.longrepr = found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_unexpected(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_unexpected(report, collector.config)
    return report
