"""What an implementation returned, made anew of plain values: nothing of its classes stays.

A class of its own may say anything when it is compared, printed or counted: a text that equals
every device, an integer that is never below zero, an array whose elements are all close. What the
judge reads is therefore of Python's and NumPy's own types, and everything else is a breach of the
protocol that names the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hettest.backend.guard import message_of, plain
from hettest.backend.protocol import (
    Copy,
    DeviceInfo,
    Execution,
    Memory,
    Observation,
    Reading,
    Rejected,
    Timing,
)
from hettest.errors import ProtocolBreach

if TYPE_CHECKING:
    from hettest.backend.protocol import Value

_T = TypeVar("_T")

LARGEST: Final = 1 << 63
"""No count, no number of bytes and no line is as large."""

LONGEST_MESSAGE: Final = 40_000
"""Characters of what an implementation says that are kept."""

LONGEST_CLAIMS: Final = 1 << 18
"""Characters of all capability words together; an operator with each dtype by name takes less."""

_LONGEST_WORD: Final = 200
_NONE: Final = type(None)
_TEXT: Final = (str,)
_MAYBE_TEXT: Final = (str, _NONE)
_COUNT: Final = (int,)
_MAYBE_COUNT: Final = (int, _NONE)
_KINDS: Final = {
    str: "a text",
    int: "an int",
    float: "a float",
    bool: "True or False",
    tuple: "a tuple",
    _NONE: "None",
}
_PARTS: Final[Mapping[type, Mapping[str, tuple[type, ...]]]] = {
    Execution: {"op": _TEXT, "defines": (tuple,), "device": _TEXT},
    Copy: {
        **dict.fromkeys(("source", "target"), _TEXT),
        **dict.fromkeys(("value", "cause", "reader"), _MAYBE_TEXT),
        "bytes": _MAYBE_COUNT,
        "count": _COUNT,
    },
    Memory: dict.fromkeys(("start", "end", "peak"), _COUNT),
    Timing: {
        **dict.fromkeys(("device", "kind", "op"), _TEXT),
        "seconds": (float, int),
        "count": _COUNT,
    },
    Reading: dict.fromkeys(
        ("launches", "copies_in", "copies_out", "bytes_in", "bytes_out"), _MAYBE_COUNT
    ),
    DeviceInfo: {
        **dict.fromkeys(("name", "kind"), _TEXT),
        "index": _COUNT,
        "available": (bool,),
        **dict.fromkeys(("reason", "memory_space"), _MAYBE_TEXT),
    },
}
_AMOUNTS: Final = (Memory, Timing, Reading)
_NUMBERS: Final = "biufc"
"""Kinds of NumPy's own dtypes that a result may have; those of `ml_dtypes` come to them."""


def observation(found: Observation) -> Observation:
    """Return an observation of plain values that shows the same.

    Raises:
        ProtocolBreach: It holds something else than the protocol says; names the field.
    """
    return Observation(
        results=_results(found.results),
        executions=_items("executions", found.executions, Execution),
        copies=_items("copies", found.copies, Copy),
        memory=_values("memory", found.memory, Memory),
        intermediates=_arrays(found.intermediates),
        profile=_items("profile", found.profile, Timing),
        metered=_values("metered", found.metered, Reading),
        spaces=_texts("spaces", found.spaces),
    )


def rejection(found: Rejected) -> Rejected:
    """Return a rejection of plain values that says the same.

    Raises:
        ProtocolBreach: It holds something else than the protocol says; names the field.
    """
    kinds = {"stage": _TEXT, "code": _MAYBE_TEXT, "line": _MAYBE_COUNT}
    parts = {name: getattr(found, name, None) for name in kinds}
    made = {
        name: _part(f"raised Rejected whose {name}", parts[name], kinds[name]) for name in kinds
    }
    for name in ("stage", "code"):
        made[name] = None if made[name] is None else cut(made[name], _LONGEST_WORD)
    return Rejected(**made, message=cut(message_of(found), LONGEST_MESSAGE))


