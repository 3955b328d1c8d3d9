"""Observations and facts as plain data, and the one door through which they come back.

Types of parts are looked at once more by `hettest.backend.exact`, as for every observation; here it
is seen to that there are parts at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hettest.backend.protocol import Copy, Execution, Memory, Observation, Reading, Timing
from hettest.isolation.frames import Answer, Malformed, kind

if TYPE_CHECKING:
    import numpy as np

    from hettest.backend.protocol import Array, Value

_T = TypeVar("_T")

_PARTS: Final = {
    type_: attrgetter(*(field.name for field in fields(type_)))
    for type_ in (Execution, Copy, Timing, Memory, Reading)
}
"""What reads all parts of each of the protocol's rows."""

_ARRAY: Final = None
_SCALAR: Final = True
"""What stands in a list of results for the next array, and for one that is a scalar of NumPy's."""


def to_json(seen: Observation) -> tuple[dict[str, Any], list[Array]]:
    """Return an observation as plain data, and the arrays that it names in order."""
    import numpy as np

    tokens, arrays = _flat(seen.results)
    data: dict[str, Any] = {"results": tokens}
    for name, items in (
        ("executions", seen.executions),
        ("copies", seen.copies),
        ("profile", seen.profile),
    ):
        data[name] = None if items is None else [_PARTS[type(item)](item) for item in items]
    for name, table in (("memory", seen.memory), ("metered", seen.metered)):
        rows = (
            None if table is None else {key: _PARTS[type(row)](row) for key, row in table.items()}
        )
        data[name] = rows
    data["spaces"] = None if seen.spaces is None else dict(seen.spaces)
    kept = seen.intermediates
    data["intermediates"] = None if kept is None else list(kept)
    return data, [np.asarray(array) for array in (*arrays, *(kept or {}).values())]


def from_json(answer: Answer) -> Observation:
    """Return the observation that an answer says.

    Raises:
        Malformed: It says none.
    """
    data, arrays = answer.data, iter(answer.arrays)
    results = _nested(part(data, "results", list), arrays)
    names = maybe(data, "intermediates", list)
    return Observation(
        results=results,
        executions=_rows(data, "executions", _execution),
        copies=_rows(data, "copies", _maker(Copy)),
        profile=_rows(data, "profile", _maker(Timing)),
        memory=_table(data, "memory", _maker(Memory)),
        metered=_table(data, "metered", _maker(Reading)),
        spaces=maybe(data, "spaces", dict),
        intermediates=None if names is None else dict(_kept(names, arrays)),
    )


def part(data: Mapping[str, Any], name: str, type_: type[_T]) -> _T:
    """Return a part of an answer.

    Raises:
        Malformed: It is not there, or of another type.
    """
    found = data.get(name)
    if type(found) is not type_:
        raise Malformed(f"answered {name} as {kind(found)}, expected {type_.__name__}")
    return found


def maybe(data: Mapping[str, Any], name: str, type_: type[_T]) -> _T | None:
    """Return a part of an answer that may be null, or not there; raises as `part` does."""
    return None if data.get(name) is None else part(data, name, type_)


def _flat(results: Value) -> tuple[list[Any], list[Array]]:
    """Return nested tuples as one list: how many items a tuple has, then those."""
    import numpy as np

    tokens: list[Any] = []
    arrays: list[Any] = []
    stack: list[Any] = [results]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            tokens.append(len(top))
            stack.extend(reversed(top))
        elif isinstance(top, str):
            tokens.append(top)
        else:
            tokens.append(_ARRAY if isinstance(top, np.ndarray) else _SCALAR)
            arrays.append(top)
    return tokens, arrays


def _nested(tokens: Sequence[Any], arrays: Iterator[Array]) -> Value:
    """Return the results that `_flat` made a list of."""
    open_: list[tuple[int, list[Any]]] = [(1, [])]
    for number, token in enumerate(tokens):
        if type(token) is int and 0 <= token <= len(tokens):
            open_.append((token, []))
        elif token is _ARRAY or token is _SCALAR:
            open_[-1][1].append(_next(f"results[{number}]", token, arrays))
        elif type(token) is str:
            open_[-1][1].append(token)
        else:
            raise Malformed(f"answered results[{number}] as {kind(token)}, which is no result")
        while len(open_) > 1 and len(open_[-1][1]) == open_[-1][0]:
            made = tuple(open_.pop()[1])
            open_[-1][1].append(made)
        if len(open_) == 1 and number + 1 < len(tokens):
            raise Malformed(f"answered results that end at {number} of {len(tokens)}")
    if len(open_) != 1 or len(open_[0][1]) != 1:
        raise Malformed("answered results that end in the middle")
    found: Value = open_[0][1][0]
    return found


def _next(place: str, token: object, arrays: Iterator[Array]) -> Array | np.generic:
    found = next(arrays, None)
    if found is None:
        raise Malformed(f"answered {place} as an array that was not sent")
    if token is _SCALAR:
        if found.shape:
            raise Malformed(f"answered {place} as a scalar of shape {found.shape}")
        return found[()]
    return found


def _kept(names: Sequence[Any], arrays: Iterator[Array]) -> Iterator[tuple[str, Array]]:
    for number, name in enumerate(names):
        place = f"intermediates[{number}]"
        if type(name) is not str:
            raise Malformed(f"answered {place} as {kind(name)}, expected a name")
        array = next(arrays, None)
        if array is None:
            raise Malformed(f"answered {place} as an array that was not sent")
        yield name, array


def _rows(
    data: Mapping[str, Any], name: str, make: Callable[[str, Any], _T]
) -> tuple[_T, ...] | None:
    rows = maybe(data, name, list)
    if rows is None:
        return None
    return tuple(make(f"{name}[{number}]", row) for number, row in enumerate(rows))


def _table(
    data: Mapping[str, Any], name: str, make: Callable[[str, Any], _T]
) -> dict[str, _T] | None:
    rows = maybe(data, name, dict)
    return None if rows is None else {key: make(name, row) for key, row in rows.items()}


def _maker(type_: type[_T]) -> Callable[[str, Any], _T]:
    count = len(fields(type_))  # type: ignore[arg-type] # one of the protocol's dataclasses

    def make(place: str, row: Any) -> _T:
        if type(row) is not list or len(row) != count:
            raise Malformed(f"answered {place} as {kind(row)}, expected {count} parts")
        return type_(*row)

    return make


def _execution(place: str, row: Any) -> Execution:
    match row:
        case [op, list(defines), device]:
            return Execution(op, tuple(defines), device)
    raise Malformed(f"answered {place} as {kind(row)}, expected an operator, names and a device")
