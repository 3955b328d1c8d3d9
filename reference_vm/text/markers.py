"""Marks of expected diagnostics in a program: ``//~ code``, and ``//~^ code`` for the line above.

To the lexer they are comments. They are found by signs alone, also in a text that does not parse;
one inside a string is none.
"""

from __future__ import annotations

import re
from typing import Final

from reference_vm.source import Source

_PART: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//~(?P<up>\^?)[ \t]*(?P<code>[a-z0-9-]+)|//[^\n]*', re.ASCII
)


def markers(source: Source) -> tuple[tuple[int, str], ...]:
    """Return the line and the code of each marker, in text order."""
    found: list[tuple[int, str]] = []
    for part in _PART.finditer(source.text):
        if part["code"]:
            line, _ = source.position(part.start())
            found.append((line - len(part["up"]), part["code"]))
    return tuple(found)
