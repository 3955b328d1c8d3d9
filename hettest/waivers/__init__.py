"""Faults of a backend that are known: which items, which stage, why, whose, and until when.

A waiver turns a failure into the outcome *waived*. One that has expired, matches nothing, or whose
items pass by now is an error, so that the list stays true.
"""

from hettest.waivers.audit import problems
from hettest.waivers.loader import load
from hettest.waivers.model import Waiver, Waivers

__all__ = ["Waiver", "Waivers", "load", "problems"]
