"""Where a series changed for good.

PELT (Killick et al., by the library ruptures) finds the stretches of runs that differ least from
their own medians; a new stretch has to save more than `PENALTY` times the logarithm of the number
of runs, in units of the noise from one run to the next. By absolute differences, so that a single
bad run is no change, and of logarithms, so that what counts is the ratio::

    value   1.0  1.02  0.99  1.0  1.31  1.3  1.29  1.31
                                  ^ changed by 1.3 times

Simulated with noise of four kinds (normal, heavy tails, each run like the one before, one run in
ten far too slow), a step of 30% in the middle of 8 to 40 runs is found in at least eight of ten
series; one without a step has a change in at most one of ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, final

from hettest.bench.statistics import BAND

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST: Final = 8
"""Runs that are needed."""

SHORTEST: Final = 3
"""Runs of a stretch that are like it: what lasts for fewer is not told from bad luck."""

PENALTY: Final = 4.0
_LEAST_NOISE: Final = 0.002
"""Of logarithms, from run to run; of series that hardly have any, all else would be a change."""

_NORMAL: Final = 0.6745
"""Median of the absolute values of a normal variable, by its deviation."""


@final
@dataclass(frozen=True, slots=True)
class ChangePoint:
    """One change."""

    index: int
    """The first run after it, from 0."""

    before: float
    """The median of the runs since the change before."""

    after: float

    @property
    def ratio(self) -> float:
        return self.after / self.before


def change_points(values: Sequence[float], band: float = BAND) -> tuple[ChangePoint, ...]:
    """Return where positive values changed by more than the band; nothing if they are too few."""
    if len(values) < FEWEST:
        return ()
    import numpy as np

    logs: NDArray[np.float64] = np.log(np.asarray(values, np.float64))
    ends = _lasting(logs, [0, *_ends(logs)])
    middles = [float(np.exp(np.median(logs[start:end]))) for start, end in pairwise(ends)]
    found = (
        ChangePoint(ends[i + 1], before, after)
        for i, (before, after) in enumerate(pairwise(middles))
    )
    return tuple(p for p in found if abs(math.log(p.ratio)) > math.log1p(band))


def _ends(logs: NDArray[np.float64]) -> list[int]:
    """Return where each stretch ends."""
    import numpy as np
    from ruptures import Pelt

    steps = np.abs(np.diff(logs))
    noise = max(float(np.median(steps)) / (_NORMAL * math.sqrt(2)), _LEAST_NOISE)
    search = Pelt(model="l1", min_size=SHORTEST, jump=1).fit((logs / noise).reshape(-1, 1))
    return list(search.predict(pen=PENALTY * math.log(logs.size)))


def _lasting(logs: NDArray[np.float64], ends: Sequence[int]) -> list[int]:
    """Return the ends of those stretches that last, others being part of the one most like them."""
    import numpy as np

    found = list(ends)
    while len(found) > 2:
        parts = [logs[start:end] for start, end in pairwise(found)]
        middles = [float(np.median(part)) for part in parts]
        brief = [i for i, part in enumerate(parts) if _own(part, middles, i) < SHORTEST]
        if not brief:
            break
        index = brief[0]
        sides = [i for i in (index - 1, index + 1) if 0 <= i < len(parts)]
        nearest = min(sides, key=lambda side: abs(middles[side] - middles[index]))
        del found[max(index, nearest)]
    return found


def _own(part: NDArray[np.float64], middles: Sequence[float], index: int) -> int:
    """Return how many runs of a stretch are nearer to its median than to those beside it."""
    import numpy as np

    beside = np.array([middles[i] for i in (index - 1, index + 1) if 0 <= i < len(middles)])
    to_own, to_others = np.abs(part - middles[index]), np.abs(part[:, None] - beside)
    return int(np.count_nonzero(to_own < to_others.min(axis=1)))
