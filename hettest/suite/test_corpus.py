"""Every conformance item, as one test each; the ids are the items' own."""

from __future__ import annotations

import pytest

from hettest.case.expansion import Item
from hettest.outcome import Outcome
from hettest.runner import run_item
from hettest.session import ENDED, KEY, KitSession


def test_case(het_case: Item, request: pytest.FixtureRequest) -> None:
    session: KitSession = request.config.stash[KEY]
    record = run_item(het_case, session.environment)
    request.node.stash[ENDED] = record
    if record.outcome in (Outcome.FAILED, Outcome.CRASHED):
        pytest.fail(record.text, pytrace=False)
    if record.outcome is not Outcome.PASSED:
        pytest.skip(f"{record.outcome}: {record.reason}")