def cut(text: str, length: int) -> str:
    """Return a text of at most so many characters, and a sign that there were more."""
    return text if len(text) <= length else f"{text[:length]}…"


def device(found: DeviceInfo) -> DeviceInfo:
    """Return a device of plain values.

    Raises:
        ProtocolBreach: It holds something else than the protocol says; names the field.
    """
    return _plain("lists a device whose ", found, DeviceInfo)


def words(found: object) -> frozenset[str]:
    """Return capability words as plain texts.

    Raises:
        ProtocolBreach: There are other things among them.
    """
    if not _is(found, (frozenset, set)):
        raise ProtocolBreach(f"its capabilities are {called(found)}, expected a frozenset of words")
    claims: Any = found
    made = frozenset(_part("has a capability that", claim, _TEXT) for claim in claims)
    length = sum(map(len, made))
    if length > LONGEST_CLAIMS:
        raise ProtocolBreach(
            f"its capabilities are {len(made)} words of {length} characters in all, "
            f"expected at most {LONGEST_CLAIMS}"
        )
    return made


def called(value: object) -> str:
    """Return ``a list``, ``an int``, ``None``."""
    if value is None:
        return "None"
    name = type.__dict__["__name__"].__get__(type(value)) or "class without a name"
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _is(value: object, kinds: tuple[type, ...]) -> bool:
    """Whether a value is of one of the kinds, whatever it says of its class."""
    return issubclass(type(value), kinds)


def _shown(value: Any) -> str:
    """Return what a message shows of a value, after a comma; nothing of strangers' classes."""
    if type(value) is str:
        return f", {value[:60]!r}"
    if type(value) in (float, bool) or (type(value) is int and abs(value) < LARGEST):
        return f", {value!r}"
    return ""


def _breach(what: str) -> ProtocolBreach:
    return ProtocolBreach(f"run() returned an observation whose {what}")


def _part(place: str, value: Any, kinds: tuple[type, ...]) -> Any:
    """Return a value as a plain one of its kind.

    Raises:
        ProtocolBreach: It is of no such kind, or no number that can be counted to.
    """
    if not _is(value, kinds) or (_is(value, (bool,)) and bool not in kinds):
        expected = " or ".join(_KINDS[kind] for kind in kinds)
        raise ProtocolBreach(f"{place} is {called(value)}{_shown(value)}, expected {expected}")
    if value is None or _is(value, (bool,)):
        return value
    if _is(value, (str,)):
        return plain(value)
    number = float.__float__(value) if _is(value, (float,)) else int.__int__(value)
    if not -LARGEST < number < LARGEST:
        shown = number if isinstance(number, float) else "too large"
        raise ProtocolBreach(f"{place} is {shown}, expected a number between -2**63 and 2**63")
    return number


def _plain(place: str, item: Any, kind: type[_T]) -> _T:
    parts: dict[str, Any] = {}
    for name, kinds in _PARTS[kind].items():
        value = getattr(item, name)
        if kinds == (tuple,):
            parts[name] = _names(f"{place}{name}", value)
            continue
        parts[name] = found = _part(f"{place}{name}", value, kinds)
        if kind in _AMOUNTS and isinstance(found, int | float) and not found >= 0:
            raise ProtocolBreach(f"{place}{name} is {found!r}, expected no less than 0")
    return kind(**parts)


def _names(place: str, value: Any) -> tuple[str, ...]:
    if not _is(value, (tuple,)):
        raise ProtocolBreach(f"{place} is {called(value)}{_shown(value)}, expected a tuple")
    return tuple(_part(f"{place}[{n}]", name, _TEXT) for n, name in enumerate(value))


