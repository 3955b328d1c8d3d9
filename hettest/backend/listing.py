"""What is wrong with the devices that a backend lists, in one wording for runs and checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hettest.backend.protocol import DeviceInfo
from hettest.devicemap import canonical, kind_of
from hettest.errors import UsageError


def require(backend: str, listed: Sequence[object]) -> None:
    """Find out whether devices can be told apart and named.

    Args:
        backend: Its name, for the message.
        listed: What it lists.

    Raises:
        UsageError: They cannot; says what it lists and what was expected.
    """
    other = foreign(listed)
    if other is not None:
        raise UsageError(f"backend {backend} {other}")
    wrong = list(wrong_devices([info for info in listed if isinstance(info, DeviceInfo)]))
    if wrong:
        raise UsageError(f"backend {backend} lists devices wrongly: {'; '.join(wrong)}")


def foreign(listed: Sequence[object]) -> str | None:
    """Return what is listed that is no `DeviceInfo`, or ``None``."""
    found = [info for info in listed if not isinstance(info, DeviceInfo)]
    return f"lists {found[0]!r}, expected DeviceInfo" if found else None


def wrong_devices(listed: Sequence[DeviceInfo]) -> Iterator[str]:
    """Yield what makes it unclear which device is which."""
    names = []
    for info in listed:
        try:
            name = canonical(info.name)
        except (UsageError, TypeError, AttributeError):
            yield f"a device is called {info.name!r}, expected kind[.variant]:index such as npu:0"
            continue
        names.append(name)
        yield from _contradicted(info, name)
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield f"{name} is listed {names.count(name)} times, expected once"


def _contradicted(info: DeviceInfo, name: str) -> Iterator[str]:
    if (info.kind, info.index) != (kind_of(name), int(name.rpartition(":")[2])):
        yield f"{info.name} says kind {info.kind!r} and index {info.index!r}, which are not its own"
    if not isinstance(info.available, bool):
        yield f"{info.name} says available {info.available!r}, expected True or False"


def unsaid(listed: Sequence[DeviceInfo]) -> Iterator[str]:
    """Yield what is incomplete; runs can do without it, and a good backend says it."""
    for info in listed:
        if isinstance(info.name, str) and info.name.strip() and ":" not in info.name:
            yield from _without_index(info.name)
        if not info.available and not info.reason:
            yield f"{info.name} is not available and gives no reason; say what is missing"
    if not any(info.kind == "cpu" for info in listed):
        yield "no device is of kind cpu, which the host of each run is: DeviceInfo('cpu:0', …)"


def _without_index(name: str) -> Iterator[str]:
    try:
        yield f"{name} is called without its index; call it {canonical(name)}"
    except UsageError:  # it is called wrongly altogether
        return
