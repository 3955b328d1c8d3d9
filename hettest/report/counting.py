"""Numbers of things in words, as people write them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return ``1 item``, or ``2 items``; ``noun`` is the singular of one with a regular plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