def _items(field: str, found: Any, kind: type[_T]) -> tuple[_T, ...] | None:
    if found is None:
        return None
    if not isinstance(found, Sequence):
        raise _breach(f"{field} are {called(found)}, expected a list of {kind.__name__}")
    return tuple(_item(field, number, item, kind) for number, item in enumerate(tuple(found)))


def _item(field: str, number: int, item: Any, kind: type[_T]) -> _T:
    if not _is(item, (kind,)):
        raise _breach(f"{field} hold {called(item)}, expected {kind.__name__}")
    try:
        return _plain(f"{field}[{number}].", item, kind)
    except ProtocolBreach as wrong:
        raise _breach(str(wrong)) from None


def _named(field: str, found: Any, kind: str) -> Iterator[tuple[str, Any]]:
    """Yield what a mapping holds, by plain names."""
    if not isinstance(found, Mapping):
        raise _breach(f"{field} are {called(found)}, expected a mapping from names to {kind}")
    for name, value in dict(found).items():
        if not _is(name, (str,)):
            raise _breach(f"{field} are by {called(name)}{_shown(name)}, expected names")
        yield plain(name), value


def _values(field: str, found: Any, kind: type[_T]) -> dict[str, _T] | None:
    if found is None:
        return None
    named = enumerate(_named(field, found, kind.__name__))
    return {name: _item(field, number, value, kind) for number, (name, value) in named}


def _texts(field: str, found: Any) -> dict[str, str] | None:
    if found is None:
        return None
    made = {}
    for name, value in _named(field, found, "str"):
        if not _is(value, (str,)):
            raise _breach(f"{field} hold {called(value)}, expected str")
        made[name] = plain(value)
    return made


def _arrays(found: Any) -> dict[str, Any] | None:
    import numpy as np

    if found is None:
        return None
    made = {}
    for name, value in _named("intermediates", found, "ndarray"):
        if not _is(value, (np.ndarray,)):
            raise _breach(f"intermediates hold {called(value)}, expected ndarray")
        made[name] = _array("intermediates", value)
    return made


def _results(found: Any) -> Value:
    """Return results with plain arrays in plain tuples; a constructor's name may begin a tuple."""
    made: list[Any] = []
    open_: list[tuple[Iterator[Any], list[Any]]] = [(iter((found,)), made)]
    while open_:
        items, made = open_[-1]
        for item in items:
            if _is(item, (tuple,)):
                open_.append((iter(tuple(item)), []))
                break
            begins = not made and len(open_) > 1
            made.append(plain(item) if begins and _is(item, (str,)) else _leaf(item))
        else:
            open_.pop()
            if open_:
                open_[-1][1].append(tuple(made))
    results: Value = made[0]
    return results


def _leaf(value: Any) -> Any:
    import numpy as np

    if not _is(value, (np.ndarray, np.generic)):
        raise _breach(f"results hold {called(value)}, expected arrays, or tuples of them")
    return _array("results", value)


def _array(field: str, value: Any) -> Any:
    """Return a plain array in the memory of ``value``; a scalar of NumPy stays one."""
    import numpy as np

    is_scalar = not _is(value, (np.ndarray,))
    array = np.asarray(value) if is_scalar else value
    if type(array) is not np.ndarray:
        array = np.ndarray.view(array, np.ndarray)
    if not _is_numeric(array.dtype):
        kind = str(array.dtype) if array.dtype.isbuiltin else "another kind of element"
        raise _breach(f"{field} hold an array of {kind}, expected one of numbers or bools")
    return array[()] if is_scalar else array


def _is_numeric(dtype: Any) -> bool:
    """Whether elements are numbers of NumPy's, or of `ml_dtypes`, such as bf16."""
    if dtype.isbuiltin == 2:
        return bool(dtype.type.__module__ == "ml_dtypes")
    return dtype.kind in _NUMBERS


__all__ = [
    "LARGEST",
    "LONGEST_MESSAGE",
    "cut",
    "called",
    "device",
    "observation",
    "rejection",
    "words",
]
