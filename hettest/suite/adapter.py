"""A test that others import: the adapter under test keeps the protocol.

::

    from hettest.suite.adapter import test_the_adapter_keeps_the_protocol

checks what ``--het-backend`` names, as ``hettest backend check`` does.
"""

from __future__ import annotations

import pytest

from hettest.probing.checking import findings
from hettest.probing.finding import State
from hettest.session import KEY


def test_the_adapter_keeps_the_protocol(request: pytest.FixtureRequest) -> None:
    asked = request.config.stash[KEY].options
    found = findings(asked.backend, asked.devices, asked.limits)
    failed = [str(finding) for finding in found if finding.state is State.FAILED]
    if failed:
        pytest.fail("\n".join(failed), pytrace=False)
