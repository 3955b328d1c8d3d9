"""Patterns of names: ``*`` and ``?`` are wild; a bracket is plain, since item ids have them."""

from __future__ import annotations

from fnmatch import fnmatchcase


def fits(name: str, pattern: str) -> bool:
    """Whether ``pattern`` names ``name``: ``*`` stands for any characters, ``?`` for one."""
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))
