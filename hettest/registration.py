"""How the plugin's options are registered with pytest.

Every destination and ini key is private (``het_…``), so that nothing of the host suite is touched.
``--devices`` is registered last, when the conftest files are loaded: if anyone else has an option
of that name it stays theirs, and ``--het-devices`` is ours.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from hettest.options import DEFAULT_BACKEND, POLICIES

if TYPE_CHECKING:
    import pytest

_INI_LISTS: Final = {
    "het_devices": "the devices to test on, as for --devices",
    "het_device_map": "which device each role is, as for --het-device-map",
}
"""Ini keys that take a text or, in TOML, a list of texts."""

_INI: Final = {
    "het_backend": "the implementation under test, as for --het-backend",
    "het_policy": "what to do about missing devices, as for --het-policy",
    "het_level": "the highest level of conformance cases, as for --het-level",
    "het_waivers": "the file of known faults, as for --het-waivers",
    "het_lock": "the file of items that are to be run, as for --het-lock",
    "het_require": "levels that must be reached, one a line, as for --het-require",
    "het_timeout": "seconds for one isolated item, as for --het-timeout",
    "het_memory": "memory for one isolated item, as for --het-memory",
    "het_device_wait": "seconds to wait for a device, as for --het-device-wait",
}
_VALUES: Final = {
    "waivers": ("FILE", "the backend's known faults (default: those that the backend brings)"),
    "lock": (
        "FILE",
        "items that are to be run, with how they ended: none may be missing, or end worse",
    ),
    "seed": ("N", "seed of the judge's random rounding (default: 0)"),
    "timeout": ("SECONDS", "time for one isolated item (default: 60)"),
    "memory": ("SIZE", "memory that an isolated process may hold, such as 2GiB"),
    "batch": ("N", "items after which an isolated process is replaced (default: 200)"),
    "device_wait": ("SECONDS", "time to wait for a device that is in use (default: 600)"),
}
"""Options that take a text: what help calls it, and what it is for."""


def register(parser: pytest.Parser) -> None:
    """Add all options but ``--devices``, and the ini keys."""
    group = parser.getgroup("hettest", "heterogeneous devices (hettest)")
    group.addoption(
        "--het-devices",
        dest="het_devices",
        metavar="DEVICES",
        help="devices to test on, the host first: cpu,sim:0,cuda (also spelled --devices)",
    )
    group.addoption(
        "--het-device-map",
        dest="het_device_map",
        metavar="MAP",
        help="which device each role of a program is: host=cpu:0,accel=sim:0",
    )
    group.addoption(
        "--het-backend",
        dest="het_backend",
        metavar="NAME",
        help="the implementation under test: an installed one, or module:attribute "
        f"(default: {DEFAULT_BACKEND})",
    )
    group.addoption(
        "--het-policy",
        dest="het_policy",
        choices=POLICIES,
        help="what becomes of items whose device is missing: incomplete (they count as not run "
        "and the exit code is 6; default), fail, or skip",
    )
    group.addoption(
        "--het-level",
        dest="het_level",
        type=int,
        choices=range(7),
        metavar="0..6",
        help="run conformance cases up to this level only",
    )
    group.addoption(
        "--het-report",
        dest="het_report",
        action="append",
        metavar="PATH",
        help="write a report: .json, .md, .html, or .xml for JUnit; may be given more than once",
    )
    group.addoption(
        "--het-update-golden",
        dest="het_update_golden",
        action="store_true",
        help="write golden texts that differ instead of failing",
    )
    group.addoption(
        "--het-update-lock",
        dest="het_update_lock",
        action="store_true",
        help="write the lock again, by how its items end",
    )
    group.addoption(
        "--het-require",
        dest="het_require",
        action="append",
        metavar="PROFILE:LEVEL",
        help="fail unless this level is reached on every named device, or on those that follow "
        "after a further colon: core@1:L2:cpu,npu; may be given more than once",
    )
    for how, stored in (("", True), ("no-", False)):
        group.addoption(
            f"--het-{how}isolate",
            dest="het_isolate",
            action="store_const",
            const=stored,
            help=f"run conformance items in {'the same' if how else 'a'} process"
            f"{'' if how else ' of their own'} (default: of their own, if the backend is not "
            f"{DEFAULT_BACKEND})",
        )
    for name, (metavar, text) in _VALUES.items():
        option = f"--het-{name.replace('_', '-')}"
        group.addoption(option, dest=f"het_{name}", metavar=metavar, help=text)
    for name, text in _INI_LISTS.items():
        parser.addini(name, text, type="linelist")
    for name, text in _INI.items():
        parser.addini(name, text, type="string")


def register_devices(parser: pytest.Parser, args: Sequence[str]) -> None:
    """Add ``--devices``, if it is used or help is asked for.

    To be called when everyone else has registered their options. An option of that name that is
    somebody else's stays as it is. Where it is not used it is not registered either, so that a
    conftest that is loaded later may still define it.
    """
    used = any(arg == "--devices" or arg.startswith("--devices=") for arg in args)
    if not used and not {"-h", "--help"} & set(args):
        return
    with suppress(argparse.ArgumentError, ValueError):
        parser.getgroup("hettest").addoption(
            "--devices",
            dest="het_devices",
            metavar="DEVICES",
            help="the same as --het-devices",
        )
