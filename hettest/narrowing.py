"""Which collected tests are run: what the devices cannot run is left out, and counted."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Final, final

import pytest

from hettest import items as ours
from hettest.errors import UsageError
from hettest.session import KEY, KitSession

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
        wrong = ours.wrong_mark(item)
        if wrong is not None:
            raise pytest.UsageError(f"{item.nodeid}: {wrong}")
        reason = ours.left_out(item)
        if reason is not None:
            kit.ledger.leave_out(reason)
            dropped.append(item)
    gone = {item.nodeid for item in dropped}
    kit.dropped |= gone
    items[:] = [item for item in items if item.nodeid not in gone]
    return dropped


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
