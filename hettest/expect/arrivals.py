"""Each device that read a value without making it received a transfer of it.

Holds for every implementation, whatever its planner decides: from the placement that it reports
follow the transfers that it cannot do without (`flow`), one for each value and device. Fewer than
that is a missing copy or a false report, whatever the values are. And each transfer comes from
somewhere: its source made the value or received it, and is not its target, except where the program
copies a value to where it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from hettest.backend.protocol import Copy
from hettest.case import walk
from hettest.expect.flow import Flow, Need, Roots
from hettest.expect.situation import Situation
from hettest.language import Trait, nodes, operators
from hettest.outcome import Clause, Status


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause if the backend shows both placement and transfers."""
    copies = situation.observation.copies
    if situation.observation.executions is None or copies is None:
        return
    flow = Flow(situation)
    needs = flow.needs()
    wrong = [*map(missing, unmet(needs, copies)), *_from_nowhere(situation, flow, copies)]
    if wrong:
        yield Clause("arrivals", Status.FAILED, "\n".join(wrong))
    elif needs:
        values = "1 value was" if len(needs) == 1 else f"{len(needs)} values were"
        detail = f"{values} read where not made, and each was brought"
        yield Clause("arrivals", Status.PROVEN, detail)


def unmet(needs: Sequence[Need], copies: Sequence[Copy]) -> list[Need]:
    """Return the needs for which no transfer is left when each transfer brings one value."""
    transfers = [copy for copy in copies for _ in range(min(copy.count, len(needs)))]
    brought: dict[tuple[str | None, str], list[int]] = {}
    for index, copy in enumerate(transfers):
        brought.setdefault((copy.value, copy.target), []).append(index)
    able = [
        [index for name in (*need.names, None) for index in brought.get((name, need.device), ())]
        for need in needs
    ]
    served = _Service(able)
    return [need for place, need in enumerate(needs) if not served.serve(place)]


@final
@dataclass
class _Service:
    """Which transfer serves which need: as many as can be, by augmenting paths."""

    able: Sequence[Sequence[int]]
    """The transfers that can serve each need."""

    need_of: dict[int, int] = field(default_factory=dict)
    transfer_of: dict[int, int] = field(default_factory=dict)

    def serve(self, need: int) -> bool:
        """Serve one need more, if need be by serving others with other transfers."""
        reached: dict[int, int] = {}
        waiting = deque([need])
        while waiting:
            asking = waiting.popleft()
            for transfer in self.able[asking]:
                if transfer in reached:
                    continue
                reached[transfer] = asking
                if transfer not in self.need_of:
                    self._reassign(need, transfer, reached)
                    return True
                waiting.append(self.need_of[transfer])
        return False

    def _reassign(self, need: int, transfer: int, reached: Mapping[int, int]) -> None:
        while True:
            asking = reached[transfer]
            before = self.transfer_of.get(asking)
            self.need_of[transfer], self.transfer_of[asking] = asking, transfer
            if asking == need or before is None:
                return
            transfer = before


def missing(need: Need) -> str:
    """Return what is said of a value that no transfer brought to its reader."""
    made = " and ".join(sorted(need.made))
    return (
        f"{need.value} was made on {made} and read on {need.device} by {need.reader}, but no "
        f"transfer brought it there: a missing copy, or a false report"
    )


def _from_nowhere(situation: Situation, flow: Flow, copies: Sequence[Copy]) -> Iterator[str]:
    """Yield the transfers whose source never had the value, or is their target."""
    in_place = _copied_in_place(situation)
    for copy in copies:
        called = copy.value or "a value"
        if copy.source == copy.target:
            if copy.source not in in_place:
                yield f"{called} was copied from {copy.source} to itself"
            continue
        roots = flow.called.get(copy.value or "", ())
        if not roots or not all(flow.made[root] for root in roots):
            continue
        holders = _holders(flow, roots, copies)
        if copy.source not in holders:
            listed = ", ".join(sorted(holders))
            yield (
                f"{called} was copied to {copy.target} from {copy.source}, which never had it; "
                f"{listed} had"
            )


def _copied_in_place(situation: Situation) -> set[str]:
    """Return the devices that the program explicitly copies something to."""
    found: set[str] = set()
    for function in situation.module.functions:
        for binding in walk.bindings(function):
            value, request = binding.value, binding.request
            if isinstance(value, nodes.Call) and request is not None:
                op = operators().get(value.op)
                if op is not None and op.has(Trait.MOVES_DATA):
                    found.add(situation.device(request.role))
    return found


def _holders(flow: Flow, roots: Roots, copies: Sequence[Copy]) -> set[str]:
    """Return the devices that made a value, and those that received it from such a device."""
    names = {name for root in roots for name in flow.names[root]}
    holders = {device for root in roots for device in flow.made[root]}
    moves = [(copy.source, copy.target) for copy in copies if copy.value in names]
    while received := {t for s, t in moves if s in holders} - holders:
        holders |= received
    return holders
