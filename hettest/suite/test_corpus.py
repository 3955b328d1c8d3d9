"""Every conformance item, as one test each; the ids are the items' own."""

from __future__ import annotations

import pytest

from hettest.case.expansion import Item
from hettest.items import conclude
from hettest.session import KEY


def test_case(het_case: Item, request: pytest.FixtureRequest) -> None:
    conclude(request.node, request.config.stash[KEY].run(het_case))
