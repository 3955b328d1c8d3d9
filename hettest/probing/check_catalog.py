"""The checks of an adapter, in the order in which they are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from hettest.probing import checks_form, checks_running, checks_seen
from hettest.probing.specimen import Specimen


@final
@dataclass(frozen=True, slots=True)
class Check:
    """One check; its function returns what holds, or raises."""

    name: str
    make: Callable[[Specimen], str]
    needs: tuple[str, ...] = ()
    """Checks without which this one says nothing."""


_READY = ("loads", "capabilities", "devices")
_RUNS = (*_READY, "runs")

CHECKS: Final = (
    Check("loads", checks_form.loads),
    Check("name", checks_form.name, ("loads",)),
    Check("capabilities", checks_form.capabilities, ("loads",)),
    Check("devices", checks_form.devices, ("loads",)),
    Check("devices again", checks_form.same_devices, ("loads", "devices")),
    Check("devices available", checks_form.available_devices, _READY),
    Check("devices claimed", checks_form.claimed_devices, _READY),
    Check("open", checks_form.opens, _READY),
    Check("runs", checks_running.runs, _READY),
    Check("results", checks_running.results, _RUNS),
    Check("tuples", checks_running.tuples, _RUNS),
    Check("arguments", checks_running.arguments, _RUNS),
    Check("results stay", checks_running.stays, _RUNS),
    Check("references", checks_running.references, _RUNS),
    Check("runs again", checks_running.again, _RUNS),
    Check("memory", checks_running.memory, _RUNS),
    Check("observations", checks_seen.observations, _RUNS),
    Check("placement", checks_seen.placement, _RUNS),
    Check("refusals", checks_seen.refusals, _READY),
    Check("closes", checks_seen.closes, ("loads",)),
)
