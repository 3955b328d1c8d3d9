"""Each operator ran where it was meant to.

Checked are the variables that the case lists and every requested operator. One that ran elsewhere,
or on two devices, fails. A variable that was not computed at run time (folded, merged, dropped) is
absent, which satisfies it; in a fully explicit program only what may be folded or merged is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hettest.expect import computed
from hettest.expect.situation import Situation
from hettest.outcome import Clause, Status


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause, or none if nothing is placed."""
    placed = wanted(situation)
    line = situation.expect.placement_line
    if not placed:
        return
    if situation.observation.executions is None:
        clause = _unreported(situation, placed, line)
        if clause is not None:
            yield clause
        return
    wrong = [*_wrong(situation, placed), *_hidden(situation)]
    if wrong:
        yield Clause("placement", Status.FAILED, "\n".join(wrong), line)
        return
    seen = sum(1 for name in placed if situation.made_on.get(name))
    detail = f"{seen} of {len(placed)} placed variables ran, each where it was meant to"
    yield Clause("placement", Status.PROVEN, detail, line)


def _unreported(situation: Situation, placed: Mapping[str, str], line: int | None) -> Clause | None:
    """Return the clause of a backend that does not say where operators ran, if it needs one."""
    if situation.caused is not None and situation.caused.shown.issuperset(placed):
        devices = ", ".join(situation.caused.devices)
        detail = f"not reported, but shown by what changed when {devices} was doubled alone"
        return Clause("placement", Status.PROVEN, detail, line)
    if not situation.expect.placement:
        return None
    detail = "the backend does not show where operators ran"
    return Clause("placement", Status.UNPROVEN, detail, line, "observe:placement")


def _hidden(situation: Situation) -> Iterator[str]:
    for names in computed.every(situation):
        if not any(name in situation.made_on for name in names):
            yield (
                f"{names[0]}: not among the executions, though it is requested, depends on "
                "arguments, and the result needs it"
            )


def wanted(situation: Situation) -> dict[str, str]:
    """Return the role of each variable whose place is checked: ``main/%s``."""
    placed = {name: role for name, (role, _) in situation.requested.items()}
    for key, role in situation.expect.placement.items():
        function, slash, name = key.rpartition("/")
        placed[f"{function if slash else situation.entry}/%{name}"] = role
    return placed


def _wrong(situation: Situation, placed: Mapping[str, str]) -> Iterator[str]:
    for name, role in placed.items():
        found = situation.made_on.get(name, frozenset())
        expected = situation.device(role)
        if found and found != {expected}:
            listed = " and ".join(sorted(found))
            yield f"{name}: found on {listed}, expected on {expected} (@{role})"
