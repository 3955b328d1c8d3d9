"""The values of the plugin's options, and what may be wrong with them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from hettest.devicemap import Binding, parse_binding, parse_devices
from hettest.errors import UsageError
from hettest.files import require_writable
from hettest.limits import PATIENCE, Limits, parse_bytes, parse_count, parse_seconds

if TYPE_CHECKING:
    import pytest

CAN_ISOLATE: Final = os.name == "posix"
POLICIES: Final = ("incomplete", "fail", "skip")
DEFAULT_BACKEND: Final = "reference_vm"
ENDINGS: Final = (".json", ".xml", ".md", ".html")
"""What the names of reports end in, as `hettest.report.FORMATS` makes them."""

_NEEDS: Final = {".html": ("jinja2", "report")}
"""The package that a form of report needs, and the extra that brings it."""


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
    isolate: bool | None = None
    """Whether conformance items run in a process of their own; ``None`` leaves it to `isolated`."""

    limits: Limits = field(default_factory=Limits)
    waivers: Path | None = None
    lock: Path | None = None
    update_lock: bool = False
    """Whether the lock is written again by how the items end, in place of held to."""

    require: tuple[str, ...] = ()
    """The levels that the run must reach, as `levels.requiring` reads them."""

    requires_items: bool = True
    """Whether a run without any conformance item does not do what is required."""

    seed: int = 0
    device_wait: float = PATIENCE

    @property
    def isolated(self) -> bool:
        """Whether conformance items run in a process of their own.

        By default all but ours do, and ours too where a level is required.
        """
        if self.isolate is not None:
            return self.isolate
        ours = self.backend.partition(":")[0] == DEFAULT_BACKEND
        return CAN_ISOLATE and (bool(self.require) or not ours)


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

    def given(name: str) -> str | None:
        value: str | None = config.getoption(f"het_{name}")
        return value

    return HetOptions(
        devices=() if devices is None else parse_devices(devices),
        binding=None if binding is None else parse_binding(binding),
        backend=_value(config, "het_backend") or DEFAULT_BACKEND,
        policy=policy,
        level=None if level is None else _level(level),
        reports=tuple(_report(text, config) for text in config.getoption("het_report") or ()),
        update_golden=bool(config.getoption("het_update_golden")),
        isolate=require_isolation(config.getoption("het_isolate")),
        limits=limits(_text(config, "het_timeout"), _text(config, "het_memory"), given("batch")),
        waivers=_file(config, "het_waivers"),
        lock=_file(config, "het_lock"),
        update_lock=bool(config.getoption("het_update_lock")),
        require=_lines(config, "het_require"),
        requires_items=bool(config.getoption("het_require")),
        seed=parse_count("--het-seed", given("seed") or "0"),
        device_wait=parse_seconds(_text(config, "het_device_wait") or str(PATIENCE)),
    )


def limits(timeout: str | None, memory: str | None, batch: str | None) -> Limits:
    """Return the limits of isolated items; ``None`` leaves one at its default.

    Raises:
        UsageError: One of them is wrong; says which and why.
    """
    usual = Limits()
    return Limits(
        seconds=usual.seconds if timeout is None else parse_seconds(timeout),
        start=usual.start if timeout is None else parse_seconds(timeout),
        memory=usual.memory if memory is None else parse_bytes(memory),
        batch=usual.batch if batch is None else max(1, parse_count("--het-batch", batch)),
    )


def require_policy(policy: str) -> str:
    """Return what is to become of items whose devices are missing.

    Raises:
        UsageError: There is no such policy.
    """
    if policy not in POLICIES:
        raise UsageError(f"--policy is {policy}, expected one of {', '.join(POLICIES)}")
    return policy


def require_lock(lock: Path | None, update: bool) -> None:
    """Find out whether there is a lock to be written again, and whether it can be.

    Raises:
        UsageError: None was named, or it cannot be written.
    """
    if update and lock is None:
        raise UsageError("no lock is named that could be written again; name it: --het-lock=FILE")
    if update and lock is not None:
        require_writable(lock, "the lock")


def require_isolation(isolate: bool | None) -> bool | None:
    """Return what was asked for.

    Raises:
        UsageError: It is isolation, which this system does not offer.
    """
    if isolate and not CAN_ISOLATE:
        raise UsageError("isolation needs a POSIX system, such as Linux or macOS")
    return isolate


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


def _text(config: pytest.Config, name: str) -> str | None:
    value = _value(config, name)
    return None if value is None else str(value)


def _file(config: pytest.Config, name: str) -> Path | None:
    """Return the path that the command line or the ini file gives, each from where it stands."""
    given = config.getoption(name)
    if given is not None:
        return Path(given)
    found = _text(config, name)
    return None if found is None else (config.inipath or config.rootpath / "_").parent / found


def _lines(config: pytest.Config, name: str) -> tuple[str, ...]:
    """Return a value that may be given more than once; in an ini file on lines of its own."""
    value = _value(config, name) or ()
    parts = value.splitlines() if isinstance(value, str) else value
    other = next((part for part in parts if not isinstance(part, str)), None)
    if other is not None:
        raise UsageError(f"{name} holds {other!r}, expected texts")
    return tuple(part.strip() for part in parts if part.strip())


def _listed(config: pytest.Config, name: str) -> str | None:
    """Return a value that may be a list in a TOML file: its parts are joined by commas."""
    value = _value(config, name)
    if value is None or config.getoption(name) is not None:
        return None if value is None else str(value)
    if not isinstance(value, list | tuple):
        value = str(value).split("\n")
    other = next((part for part in value if not isinstance(part, str)), None)
    if other is not None:
        raise UsageError(f"{name} holds {other!r}, expected texts")
    parts = (part.strip(" ,") for part in value)
    return ",".join(part for part in parts if part)


def _level(text: Any) -> int:
    if str(text).isdigit() and 0 <= int(text) <= 6:
        return int(text)
    raise UsageError(f"het_level is {text}, expected 0 to 6")


def require_ending(path: Path, option: str) -> None:
    """Find out whether there is a form of report for the path's ending.

    Raises:
        UsageError: There is none, or none can be made; names the option, as it was given.
    """
    if path.suffix not in ENDINGS:
        raise UsageError(f"{option}: the name must end in {' or '.join(ENDINGS)}")
    lack = lacking(path.suffix)
    if lack is not None:
        raise UsageError(f"{option}: {lack}")


def lacking(ending: str) -> str | None:
    """Return what must be installed to make a form of report; ``None`` if nothing."""
    package, extra = _NEEDS.get(ending, ("", ""))
    if not package or find_spec(package) is not None:
        return None
    return f"a report in HTML needs {package}: pip install 'hettest[{extra}]'"


def _report(text: str, config: pytest.Config) -> Path:
    path = Path(text)
    require_ending(path, f"--het-report={text}")
    if not hasattr(config, "workerinput"):
        require_writable(path, "the report")
    return path
