"""How an item ends: exactly one of six ways."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The end of one selected item."""

    PASSED = "passed"
    """Every expectation was checked and holds."""

    FAILED = "failed"
    CRASHED = "crashed"
    """The implementation raised something other than a rejection, or its process died."""

    NOT_RUN = "not run"
    """A requested device is missing, or the run was cut short."""

    UNSUPPORTED = "unsupported"
    """By declaration: a capability word that the item needs is not claimed."""

    WAIVED = "waived"
