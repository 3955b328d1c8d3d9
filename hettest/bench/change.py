"""Says whether something takes longer now than it took then, from two runs at different times.

Unlike the two sides of `statistics.assess`, rounds of different runs are no pairs::

    found = of_rounds(ratios_then, ratios_now)
    found.ratio, found.low, found.high       # 1.12 times what it was, from 1.09 to 1.15
    found.verdict                            # slower

* `of_rounds` knows one run of each: the interval is that of the rounds within the runs. What a
  whole run has of its own (where memory lay, what else ran) is in no interval, so that a band, and
  a second run before anybody is blamed, have to answer for it.
* `of_turns` knows several runs of each, made in turn: the interval is Student's, of the runs'
  differences turn by turn, and takes in what each run has of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from hettest.bench.statistics import (
    BAND,
    CONFIDENCE,
    FEWEST,
    RESAMPLES,
    TRIMMED,
    Interval,
    Verdict,
    block_length,
    is_level,
    verdict,
    warm_up,
)

if TYPE_CHECKING:
    from hettest.bench.statistics import Floats

MOST: Final = 200
"""Values that are drawn from; of more rounds, the medians of that many stretches."""

FEWEST_TURNS: Final = 3
"""Turns that are needed; of two, Student's interval says next to nothing."""


@final
@dataclass(frozen=True, slots=True)
class Change:
    """What two runs say of one benchmark; ``slower`` is slower now than then."""

    verdict: Verdict
    ratio: float
    """What it is now, as a multiple of what it was then."""

    low: float
    high: float
    band: float
    """Ratios from ``1 / (1 + band)`` to ``1 + band`` count as the same."""

    confidence: float = CONFIDENCE
    reason: str = ""
    """Why it is ambiguous."""

    @property
    def is_decided(self) -> bool:
        return self.verdict is not Verdict.AMBIGUOUS

    def __str__(self) -> str:
        return f"{self.ratio:.3g} times, {self.low:.3g} to {self.high:.3g}"


def of_rounds(
    then: Sequence[float],
    now: Sequence[float],
    *,
    band: float = BAND,
    seed: int = 0,
    what: str = "the time",
) -> Change:
    """Return how what was measured in each round of one run compares with another run's.

    ``what`` it is that was measured is for the reason why nothing can be said.

    Raises:
        ValueError: There is no round, or one is not positive.
    """
    import numpy as np
    from scipy.stats import bootstrap, trim_mean

    sides = [np.log(_thinned(series)) for series in (then, now)]
    kept = [logs[warm_up(logs) :] for logs in sides]
    ratio = float(np.exp(trim_mean(kept[1], TRIMMED) - trim_mean(kept[0], TRIMMED)))
    wrong = [_spoiled(logs, rest, band, what) for logs, rest in zip(sides, kept, strict=True)]
    blocks = [_blocks(logs) for logs in kept]
    if any(len(rows) < 2 for rows in blocks):
        return judged(Interval(ratio, 0.0, math.inf), band, _told(wrong))

    def difference(first: Floats, second: Floats, axis: int = -1) -> Floats:
        del axis  # the last, of numbers of blocks
        return _middle(blocks[1], second) - _middle(blocks[0], first)

    found = bootstrap(
        tuple(np.arange(len(rows)) for rows in blocks),
        difference,
        vectorized=True,
        method="percentile",
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    interval = Interval(ratio, float(np.exp(found.low)), float(np.exp(found.high)))
    return judged(interval, band, _told(wrong))


def of_turns(then: Sequence[float], now: Sequence[float], *, band: float = BAND) -> Change:
    """Return how several runs compare with those made in turn with them; one value for each.

    Raises:
        ValueError: There are not as many of each, fewer than two, or one is not positive.
    """
    if len(then) != len(now) or len(now) < 2:
        raise ValueError(f"found {len(then)} runs and {len(now)}, expected as many, and two")
    import numpy as np
    from scipy.stats import t

    apart = np.log(_positive(now)) - np.log(_positive(then))
    middle, count = float(apart.mean()), apart.size
    reach = float(t.ppf((1 + CONFIDENCE) / 2, count - 1) * apart.std(ddof=1) / math.sqrt(count))
    low, high = math.exp(middle - reach), math.exp(middle + reach)
    return judged(Interval(math.exp(middle), low, high), band, _few(count))


def of_values(then: float, now: float, *, band: float = BAND) -> Change:
    """Return how two single values compare: ambiguously, since nothing says how sure they are."""
    reason = "no rounds are kept, so that there is no interval"
    return judged(Interval(now / then, 0.0, math.inf), band, reason)


def representative(series: Sequence[float]) -> float:
    """Return what one run says of a benchmark: the trimmed mean of the logarithms, its exponential.

    Raises:
        ValueError: There is no round, or one is not positive.
    """
    import numpy as np
    from scipy.stats import trim_mean

    logs = np.log(_thinned(series))
    return float(np.exp(trim_mean(logs[warm_up(logs) :], TRIMMED)))


def judged(found: Interval, band: float, reason: str) -> Change:
    """Return what an interval says, or that it says nothing, for a reason."""
    word = Verdict.AMBIGUOUS if reason else verdict(found, band)
    if word is Verdict.AMBIGUOUS and not reason:
        reason = f"the interval reaches over an edge of the {band:.0%} band"
    return Change(word, found.ratio, found.low, found.high, band, reason=reason)


def _few(turns: int) -> str:
    return "" if turns >= FEWEST_TURNS else f"{turns} turns, at least {FEWEST_TURNS} are needed"


def _spoiled(logs: Floats, kept: Floats, band: float, what: str) -> str:
    """Return why a run is no good for comparing; ``kept`` is it without its warm-up."""
    if kept.size < FEWEST:
        return f"{kept.size} rounds, at least {FEWEST} are needed"
    if warm_up(logs) == logs.size // 2:
        return f"{what} had not settled half way"
    return "" if is_level(kept, band) else f"{what} changed while it was measured"


def _told(wrong: Sequence[str]) -> str:
    """Return why nothing can be said, of then and of now."""
    sides = zip(("then", "now"), wrong, strict=True)
    return "; ".join(f"{side}: {reason}" for side, reason in sides if reason)


def _positive(series: Sequence[float]) -> Floats:
    import numpy as np

    values = np.asarray(series, np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"found an array {list(values.shape)}, expected one number for each round")
    if not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError("found a value that is not a positive number")
    return values


def _thinned(series: Sequence[float]) -> Floats:
    """Return the values, or the medians of `MOST` stretches of them."""
    import numpy as np

    values = _positive(series)
    if values.size <= MOST:
        return values
    return np.array([np.median(part) for part in np.array_split(values, MOST)])


def _blocks(logs: Floats) -> Floats:
    """Return the values as rows that are drawn together, since neighbours resemble one another."""
    block = block_length(logs)
    count = logs.size // block
    return logs[-count * block :].reshape(count, block)


def _middle(rows: Floats, drawn: Floats) -> Floats:
    import numpy as np
    from scipy.stats import trim_mean

    values = rows[drawn.astype(np.intp)]
    return np.asarray(trim_mean(values.reshape(*values.shape[:-2], -1), TRIMMED, axis=-1))
