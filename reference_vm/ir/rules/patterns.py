"""Constructors are known and have so many fields, and the arms of a match leave nothing out.

That no arm stands behind one that takes every value is a remark: such a program has its meaning.

Whether arms are exhaustive is decided by splitting: take the first pattern of each row; if the rows
name every constructor of its type, look at each in turn with its fields in front, else at one that
they do not name. A path on which no row is left is a value that no arm matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from reference_vm.diagnostics import Diagnostic, catalog
from reference_vm.ir.nodes import (
    BindPattern,
    Construct,
    ConstructorPattern,
    Expr,
    Function,
    Match,
    Pattern,
    TuplePattern,
    Wildcard,
)
from reference_vm.ir.rules.declarations import Declarations
from reference_vm.ir.rules.events import Reading, events
from reference_vm.source import Span

WORK: Final = 20_000
"""How many patterns may be looked at for one match before it counts as not provable."""

ANY: Final = Wildcard()

_Head: TypeAlias = tuple[str, int]
"""A constructor, or ``""`` for a tuple, and its number of fields."""

_Row: TypeAlias = tuple[Pattern, ...]


def check(function: Function, declared: Declarations) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each wrong constructor, and for each match with a gap."""
    for event in events(function):
        if isinstance(event, Reading):
            yield from _expression(event.binding.value, declared)


def _expression(value: Expr, declared: Declarations) -> Iterator[Diagnostic]:
    if isinstance(value, Construct):
        yield from _constructor(value.constructor, len(value.args), value.span, declared)
    if not isinstance(value, Match):
        return
    found = [p for arm in value.arms for p in _pattern(arm.pattern, declared)]
    yield from found
    if not found:
        yield from _exhaustive(value, declared)


def unreachable(function: Function) -> Iterator[Diagnostic]:
    """Yield a remark for each arm that no value reaches, as one before it takes every value."""
    for event in events(function):
        if isinstance(event, Reading) and isinstance(event.binding.value, Match):
            yield from _unreachable(event.binding.value)


def _unreachable(value: Match) -> Iterator[Diagnostic]:
    arms = iter(value.arms)
    taking = next((arm for arm in arms if _takes_all(arm.pattern)), None)
    for arm in arms:  # what is left of them
        assert taking is not None
        yield catalog.unreachable_arm(arm.span or value.span, taking.span)


def _takes_all(pattern: Pattern) -> bool:
    stack = [pattern]
    while stack:
        top = stack.pop()
        if isinstance(top, ConstructorPattern):
            return False
        if isinstance(top, TuplePattern):
            stack.extend(top.items)
    return True


def _constructor(
    name: str, found: int, span: Span | None, declared: Declarations
) -> Iterator[Diagnostic]:
    known = declared.constructors.get(name)
    if known is None:
        yield catalog.unknown_constructor(name, list(declared.constructors), span)
    elif found != len(known[1].fields):
        yield catalog.constructor_arity(name, found, len(known[1].fields), span)


def _pattern(pattern: Pattern, declared: Declarations) -> Iterator[Diagnostic]:
    stack = [pattern]
    while stack:
        top = stack.pop()
        if isinstance(top, ConstructorPattern):
            yield from _constructor(top.constructor, len(top.items), top.span, declared)
        if isinstance(top, ConstructorPattern | TuplePattern):
            stack.extend(reversed(top.items))


def _exhaustive(value: Match, declared: Declarations) -> Iterator[Diagnostic]:
    try:
        missing = _Arms(declared).missing([(arm.pattern,) for arm in value.arms])
    except _MixedTypes as mixed:
        yield catalog.mixed_patterns(mixed.left, mixed.right, mixed.span or value.span)
    except _TooMuchWork:
        if all(_head(arm.pattern) is not None for arm in value.arms):
            yield catalog.non_exhaustive_match(None, value.span)
    else:
        if missing is not None:
            yield catalog.non_exhaustive_match(missing, value.span)


class _MixedTypes(Exception):
    def __init__(self, left: str, right: str, span: Span | None) -> None:
        super().__init__(left, right)
        self.left = left
        self.right = right
        self.span = span


class _TooMuchWork(Exception):
    pass


@final
@dataclass(frozen=True, slots=True)
class _State:
    """Rows that are left, how many patterns each has, and which heads led here."""

    rows: list[_Row]
    width: int
    path: _Path | None


