"""A level that a run must reach, as ``--het-require=core@1:L2`` says, and what is missing of it.

A requirement names a profile and a level, or a group of it, and may name the devices on which
something must have been seen: ``core@1:L2``, ``core@1:L2:cpu,acme``, ``dynamic@1:L5 functions``.
Without devices it is all that are named for the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from hettest.devicemap import canonical
from hettest.errors import UsageError
from hettest.levels.profile import load
from hettest.levels.standing import Reach, Rung, Standing


@final
@dataclass(frozen=True, slots=True)
class Requirement:
    """A level that must be reached."""

    text: str
    """As it was given."""

    profile: str
    step: str
    """``L2``, or ``L5 functions``; ``L5`` alone is each of its groups."""

    devices: tuple[str, ...] = ()
    """Where something must have been seen; empty for every device that is named."""

    def unmet(self, standings: Sequence[Standing], named: Sequence[str]) -> Iterator[str]:
        """Yield why a run on the devices ``named`` does not do, with the item and what to read."""
        standing = next((s for s in standings if s.profile == self.profile), None)
        if standing is None:
            yield f"{self.text} is required: no item of {self.profile} was run"
            return
        for rung in standing.rungs:
            if _is_of(rung.name, self.step):
                yield from self._unmet(rung, self.devices or named)

    def _unmet(self, rung: Rung, devices: Sequence[str]) -> Iterator[str]:
        where = f"{self.text} is required: {rung.name}"
        if rung.reach is not Reach.REACHED:
            state = "not reached" if rung.reach is Reach.BLOCKED else str(rung.reach)
            yield f"{where} is {state}: {rung.reason}"
            return
        unseen = [device for device in devices if device not in rung.devices]
        if unseen:
            seen = ", ".join(rung.devices) or "no device"
            yield (
                f"{where} is reached on {seen}, and nothing was seen to run on "
                f"{', '.join(unseen)}; see hettest explain levels"
            )


def _is_of(name: str, step: str) -> bool:
    """Whether a step is the one asked for, or a group of the level asked for."""
    return name.lower() == step.lower() or name.lower().startswith(f"{step.lower()} ")


def parse(text: str) -> Requirement:
    """Return what ``PROFILE:LEVEL`` or ``PROFILE:LEVEL:DEVICES`` requires.

    Raises:
        UsageError: It has another form, or names no profile, level or device; says which there are.
    """
    profile, _, rest = text.strip().partition(":")
    step, _, devices = rest.partition(":")
    if not profile or not step.strip():
        raise UsageError(
            f"found {text!r} to be required, expected a profile and a level: core@1:L2"
        )
    names = [one.name for one in load(profile).steps]
    wanted = step.strip().replace("-", " ")
    if not any(_is_of(name, wanted) for name in names):
        raise UsageError(f"{text}: {profile} has no {step.strip()}; it has {', '.join(names)}")
    named = tuple(canonical(part) for part in devices.split(",") if part.strip())
    return Requirement(text.strip(), profile, wanted, named)
