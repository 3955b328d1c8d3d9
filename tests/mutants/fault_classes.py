"""The kinds of fault that public reports on compilers and runtimes fall into."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

FAULT_CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "C01": "placement conflict on a shared value",
        "C02": "device identity lost, defaulted or misreported",
        "C03": "required transfer missing, or of the wrong kind",
        "C04": "needless transfers",
        "C05": "requested placement overridden",
        "C06": "layout, offset or stride lost in a transfer",
        "C07": "a copy that is none, or a copy onto itself",
        "C10": "memory plan: alias or lifetime not tracked",
        "C13": "state that leaks from one call to the next",
        "C15": "donated, returned and overwritten arguments",
        "C19": "merging that ignores what tells things apart",
        "C22": "constant folding that differs from the run",
        "C29": "rules for NaN and infinity",
        "C30": "width of integers, overflow and casts",
        "C31": "integer division and rounding",
        "C32": "indices, slices and coordinates",
        "C34": "precision of intermediate results",
        "C36": "validation, broadcasting and defaults that differ",
    }
)
"""Those that have mutants; C01 to C07 and C19 are those of placement and transfers."""

OF_PLACEMENT: Final = ("C01", "C02", "C03", "C04", "C05", "C06", "C07", "C19")
