"""From which size on is the placed program faster?

Each size was measured by itself; the answer is no finer than the sizes are. Between the last size
at which the placed program is decidedly not faster and the first from which on it is faster at
each, the ratio's logarithm is taken to be a straight line over the logarithm of the size::

    size     64      256     1024    4096
    ratio    3.1     1.6     0.8     0.5
    verdict  slower  slower  faster  faster      faster from about 567, between 256 and 1024
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import final

from hettest.bench.statistics import Assessment, Verdict


class Reach(StrEnum):
    """Where, among the sizes that were measured, the placed program is faster."""

    FROM = "from"
    """From a size on."""

    ALWAYS = "always"
    NEVER = "never"
    """At the largest size it is slower, or the same."""

    AMBIGUOUS = "ambiguous"
    """At the largest size nothing can be said."""


@final
@dataclass(frozen=True, slots=True)
class BreakEven:
    """The size from which on the placed program is faster."""

    reach: Reach
    at: float | None = None
    """The size at which both take equally long; only if ``from``, and the ratio crosses 1."""

    above: int | None = None
    """The largest size, below those from which on it is faster, at which it is decidedly not;
    ``None`` if there is none."""

    upto: int | None = None
    """The smallest size from which on it is faster at every size measured."""

    def __str__(self) -> str:
        if self.reach is Reach.ALWAYS:
            return f"faster at every size, from {self.upto} on"
        if self.reach is Reach.NEVER:
            return f"not faster, up to size {self.above}"
        if self.reach is Reach.AMBIGUOUS:
            return "ambiguous: nothing can be said at the largest size"
        below = f"not at {self.above}" if self.above is not None else "below it ambiguous"
        about = f"about {self.at:.3g}" if self.at is not None else f"{self.upto}"
        return f"faster from size {about} on (surely from {self.upto}, {below})"


def break_even(sizes: Sequence[int], found: Sequence[Assessment]) -> BreakEven:
    """Return where the placed program gets faster; ``sizes`` ascend, one assessment for each.

    Raises:
        ValueError: There is no size, they do not ascend, or there are not as many assessments.
    """
    if not sizes or list(sizes) != sorted(set(sizes)) or sizes[0] < 1:
        raise ValueError(f"found sizes {list(sizes)}, expected positive ones that ascend")
    if len(sizes) != len(found):
        raise ValueError(f"found {len(found)} assessments of {len(sizes)} sizes")
    verdicts = [assessment.verdict for assessment in found]
    if verdicts[-1] is Verdict.AMBIGUOUS:
        return BreakEven(Reach.AMBIGUOUS)
    if verdicts[-1] is not Verdict.FASTER:
        return BreakEven(Reach.NEVER, above=sizes[-1])
    first = len(sizes)
    while first and verdicts[first - 1] is Verdict.FASTER:
        first -= 1
    if first == 0:
        return BreakEven(Reach.ALWAYS, upto=sizes[0])
    decided = [i for i in range(first) if verdicts[i] in (Verdict.SLOWER, Verdict.SAME)]
    last = decided[-1] if decided else None
    at = None if last is None else _crossing(sizes, found, last, first)
    return BreakEven(Reach.FROM, at, None if last is None else sizes[last], sizes[first])


def _crossing(
    sizes: Sequence[int], found: Sequence[Assessment], last: int, first: int
) -> float | None:
    """Return the size at which the ratio falls through 1 between two of those measured."""
    for i in range(first, last, -1):
        before, after = math.log(found[i - 1].ratio), math.log(found[i].ratio)
        if before >= 0 > after:
            low, high = math.log(sizes[i - 1]), math.log(sizes[i])
            return math.exp(low + (high - low) * before / (before - after))
    return None
