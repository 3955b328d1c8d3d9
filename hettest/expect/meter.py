"""The report against the meter: what is said to have run and moved was counted.

A meter counts by device, without knowing what was computed. So each execution that is reported on a
device needs a launch there, and the transfers into and out of a device are as many, with as many
bytes, as are reported. A device on which there was a launch is named somewhere in the report.

A transfer of no bytes may be left out of what is counted, and an operator whose result is empty
needs no launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from hettest.backend.protocol import Copy, Execution, Observation, Reading
from hettest.expect.situation import HOST, Situation
from hettest.judge.nesting import leaves
from hettest.language import Trait, nodes, operators

_NO_LAUNCH: Final = (Trait.VIEW, Trait.MOVES_DATA, Trait.METADATA, Trait.HOST)

_FULL: Final = frozenset(
    {"concat", "flip", "log_softmax", "matmul", "permute_dims", "softmax", "split"}
)
"""Operators that have elements to compute if their operands have, beside elementwise ones and
reductions."""


def disagreements(situation: Situation) -> Iterator[str]:
    """Yield where the meter counted something else than the backend reports."""
    observation = situation.observation
    for device, reading in (observation.metered or {}).items():
        yield from _launches(situation, device, reading)
        for way, number, size in (
            ("in", reading.copies_in, reading.bytes_in),
            ("out", reading.copies_out, reading.bytes_out),
        ):
            crossed = _crossed(observation.copies, device, way)
            if crossed is not None:
                yield from _crossings(crossed, device, way, number, size)


def counts_launches(situation: Situation) -> bool:
    """Whether launches were counted on each device that something ran on, the host aside."""
    every = enumerate(situation.observation.executions or ())
    executions = [(place, e) for place, e in every if _is_launched(situation, e)]
    devices = _accelerators(situation, {e.device for _, e in executions})
    readings = [_reading(situation, device) for device in devices]
    counted = all(r is not None and r.launches is not None for r in readings)
    here = [(place, e) for place, e in executions if e.device in devices]
    told = all(_has_work(situation, e, place) is not None for place, e in here)
    return bool(readings) and counted and told


def counts_transfers(situation: Situation, sizes: bool) -> bool:
    """Whether transfers were counted on each device but the host, and ``sizes`` with them."""
    copies = situation.observation.copies or ()
    devices = {end for copy in copies for end in (copy.source, copy.target)}
    readings = [_reading(situation, d) for d in _accelerators(situation, devices)]
    return bool(readings) and all(_is_counted(reading, sizes) for reading in readings)


def _accelerators(situation: Situation, devices: set[str]) -> set[str]:
    return (devices | set(situation.binding.values()) | {situation.default}) - {HOST}


def _reading(situation: Situation, device: str) -> Reading | None:
    return (situation.observation.metered or {}).get(device)


def _is_counted(reading: Reading | None, sizes: bool) -> bool:
    if reading is None:
        return False
    found = [reading.copies_in, reading.copies_out]
    found += [reading.bytes_in, reading.bytes_out] if sizes else []
    return None not in found


def _launches(situation: Situation, device: str, reading: Reading) -> Iterator[str]:
    executions, counted = situation.observation.executions, reading.launches
    if executions is None or counted is None:
        return
    here = [
        (place, e)
        for place, e in enumerate(executions)
        if e.device == device and _is_launched(situation, e)
    ]
    reported = [e for place, e in here if _has_work(situation, e, place)]
    if counted < len(reported):
        yield (
            f"{device}: {len(reported)} executions are reported, such as that of "
            f"{_shown(reported[0])}, but the meter counted {counted} launches: "
            "a false report of placement"
        )
    if counted and not _is_named(situation.observation, device):
        yield f"{device}: the meter counted {counted} launches, and the report does not name it"


def _is_launched(situation: Situation, execution: Execution) -> bool:
    """Whether the program's own operators need a launch, whatever the report calls them."""
    calls = [situation.calls.get(name) for name in execution.defines]
    known = [call.op for call in calls if call is not None]
    return any(map(_needs_launch, known or (execution.op,)))


def _needs_launch(name: str) -> bool:
    op = operators().get(name)
    return op is None or not any(op.has(trait) for trait in _NO_LAUNCH)


def _shown(execution: Execution) -> str:
    return ", ".join(execution.defines) or execution.op


def _is_named(observation: Observation, device: str) -> bool:
    if any(execution.device == device for execution in observation.executions or ()):
        return True
    return any(device in (copy.source, copy.target) for copy in observation.copies or ())


def _crossed(copies: Sequence[Copy] | None, device: str, way: str) -> list[Copy] | None:
    """Return the reported transfers that cross the device's border, ``in`` or ``out``."""
    if copies is None:
        return None
    crossing = [copy for copy in copies if copy.source != copy.target]
    return [c for c in crossing if (c.target if way == "in" else c.source) == device]


def _crossings(
    crossed: list[Copy], device: str, way: str, number: int | None, size: int | None
) -> Iterator[str]:
    most = sum(copy.count for copy in crossed)
    least = sum(copy.count for copy in crossed if copy.bytes != 0)
    if number is not None and not least <= number <= most:
        yield (
            f"{device}: {most} transfers {way} are reported, but the meter counted {number}: "
            "a false report of transfers"
        )
    if size is None:
        return
    known = sum(copy.bytes for copy in crossed if copy.bytes is not None)
    in_full = all(copy.bytes is not None for copy in crossed)
    if size < known or (in_full and size != known):
        yield f"{device}: {known} bytes {way} are reported, but the meter counted {size}"


def _has_work(situation: Situation, execution: Execution, place: int) -> bool | None:
    """Whether an execution had an element to compute; ``None`` if that cannot be told.

    One without needs no launch. What is shown of a variable is of its last execution alone.
    """
    shown = situation.observation.intermediates or {}
    last = [name for name in execution.defines if situation.last[name] == place]
    sizes = [shown[name].size for name in last if name in shown]
    if sizes:  # what is fused away is not shown; what the kernel writes is
        return any(sizes)
    return True if _all_full(situation, execution.defines) else None


def _all_full(situation: Situation, names: Sequence[str]) -> bool:
    """Whether the operators cannot have had an empty result, since nothing is empty."""
    if any(isinstance(a, np.ndarray) and not a.size for a in _known(situation)):
        return False
    return all(_is_full(situation.calls.get(name)) for name in names)


def _known(situation: Situation) -> Iterator[Any]:
    for arg in situation.args:
        yield from leaves(arg)
    yield from leaves(situation.observation.results)
    yield from (situation.observation.intermediates or {}).values()


def _is_full(call: nodes.Call | None) -> bool:
    op = None if call is None else operators().get(call.op)
    if op is None:
        return False
    return op.name in _FULL or op.has(Trait.ELEMENTWISE) or op.has(Trait.REDUCTION)
