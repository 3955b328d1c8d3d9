"""What a backend claims to show, it shows; what it shows makes sense in itself.

A field that is claimed and absent, or given and not claimed, is a failure of the backend. So is one
that is claimed and empty where something must be in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict
from typing import Final

from hettest.backend.protocol import Observation
from hettest.capability import missing
from hettest.expect import computed
from hettest.expect.named import Listed, unknown
from hettest.expect.situation import HOST, Situation
from hettest.language import Trait, operators
from hettest.outcome import Clause, Status

FIELDS: Final = {
    "observe:placement": "executions",
    "observe:copies": "copies",
    "observe:memory": "memory",
    "observe:intermediates": "intermediates",
    "observe:profile": "profile",
    "observe:meter": "metered",
    "observe:spaces": "spaces",
}


def check(
    situation: Situation, claims: Collection[str], listed: Listed | None = None
) -> Iterator[Clause]:
    """Yield a failed clause for each claim that the observation does not keep.

    Args:
        situation: The run.
        claims: What the backend claims.
        listed: The devices that it lists; ``None`` to believe every device.
    """
    observation = situation.observation
    found = [*unkept(observation, claims), *_empty(situation), *_senseless(observation)]
    found += unknown(situation, listed)
    yield from (Clause("backend", Status.FAILED, detail) for detail in found)


def unkept(observation: Observation, claims: Collection[str]) -> Iterator[str]:
    """Yield what is claimed and absent, and what is given and not claimed."""
    for word, name in FIELDS.items():
        claimed = not missing([word], claims)
        given = getattr(observation, name) is not None
        if claimed and not given:
            yield f"the backend claims {word} but its observation has no {name}"
        elif given and not claimed:
            yield f"the observation has {name}, but the backend does not claim {word}"
    sized = all(copy.bytes is not None for copy in observation.copies or ())
    if not sized and not missing(["observe:bytes"], claims):
        yield "the backend claims observe:bytes but shows a transfer without its bytes"


def _empty(situation: Situation) -> Iterator[str]:
    """Yield what is given without the content that every right run has."""
    seen = situation.observation
    certain = computed.some(situation)
    if seen.executions is not None and not situation.made_on and certain is not None:
        yield f"its executions show nothing computed, though {certain} must be"
    if seen.memory is not None:
        used = {e.device for e in seen.executions or ()} or set(situation.binding.values())
        hidden = sorted(used - set(seen.memory)) if seen.memory else ["every device"]
        if hidden:
            yield f"its memory leaves out {', '.join(hidden)}"
    if seen.metered is not None:
        unmetered = sorted(_named(seen) - {HOST, *seen.metered})
        if unmetered:
            yield f"its meter leaves out {', '.join(unmetered)}"
    if seen.intermediates is not None and not seen.intermediates:
        shown = next(_arrays(seen), certain)
        if shown is not None:
            yield f"its intermediates are empty, though {shown} was computed"


def _named(observation: Observation) -> set[str]:
    """Return the devices that the report names."""
    ends = {end for copy in observation.copies or () for end in (copy.source, copy.target)}
    return ends | {execution.device for execution in observation.executions or ()}


def _arrays(observation: Observation) -> Iterator[str]:
    """Yield the variables that were shown to be computed, without shapes made on the host."""
    for execution in observation.executions or ():
        op = operators().get(execution.op)
        if op is None or not op.has(Trait.HOST):
            yield from execution.defines


def _senseless(observation: Observation) -> Iterator[str]:
    """Yield the transfers and the readings whose numbers cannot be."""
    for device, reading in (observation.metered or {}).items():
        negative = [name for name, count in asdict(reading).items() if count and count < 0]
        yield from (f"its meter counts fewer than no {name} on {device}" for name in negative)
    for copy in observation.copies or ():
        if copy.count < 1 or (copy.bytes is not None and copy.bytes < 0):
            size = "" if copy.bytes is None else f" of {copy.bytes} bytes"
            yield (
                f"its copies hold {copy.count} transfers{size} of {copy.value or '?'} from "
                f"{copy.source} to {copy.target}"
            )
