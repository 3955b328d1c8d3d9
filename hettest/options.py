"""The plugin's options: how they are registered, and their values.

Every destination and ini key is private (``het_…``), so that nothing of the host suite is touched.
``--devices`` is registered last, when the conftest files are loaded: if anyone else has an option
of that name it stays theirs, and ``--het-devices`` is ours.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from hettest.devicemap import Binding, parse_binding, parse_devices
from hettest.errors import UsageError

if TYPE_CHECKING:
    import pytest

POLICIES: Final = ("incomplete", "fail", "skip")
DEFAULT_BACKEND: Final = "reference_vm"
ENDINGS: Final = (".json", ".xml", ".md")
"""What the names of reports end in, as `hettest.report.FORMATS` makes them."""

_INI: Final = {
    "het_devices": "the devices to test on, as for --devices",
    "het_device_map": "which device each role is, as for --het-device-map",
    "het_backend": "the implementation under test, as for --het-backend",
    "het_policy": "what to do about missing devices, as for --het-policy",
    "het_level": "the highest level of conformance cases, as for --het-level",
}


@final
@dataclass(frozen=True, slots=True)
class HetOptions:
    """What was asked for on the command line or in the ini file."""

    devices: tuple[str, ...]
    """Empty when none are named: then the plugin does nothing of its own accord."""

    binding: Binding | None
    backend: str
    policy: str
    level: int | None
    reports: tuple[Path, ...]
    update_golden: bool


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
        help="write a report: .json, .md, or .xml for JUnit; may be given more than once",
    )
    group.addoption(
        "--het-update-golden",
        dest="het_update_golden",
        action="store_true",
        help="write golden texts that differ instead of failing",
    )
    for name, text in _INI.items():
        parser.addini(name, text)


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


def read(config: pytest.Config) -> HetOptions:
    """Return the options' values.

    Raises:
        UsageError: One of them is wrong; says which and why.
    """
    devices = _listed(config, "het_devices")
    binding = _listed(config, "het_device_map")
    level = _value(config, "het_level")
    policy = _value(config, "het_policy") or POLICIES[0]
    if policy not in POLICIES:
        raise UsageError(f"het_policy is {policy}, expected one of {', '.join(POLICIES)}")
    return HetOptions(
        devices=() if devices is None else parse_devices(devices),
        binding=None if binding is None else parse_binding(binding),
        backend=_value(config, "het_backend") or DEFAULT_BACKEND,
        policy=policy,
        level=None if level is None else _level(level),
        reports=tuple(_report(text, config) for text in config.getoption("het_report") or ()),
        update_golden=bool(config.getoption("het_update_golden")),
    )


def _value(config: pytest.Config, name: str) -> Any:
    """Return what the command line says, else what the ini file says, else ``None``.

    An empty text on the command line is a value; an ini key that is not there is none.
    """
    given = config.getoption(name)
    if given is not None:
        return given
    try:
        return config.getini(name) or None
    except TypeError as error:
        raise UsageError(f"{name} in the ini file: {error}") from error


def _listed(config: pytest.Config, name: str) -> str | None:
    """Return a value that may be a list in a TOML file: its parts are joined by commas."""
    value = _value(config, name)
    if not isinstance(value, list | tuple):
        return None if value is None else str(value)
    other = next((part for part in value if not isinstance(part, str)), None)
    if other is not None:
        raise UsageError(f"{name} holds {other!r}, expected texts")
    return ",".join(value)


def _level(text: Any) -> int:
    if str(text).isdigit() and 0 <= int(text) <= 6:
        return int(text)
    raise UsageError(f"het_level is {text}, expected 0 to 6")


def require_ending(path: Path, option: str) -> None:
    """Find out whether there is a form of report for the path's ending.

    Raises:
        UsageError: There is none; names the option, as it was given, and the endings.
    """
    if path.suffix not in ENDINGS:
        raise UsageError(f"{option}: the name must end in {' or '.join(ENDINGS)}")


def require_writable(path: Path) -> None:
    """Make the folder that a report is to be written to, and find out whether it can be.

    Raises:
        UsageError: It cannot; says why.
    """
    existed = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise UsageError(f"the report {path} cannot be written: {error.strerror}") from error


def _report(text: str, config: pytest.Config) -> Path:
    path = Path(text)
    require_ending(path, f"--het-report={text}")
    if not hasattr(config, "workerinput"):
        require_writable(path)
    return path
