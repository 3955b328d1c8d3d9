"""Arguments and earlier results stay the caller's: nothing writes to them.

Nor does a result lie in an argument's memory. A donated argument is given away, so neither is asked
of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hettest.backend.nesting import leaves
from hettest.backend.ownership import Ownership
from hettest.expect.situation import Situation
from hettest.outcome import Clause, Status


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause if there is anything that stays the caller's."""
    if situation.ownership is None:
        return
    kept, found = _kept(situation), situation.ownership()
    if not kept and found.overwritten is None:
        return
    wrong = [*_wrong(kept, found), *_overwritten(found)]
    if wrong:
        yield Clause("arguments", Status.FAILED, "\n".join(wrong))
    else:
        yield Clause("arguments", Status.PROVEN, "left as they were, and no result shares memory")


def _kept(situation: Situation) -> Mapping[int, str]:
    """Return the parameter of each argument's array that was not given away, by its number."""
    function = situation.function
    kept: dict[int, str] = {}
    number = 0
    for index, (param, arg) in enumerate(zip(function.params, situation.args, strict=False)):
        for _ in leaves(arg):
            if index not in function.donated:
                kept[number] = f"%{param.name}"
            number += 1
    return kept


def _wrong(kept: Mapping[int, str], found: Ownership) -> Iterator[str]:
    for number, name in kept.items():
        if number in found.written:
            yield f"{name} was written to"
        for result, argument in sorted(found.shared):
            if argument == number:
                yield f"result {result} lies in the memory of {name}"


def _overwritten(found: Ownership) -> Iterator[str]:
    for result in sorted(found.overwritten or ()):
        yield f"result {result} of the run before was written to"
