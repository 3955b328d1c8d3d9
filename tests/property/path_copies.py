"""How many copies each path of a placed program makes, by the definition and from its text alone.

Along a path a value is copied to a device when it is read there and no earlier transfer to it is
on every path to the read; the transfer stands before a branch if both arms, or what follows, read
the value there (`planning.md` section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.property.placed_programs import Program, Statement

Want = tuple[str, str]
"""A value and a device that reads it."""


@dataclass(frozen=True)
class Reads:
    """Where values live, and what a path through a program reads."""

    home: Mapping[str, str]

    def of(self, statement: Statement) -> Iterator[Want]:
        """Yield what an operator reads; a branch reads its condition on the host."""
        device = "host" if statement.operator == "if" else self.home[statement.name]
        yield from ((o, device) for o in statement.operands)

    def certain(self, block: Sequence[Statement], end: Want | None) -> set[Want]:
        """Return what every path through ``block`` reads of what is made before it."""
        found = {end} if end is not None else set()
        for s in block:
            found.update(self.of(s))
            if s.arms:
                first, second = self._arms(s, self.certain)
                found |= first & second
        return self._from_outside(found, block)

    def possible(self, block: Sequence[Statement], end: Want | None) -> set[Want]:
        """Return what some path through ``block`` reads of what is made before it."""
        found = {end} if end is not None else set()
        for s in block:
            found.update(self.of(s))
            if s.arms:
                first, second = self._arms(s, self.possible)
                found |= first | second
        return self._from_outside(found, block)

    def _arms(self, s: Statement, of: object) -> tuple[set[Want], set[Want]]:
        first, second = (of(b, (result, self.home[s.name])) for b, result in s.arms)  # type: ignore[operator]
        return first, second

    @staticmethod
    def _from_outside(wants: set[Want], block: Sequence[Statement]) -> set[Want]:
        made = {s.name for s in block}
        return {w for w in wants if w[0] not in made}


def copies_on_path(
    written: Program, home: Mapping[str, str], taken: Mapping[str, bool], returned: str
) -> int:
    """Return how many copies the path makes on which conditions are as ``taken`` says."""
    return _Path(Reads(home), taken).block(written.statements, (written.result, returned), set())


class _Path:
    def __init__(self, reads: Reads, taken: Mapping[str, bool]) -> None:
        self.reads = reads
        self.taken = taken

    def block(self, block: Sequence[Statement], end: Want, there: set[Want]) -> int:
        count = 0
        for index, s in enumerate(block):
            count += self._need(self.reads.of(s), there)
            if s.arms:
                rest = block[index + 1 :]
                count += self._need(self._hoisted(s, rest, end), there)
                inner, result = s.arms[0 if self.taken[s.operands[0]] else 1]
                count += self.block(inner, (result, self.reads.home[s.name]), set(there))
        return count + self._need((end,), there)

    def _hoisted(self, s: Statement, rest: Sequence[Statement], end: Want) -> set[Want]:
        home = self.reads.home[s.name]
        arms = [(b, (result, home)) for b, result in s.arms]
        some = set().union(*(self.reads.possible(b, e) for b, e in arms))
        first, second = (self.reads.certain(b, e) for b, e in arms)
        after = self.reads.certain(rest, end)
        return {w for w in some if (w in first and w in second) or w in after}

    def _need(self, wants: object, there: set[Want]) -> int:
        new = {w for w in wants if w[1] != self.reads.home[w[0]]} - there  # type: ignore[attr-defined]
        there |= new
        return len(new)


__all__ = ["copies_on_path"]
