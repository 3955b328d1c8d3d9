"""Runs items in a spawned process, so that what kills or hangs it ends one item and not the run."""

from hettest.isolation.isolated import Isolated

__all__ = ["Isolated"]
