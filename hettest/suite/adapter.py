"""A test that others import: the adapter under test keeps the protocol.

::

    from hettest.suite.adapter import test_the_adapter_keeps_the_protocol

checks what ``--het-backend`` names, as ``hettest backend check`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hettest.items import conclude
from hettest.outcome import Outcome, Record
from hettest.probing.checking import findings
from hettest.probing.finding import Finding, State
from hettest.session import KEY, KitSession


@pytest.mark.usefixtures("_het_session")
def test_the_adapter_keeps_the_protocol(request: pytest.FixtureRequest) -> None:
    kit = request.config.stash[KEY]
    asked = kit.options
    found = list(findings(asked.backend, asked.devices, asked.limits))
    failed = [str(finding) for finding in found if finding.state is State.FAILED]
    if failed:
        pytest.fail("\n".join(failed), pytrace=False)
    missed = [finding for finding in found if finding.state is State.NOT_RUN]
    if missed:
        conclude(request.node, _not_run(request.node, kit, missed))


def _not_run(item: pytest.Item, kit: KitSession, missed: Sequence[Finding]) -> Record:
    """Return how the test ends of whose checks some were not run, by the policy."""
    reason = missed[0].detail.removeprefix("missing device ")
    text = "\n".join(map(str, missed))
    return replace(kit.missing_record(Record(item.nodeid, Outcome.NOT_RUN), reason), text=text)
