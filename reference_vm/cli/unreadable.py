"""What reading a file ends with."""

from __future__ import annotations


class Unreadable(Exception):
    """Why a file of arguments cannot be read."""
