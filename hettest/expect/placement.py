"""Each operator ran where it was meant to.

Checked are the variables that the case lists and every requested operator. One that ran elsewhere,
or on two devices, fails. A variable that was not computed at run time (folded, merged, dropped) is
absent, which satisfies it; in a fully explicit program only what may be folded or merged is.

What nothing places is held to the devices that the rules leave for it (`unplaced`): the default
device, but for what is pulled elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hettest.expect import computed
from hettest.expect.situation import Situation
from hettest.expect.unplaced import devices_of_unplaced
from hettest.outcome import Clause, Status


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause, or none if nothing is placed and there is no device but the host."""
    placed = wanted(situation)
    line = situation.expect.placement_line
    if situation.observation.executions is None:
        clause = _unreported(situation, placed, line) if placed else None
        if clause is not None:
            yield clause
        return
    left = _left(situation, placed)
    wrong = [*_wrong(situation, placed), *_hidden(situation), *_strayed(situation, left)]
    if wrong:
        yield Clause("placement", Status.FAILED, "\n".join(wrong), line)
    elif placed or (left and situation.has_accelerators):
        yield Clause("placement", Status.PROVEN, "; ".join(_told(situation, placed, left)), line)


def _left(situation: Situation, placed: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return the devices that each operator that ran may run on, of those that nothing places."""
    allowed = devices_of_unplaced(situation)
    return {n: d for n, d in allowed.items() if n not in placed and situation.made_on.get(n)}


def _strayed(situation: Situation, left: Mapping[str, frozenset[str]]) -> Iterator[str]:
    for name, allowed in left.items():
        found = situation.made_on[name]
        if not found <= allowed:
            where, devices = " and ".join(sorted(found)), " or ".join(sorted(allowed))
            default = " (the default device)" if allowed == {situation.default} else ""
            yield f"{name}: found on {where}, expected on {devices}{default}: nothing places it"


def _told(
    situation: Situation, placed: Mapping[str, str], left: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    if placed:
        seen = sum(1 for name in placed if situation.made_on.get(name))
        yield f"{seen} of {len(placed)} placed variables ran, each where it was meant to"
    if left:
        where = " and ".join(sorted({d for name in left for d in situation.made_on[name]}))
        yield f"{len(left)} that nothing places ran on {where}"


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