@final
@dataclass(frozen=True, slots=True)
class _Path:
    """Heads in pre-order, the last one first; ``None`` is ``_``."""

    head: _Head | None
    before: _Path | None


@final
@dataclass(slots=True)
class _Arms:
    """Looks for a value that no arm matches."""

    declared: Declarations
    work: int = WORK

    def missing(self, rows: list[_Row]) -> str | None:
        """Return a pattern of what no row matches, ``None`` if there is nothing."""
        stack = [_State(rows, 1, None)]
        while stack:
            state = stack.pop()
            if not state.rows:
                return _spelled(state)
            if all(_head(pattern) is None for pattern in state.rows[0]):
                continue  # the first row matches whatever is left
            self.work -= len(state.rows) * state.width
            if self.work < 0:
                raise _TooMuchWork
            stack.extend(reversed(list(self._split(state))))
        return None

    def _split(self, state: _State) -> Iterator[_State]:
        """Yield what is to be looked at in place of ``state``, one pattern further."""
        heads = _heads(state.rows)
        self._one_type(state.rows)
        rest = self._unnamed(heads)
        for head in heads:
            rows = [r for row in state.rows for r in _specialized(row, head)]
            yield _State(rows, state.width - 1 + head[1], _Path(head, state.path))
        if rest is not None or not heads:
            rows = [row[1:] for row in state.rows if _head(row[0]) is None]
            path = _Path(rest, state.path)
            for _ in range(rest[1] if rest is not None else 0):
                path = _Path(None, path)
            yield _State(rows, state.width - 1, path)

    def _unnamed(self, heads: dict[_Head, Pattern]) -> _Head | None:
        """Return a constructor of the type that ``heads`` are of and do not name."""
        names = {name for name, _ in heads}
        if not names or names == {""}:
            return None
        adt, _ = self.declared.constructors[next(iter(names))]
        for constructor in adt.constructors:
            if constructor.name not in names:
                return (constructor.name, len(constructor.fields))
        return None

    def _one_type(self, rows: list[_Row]) -> None:
        first: Pattern | None = None
        for pattern in (row[0] for row in rows):
            if _head(pattern) is None:
                continue
            first = first or pattern
            left, right = self._type_name(first), self._type_name(pattern)
            if left != right:
                assert isinstance(pattern, ConstructorPattern | TuplePattern)
                raise _MixedTypes(left, right, pattern.span)

    def _type_name(self, pattern: Pattern) -> str:
        if isinstance(pattern, ConstructorPattern):
            return self.declared.constructors[pattern.constructor][0].name
        assert isinstance(pattern, TuplePattern)
        return f"a tuple of {len(pattern.items)}"


def _head(pattern: Pattern) -> _Head | None:
    match pattern:
        case ConstructorPattern(constructor=name, items=items):
            return (name, len(items))
        case TuplePattern(items=items):
            return ("", len(items))
        case Wildcard() | BindPattern():
            return None


def _heads(rows: list[_Row]) -> dict[_Head, Pattern]:
    """Return what the rows begin with, in order, each with the first pattern that does."""
    heads: dict[_Head, Pattern] = {}
    for row in rows:
        head = _head(row[0])
        if head is not None:
            heads.setdefault(head, row[0])
    return heads


def _specialized(row: _Row, head: _Head) -> Iterator[_Row]:
    """Yield ``row`` with the fields of its first pattern in front, if that has this head."""
    pattern = row[0]
    if _head(pattern) is None:
        yield (ANY,) * head[1] + row[1:]
    elif _head(pattern) == head:
        assert isinstance(pattern, ConstructorPattern | TuplePattern)
        yield pattern.items + row[1:]


def _spelled(state: _State) -> str:
    """Return the pattern that the path of ``state`` spells, shortened when it is long."""
    heads: list[_Head | None] = [None] * state.width
    path = state.path
    while path is not None:
        heads.append(path.head)
        path = path.before
    spelled: list[str] = []
    for head in heads:  # last first, so that the fields of a head are spelled before it
        if head is None:
            spelled.append("_")
            continue
        name, arity = head
        items = [spelled.pop() for _ in range(arity)]
        inner = ", ".join(items)
        comma = "," if not name and arity == 1 else ""
        text = f"{name}({inner}{comma})" if items or not name else name
        spelled.append(text if len(text) <= 120 else f"{name}(…)")
    return spelled[-1]
