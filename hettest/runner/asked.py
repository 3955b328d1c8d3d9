"""What a run asks of a backend, in plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """What a run asks of a backend, in plain values that another process can be told."""

    backend: str
    """As the user named it."""

    devices: tuple[str, ...]
    """Those named for the run; the first is the host."""

    needed: tuple[str, ...] = ()
    """Those, and the ones of the device map."""

    chosen_by: tuple[str, ...] = ()
    """What else chose the items, as options of ``hettest run``, for replay lines."""

    seed: int = 0
    """For the judge's evaluations with random rounding."""
