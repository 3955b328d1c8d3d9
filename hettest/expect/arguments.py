"""Arguments and earlier results stay the caller's: nothing writes to them.

Nor does a result lie in an argument's memory. A donated argument is given away, so neither is asked
of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hettest.expect.situation import Earlier, Situation
from hettest.judge.nesting import leaves
from hettest.outcome import Clause, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause if there is anything that stays the caller's."""
    kept = list(_kept(situation))
    if not kept and situation.earlier is None:
        return
    wrong = [*_wrong(situation, kept), *_changed(situation.earlier)]
    if wrong:
        yield Clause("arguments", Status.FAILED, "\n".join(wrong))
    else:
        yield Clause("arguments", Status.PROVEN, "left as they were, and no result shares memory")


def _kept(situation: Situation) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Yield the parameter's name, what it was before, and the array that was handed over."""
    function = situation.function
    triples = zip(function.params, situation.args, situation.handed, strict=False)
    for index, (param, before, handed) in enumerate(triples):
        if index not in function.donated:
            pairs = zip(leaves(before), leaves(handed), strict=True)
            yield from ((f"%{param.name}", old, new) for old, new in pairs)


def _wrong(
    situation: Situation, kept: list[tuple[str, NDArray[Any], NDArray[Any]]]
) -> Iterator[str]:
    results = [r for r in leaves(situation.observation.results) if isinstance(r, np.ndarray)]
    for name, before, handed in kept:
        if before.tobytes() != handed.tobytes():
            yield f"{name} was written to"
        for number, result in enumerate(results):
            if np.may_share_memory(result, handed):
                yield f"result {number} lies in the memory of {name}"


def _changed(earlier: Earlier | None) -> Iterator[str]:
    """Yield the results of the run before this one that are not what they were."""
    if earlier is None:
        return
    pairs = zip(leaves(earlier.were), leaves(earlier.results), strict=True)
    for number, (before, after) in enumerate(pairs):
        if before.tobytes() != after.tobytes():
            yield f"result {number} of the run before was written to"
