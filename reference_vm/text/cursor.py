"""Where the parser is in the tokens, and what it found so far.

A *syntax error* ends the parse: `Cursor.error` makes it, and the parser raises it. What is wrong
beyond the grammar, such as a role that nothing declares, is noted with `Cursor.note`, so that one
parse finds all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.source import Source, Span
from reference_vm.text.lexer import WORDS, Tokens, tokenize, unquote
from reference_vm.types import DTYPES, TensorType, VirtualDevice


@final
@dataclass(slots=True)
class Cursor:
    """A place in the tokens of a source."""

    source: Source
    kinds: list[str]
    words: list[str]
    starts: list[int]
    roles: Mapping[str, VirtualDevice] = field(default_factory=dict)
    found: list[Diagnostic] = field(default_factory=list)
    at: int = 0
    tensors: dict[str, TensorType] = field(default_factory=dict)
    """The tensor types read so far, by how they are written."""

    splatted: int = 0
    """How many bytes the ``splat`` constants so far stand for."""

    @classmethod
    def over(cls, source: Source) -> Cursor:
        tokens: Tokens = tokenize(source.text)
        return cls(source, tokens.kinds, tokens.words, tokens.starts)

    @property
    def kind(self) -> str:
        return self.kinds[self.at]

    def accept(self, kind: str) -> bool:
        """Step over the next token if it is of this kind."""
        if self.kinds[self.at] != kind:
            return False
        self.at += 1
        return True

    def take(self, kind: str, expected: str = "") -> str:
        """Step over a token of this kind and return its word.

        Raises:
            CompileError: The next token is of another kind.
        """
        at = self.at
        if self.kinds[at] != kind:
            raise self.error(expected or f"`{kind}`")
        self.at = at + 1
        return self.words[at]

    def name(self, kind: str, expected: str) -> str:
        """Step over a ``LOCAL`` or ``GLOBAL`` and return the name without sigil and quotes."""
        return self._text(self.take(kind, expected)[1:])

    def string(self, expected: str) -> str:
        """Step over a ``STRING`` and return its text."""
        return self._text(self.take("STRING", expected))

    def _text(self, ident: str) -> str:
        text = unquote(ident)
        if ident.startswith('"') and any("\ud800" <= c <= "\udfff" for c in text):
            span = self.span(self.at - 1)
            found = ident.encode("ascii", "backslashreplace").decode()
            expected = "text: \\ud800 to \\udfff are halves of characters, which stand in pairs"
            raise CompileError(catalog.syntax_error(found, expected, span))
        return text

    def integer(self, expected: str) -> int:
        """Step over an ``INT`` and return it."""
        word = self.take("INT", expected)
        if len(word) < 20:
            return int(word)
        digits = word.lstrip("0") or "0"
        if len(digits) > 20 or int(digits) >= 1 << 64:
            self.note(catalog.number_too_large(word, self.span(self.at - 1)))
            return 0
        return int(digits)

    def span(self, first: int, last: int | None = None) -> Span:
        """Return where token ``first``, or all from it to token ``last``, stands."""
        end = first if last is None else last
        return Span(self.source, self.starts[first], self.starts[end] + len(self.words[end]))

    def since(self, first: int) -> Span:
        """Return where the tokens from ``first`` to the one before the cursor stand."""
        end = self.at - 1
        return Span(self.source, self.starts[first], self.starts[end] + len(self.words[end]))

    def note(self, diagnostic: Diagnostic) -> None:
        """Remember what is wrong, and go on."""
        self.found.append(diagnostic)

    def error(self, expected: str) -> CompileError:
        """Return the error that the next token is not what stands here."""
        span = self.span(self.at)
        word = self.words[self.at]
        if self.kind == "BAD":
            return CompileError(catalog.unreadable_text(repr(word), span))
        if (word in WORDS or word in DTYPES) and self.kinds[self.at + 1 : self.at + 2] == ["="]:
            return CompileError(catalog.reserved_word(word, span))
        found = "the end of the text" if self.kind == "END" else f"`{word}`"
        return CompileError(catalog.syntax_error(found, expected, span))

    def role(self) -> VirtualDevice:
        """Step over a ``GLOBAL`` that names a role and return its virtual device."""
        name = self.name("GLOBAL", "a role such as @host")
        declared = self.roles.get(name)
        if declared is not None:
            return declared
        self.note(catalog.unknown_vdevice(name, list(self.roles), self.span(self.at - 1)))
        return VirtualDevice(name)
