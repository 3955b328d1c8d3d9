"""Text into tokens.

A token is a kind, a word and a place, held in three lists side by side. The kind of a reserved
word or a sign is the word itself; the others are ``LOCAL``, ``GLOBAL``, ``NAME``, ``UNAME``,
``INT``, ``FLOAT``, ``STRING``, ``DTYPE``, ``END`` at the end of the text, and ``BAD``, which ends
the tokens early: what cannot be read is an error only if the parser comes that far.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, final

from reference_vm.types import DTYPES

_STRING = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+"'
_IDENT = rf"(?:[A-Za-z0-9_]++(?:\.[A-Za-z0-9_]+)*|{_STRING})"

_TOKEN: Final = re.compile(
    rf"""
    (?:[\ \t\r\n]++|//[^\n]*+)*+
    (?:
      (?P<LOCAL>%{_IDENT})
    | (?P<GLOBAL>@{_IDENT})
    | (?P<NAME>[a-z_][A-Za-z0-9_]*+(?:\.[a-z_][A-Za-z0-9_]*+)*)
    | (?P<SIGN>\.\.\.|\.\.|->|=>|[{{}}()\[\]:,=+\-*?])
    | (?P<FLOAT>[0-9]++(?:\.[0-9]++(?:[eE][+-]?[0-9]++)?|[eE][+-]?[0-9]++))
    | (?P<INT>[0-9]++)
    | (?P<UNAME>[A-Z][A-Za-z0-9_]*+)
    | (?P<STRING>{_STRING})
    | (?P<END>\Z)
    | (?P<BAD>(?s:.))
    )
    """,
    re.VERBOSE,
)

WORDS: Final = (
    *("module", "version", "vdevice", "scope", "type", "fn", "donate", "bounds", "in", "attrs"),
    *("return", "yield", "dataflow", "output", "none", "if", "else", "match", "_", "const"),
    *("packed", "splat", "hex", "from", "inf", "nan", "true", "false", "shape"),
)
"""The reserved words, beside the names of dtypes."""

SIGNS: Final = (
    *("...", "..", "->", "=>", "{", "}", "(", ")", "[", "]", ":", ",", "=", "+", "-", "*", "?"),
)

_KINDS: Final = {
    **{word: word for word in (*WORDS, *SIGNS)},
    **dict.fromkeys(DTYPES, "DTYPE"),
}

_PLAIN: Final = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")


@final
@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text; entry ``i`` of each list belongs to token ``i``."""

    kinds: list[str]
    words: list[str]
    starts: list[int]


def tokenize(text: str) -> Tokens:
    """Return the tokens of ``text``; the last one is ``END`` or ``BAD``, and no other is."""
    kinds: list[str] = []
    words: list[str] = []
    starts: list[int] = []
    kind_of = _KINDS.get
    for found in _TOKEN.finditer(text):
        group = found.lastgroup or "BAD"
        word = found[group]
        kinds.append(kind_of(word, group))
        words.append(word)
        starts.append(found.start(group))
        if group in ("END", "BAD"):
            break
    return Tokens(kinds, words, starts)


def unquote(ident: str) -> str:
    """Return the name that an identifier without its sigil, or a string, stands for."""
    if not ident.startswith('"'):
        return ident
    name: str = json.loads(ident)
    return name


def quote(text: str) -> str:
    """Return ``text`` as a string of the language."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def identifier(name: str) -> str:
    """Return ``name`` as it stands after a sigil: quoted only when it must be."""
    return name if _PLAIN.fullmatch(name) else quote(name)
