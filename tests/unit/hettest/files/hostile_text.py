"""Text that comes from outside and breaks what it is written into, for tests of what leaves."""

from __future__ import annotations

import unicodedata
from typing import Final

from hypothesis import strategies as st

NASTY: Final = (
    "\ud800",
    "\udfff",
    "\ud83d\ude00",  # two halves that are no pair in Python
    "\x00",
    "\x08",
    "\x0b",
    "\x7f",
    "\x9b2J",
    "\x85",
    "\r",
    "\x1b[2J\x1b[H",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b\x1b[m[2J",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\ufffe",
    "\uffff",
    "\U000e0041",
    "\U0010ffff",
    "\n",
    "\t",
    "]]>",
    "<script>",
    "{{ 7*7 }}",
    "[bold]",
    ":smile:",
    "|",
    "&amp;",
    '"""',
    "é",
    "日本",
    "😀",
)


def texts(longest: int = 12) -> st.SearchStrategy[str]:
    """Draw text that holds much of what cannot be shown."""
    characters = st.characters(codec=None)
    piece = st.one_of(st.sampled_from(NASTY), characters, st.text("ab /.", max_size=3))
    return st.lists(piece, max_size=longest).map("".join)


def hidden(text: str) -> list[str]:
    """Return what ``text`` holds that a reader or a terminal would not show as a character."""
    return [
        ascii(char)
        for char in text
        if char not in "\n\t"
        and (
            unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
            or unicodedata.bidirectional(char)
            in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
            or char in "\u061c\u200b\u200e\u200f\u2060\ufeff"
            or 0xE0000 <= ord(char) <= 0xE007F
            or ord(char) & 0xFFFE == 0xFFFE
            or 0xFDD0 <= ord(char) <= 0xFDEF
        )
    ]
