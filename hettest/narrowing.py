"""Which collected tests are run: what the devices cannot run is left out, and counted."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Final, final

import pytest

from hettest import items as ours
from hettest.devicemap import canonical, kind_of
from hettest.errors import UsageError
from hettest.session import KEY, Chosen, KitSession

_BY_OTHERS: Final = "removed during collection by a plugin or a conftest, without a word"
_BY_PYTEST: Final = "by pytest (-k, -m, --deselect, --lf, or a plugin)"


def check(kit: KitSession, items: list[pytest.Item], config: pytest.Config) -> None:
    """End the run before its first test if it makes no sense.

    Raises:
        pytest.UsageError: It does not, and this process is no worker.
    """
    found = [ours.case_of(item) is not None for item in items if ours.is_ours(item)]
    try:
        if any(found):
            kit.check(kit.tested.apart)
        if not all(found):
            kit.check(kit.tested.here)
    except UsageError as error:
        if not hasattr(config, "workerinput"):
            raise pytest.UsageError(str(error)) from error
        kit.usage = str(error)  # a worker cannot end the run; its controller will
        items.clear()


def narrow(kit: KitSession, items: list[pytest.Item]) -> list[pytest.Item]:
    """Take out of ``items`` what the devices cannot run, and return it.

    Raises:
        pytest.UsageError: A marker of the kit's is wrong.
    """
    kit.ledger.leave_out(_BY_PYTEST, len(kit.seen - kit.dropped - {i.nodeid for i in items}))
    dropped = []
    for item in filter(ours.is_ours, items):
        wrong = ours.wrong_mark(item) or wrong_parameter(item, kit)
        if wrong is not None:
            raise pytest.UsageError(f"{item.nodeid}: {wrong}")
        reason = ours.left_out(item) or _unnamed(item, kit)
        if reason is not None:
            kit.ledger.leave_out(reason)
            dropped.append(item)
    gone = {item.nodeid for item in dropped}
    kit.dropped |= gone
    items[:] = [item for item in items if item.nodeid not in gone]
    return dropped


def _unnamed(item: pytest.Item, kit: KitSession) -> str | None:
    """Return which devices a test names by itself that the run does not, or ``None``."""
    if ours.case_of(item) is not None:
        return None  # the device map names its own
    others = [d for d in ours.devices_of(item) if d not in kit.options.devices]
    return f"are for {', '.join(others)}, not among the named devices" if others else None


def read_parameters(item: pytest.Item, kit: KitSession) -> None:
    """Take devices that the user parametrized a fixture of the kit's with, by name."""
    if not kit.options.devices:
        return
    for fixture, value in _parameters(item):
        named = _named(fixture, value)
        if named is not None:
            item.callspec.params[fixture] = Chosen(named)  # type: ignore[attr-defined]


def wrong_parameter(item: pytest.Item, kit: KitSession) -> str | None:
    """Return what is wrong with a parameter for a fixture of the kit's, or ``None``."""
    if not kit.options.devices:
        return None
    for fixture, value in _parameters(item):
        if not isinstance(value, Chosen):
            how = _EXPECTED.get(fixture, "nothing: it gives each item of the corpus in turn")
            return f"the fixture {fixture} is parametrized with {value!r}, expected {how}"
    return None


_EXPECTED: Final = {
    "device": 'a device such as "sim:0"',
    "accelerator": 'a device that is no cpu, such as "sim:0"',
    "device_pair": 'two devices such as ("cpu", "sim:0")',
}


def _parameters(item: pytest.Item) -> Iterator[tuple[str, object]]:
    """Yield the fixtures of the kit's that a test is parametrized with, and their values."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    for fixture in (*_EXPECTED, "het_case"):
        private = f"_het_{fixture.removeprefix('het_')}"
        if fixture in params and private in getattr(item, "fixturenames", ()):
            yield fixture, params[fixture]


def _named(fixture: str, value: object) -> tuple[str, ...] | None:
    """Return the devices that a value names for a fixture; ``None`` if it names none."""
    parts = value if isinstance(value, tuple | list) else (value,)
    try:
        devices = tuple(canonical(part) for part in parts if isinstance(part, str))
    except UsageError:
        return None
    count = {"device": 1, "accelerator": 1, "device_pair": 2}.get(fixture)
    if len(devices) != len(parts) or len(set(devices)) != count:
        return None
    return None if fixture == "accelerator" and kind_of(devices[0]) == "cpu" else devices


def note_collected(kit: KitSession, found: Iterable[object]) -> None:
    """Note what there is, before pytest narrows it as it collects."""
    tests = (node for node in found if isinstance(node, pytest.Item))
    kit.seen.update(item.nodeid for item in tests if ours.is_ours(item))


def note_deselected(kit: KitSession, items: Iterable[pytest.Item]) -> None:
    """Count what others leave out, unless the kit would leave it out as well."""
    for item in filter(ours.is_ours, items):
        if item.nodeid not in kit.dropped and ours.left_out(item) is None:
            kit.dropped.add(item.nodeid)
            kit.ledger.leave_out(_BY_PYTEST)


@final
class Watch:
    """A plugin of one hook, around those of all others: it says what they take away unsaid."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        before = {i.nodeid for i in items if ours.is_ours(i) and ours.left_out(i) is None}
        result = yield
        kit = config.stash[KEY]
        if kit.usage is None:
            lost = before - kit.dropped - {item.nodeid for item in items}
            kit.ledger.leave_out(_BY_OTHERS, len(lost - kit.seen))
        return result
