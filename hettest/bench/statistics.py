"""Says of two series of seconds, measured in pairs, which side is faster, and how sure that is.

Round by round a program was timed CPU-only and placed; what disturbs the machine disturbs both, so
that the ratio within a round says more than either time. From the ratios::

    found = assess(cpu_only, placed)
    found.ratio, found.low, found.high       # 1.31, from 1.27 to 1.36
    found.verdict                            # slower

1. *warm-up* (`warm_up`): rounds at the start that lie far outside what the second half is like are
   left out, at most half of all;
2. *interval* (`interval`): the mean of the ratios' logarithms without the fifth at each end, with
   its percentile bootstrap interval by scipy (the pair that Wilcox recommends for data with heavy
   tails), over blocks of rounds where neighbouring rounds are alike;
3. *verdict* (`verdict`): slower or faster if the whole interval lies outside the band that counts
   as equal, same if all of it lies inside, else ambiguous. A ratio that does not settle, or whose
   change while it is measured (`is_level`) changes the answer, and fewer than `FEWEST` rounds are
   ambiguous too.

By the confidence of 99.5%, a program that is as fast as before is called faster or slower in at
most 0.5% of all measurements, even with a band of nothing; `confirmed` squares that. All functions
are pure: arrays in, values out, the same for the same seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias, final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

CONFIDENCE: Final = 0.995
"""Of the interval: both tails together are the rate of false alarms that is designed for."""

BAND: Final = 0.05
"""Ratios from 1/1.05 to 1.05 count as equal."""

FEWEST: Final = 10
"""Rounds that are needed; of fewer, no interval holds what it promises."""

TRIMMED: Final = 0.2
"""The part of the ratios that is left out at each end."""

RESAMPLES: Final = 1_999

_RUN: Final = 3
"""Rounds one after the other that must be like the second half for a warm-up to be over."""

_REACH: Final = 3.0
"""Ranges between the quartiles by which a round may lie outside them."""

_CHANGED: Final = 0.001
"""Chance below which two halves of a series are taken to differ."""


class Verdict(StrEnum):
    """What a measurement says of the placed program beside the CPU-only one."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    """The whole interval lies within the band."""

    AMBIGUOUS = "ambiguous"
    """The interval reaches over an edge of the band, or the measurement is no good."""


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """A ratio of seconds, placed by CPU-only, and how well it is known."""

    ratio: float
    low: float
    high: float
    block: int = 1
    """How many neighbouring rounds were drawn together; above 1 where they are alike."""


@final
@dataclass(frozen=True, slots=True)
class Assessment:
    """What a paired series says."""

    verdict: Verdict
    ratio: float
    """Seconds placed, as a multiple of those CPU-only: above 1 the placed program is slower."""

    low: float
    high: float
    rounds: int
    """Those that count: without the warm-up."""

    warm_up: int
    """Rounds left out at the start."""

    block: int
    confidence: float
    band: float
    reason: str = ""
    """Why it is ambiguous."""


def assess(
    cpu_only: Sequence[float] | Floats,
    placed: Sequence[float] | Floats,
    *,
    confidence: float = CONFIDENCE,
    band: float = BAND,
    seed: int = 0,
) -> Assessment:
    """Return what the seconds of each round say, CPU-only and placed, in the order measured.

    Raises:
        ValueError: The series differ in length, are empty, or hold what is no duration.
    """
    import numpy as np

    logs = _logs(cpu_only), _logs(placed)
    if logs[0].shape != logs[1].shape:
        raise ValueError(f"found {logs[0].size} CPU-only rounds and {logs[1].size} placed ones")
    ratios = logs[1] - logs[0]
    skipped = max(warm_up(series) for series in (*logs, ratios))
    kept = ratios[skipped:]
    found = interval(np.exp(kept), confidence=confidence, seed=seed)
    reason = _spoiled(ratios, kept, band)
    word = Verdict.AMBIGUOUS if reason else verdict(found, band)
    if word is Verdict.AMBIGUOUS and not reason:
        reason = f"the interval reaches over an edge of the {band:.0%} band"
    return Assessment(
        verdict=word,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        rounds=kept.size,
        warm_up=skipped,
        block=found.block,
        confidence=confidence,
        band=band,
        reason=reason,
    )


def _logs(seconds: Sequence[float] | Floats) -> Floats:
    import numpy as np

    values = np.asarray(seconds, np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"found an array {list(values.shape)}, expected one number for each round")
    if not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError("found a duration that is not a positive number of seconds")
    logs: Floats = np.log(values)
    return logs


def _spoiled(ratios: Floats, kept: Floats, band: float) -> str:
    """Return why nothing can be said of these logarithms of ratios, whatever their interval."""
    if kept.size < FEWEST:
        return f"{kept.size} rounds, at least {FEWEST} are needed"
    if warm_up(ratios) == ratios.size // 2:
        return "the ratio had not settled half way"
    if not is_level(kept, band) and not _agree(kept, band):
        return "the ratio changed while it was measured"
    return ""


def _agree(ratios: Floats, band: float) -> bool:
    """Whether both halves lie beyond the same edge of the band, or within it."""
    import numpy as np

    edge = math.log1p(band)
    middles = [float(np.median(half)) for half in np.array_split(ratios, 2)]
    return len({(middle > edge) - (middle < -edge) for middle in middles}) == 1


def warm_up(values: Sequence[float] | Floats) -> int:
    """Return how many values at the start are unlike the rest: 0 to half of all.

    Like the rest is what lies within three ranges between the quartiles of the second half around
    them; the warm-up is over where three values in a row do.
    """
    import numpy as np

    series = np.asarray(values, np.float64)
    half = series.size // 2
    if half < _RUN:
        return 0
    first, third = np.quantile(series[half:], (0.25, 0.75))
    reach = _REACH * (third - first)
    alike = (series >= first - reach) & (series <= third + reach)
    for start in range(half):
        if alike[start : start + _RUN].all():
            return start
    return half


def is_level(values: Sequence[float] | Floats, band: float = BAND) -> bool:
    """Whether a series of logarithms of ratios stays what it is.

    It does not if the medians of its halves are further apart than the band is wide, the middle
    half of the one lies beyond that of the other, and a rank test finds that by chance in less than
    one of a thousand.
    """
    import numpy as np
    from scipy.stats import mannwhitneyu

    series = np.asarray(values, np.float64)
    before, after = np.array_split(series, 2)
    if before.size < _RUN or abs(np.median(before) - np.median(after)) <= 2 * math.log1p(band):
        return True
    (first, third), (other_first, other_third) = (
        np.quantile(half, (0.25, 0.75)) for half in (before, after)
    )
    if first <= other_third and other_first <= third:
        return True
    return bool(mannwhitneyu(before, after).pvalue >= _CHANGED)


def interval(
    ratios: Sequence[float] | Floats, *, confidence: float = CONFIDENCE, seed: int = 0
) -> Interval:
    """Return the trimmed mean of ratios with the confidence interval of the percentile bootstrap.

    Where neighbours are alike, blocks of them are drawn (`block_length`), since single draws would
    take them for more than they say.

    Raises:
        ValueError: There is none, or one is not positive.
    """
    import numpy as np
    from scipy.stats import bootstrap, trim_mean

    logs = _logs(ratios)
    ratio = float(np.exp(trim_mean(logs, TRIMMED)))
    block = block_length(logs)
    count = logs.size // block
    if count < 2:
        return Interval(ratio, 0.0, math.inf, block)
    rows = logs[-count * block :].reshape(count, block)

    def middle(drawn: Floats, axis: int = -1) -> Floats:
        del axis  # the last, of numbers of blocks
        values = rows[drawn.astype(np.intp)]
        return np.asarray(trim_mean(values.reshape(*values.shape[:-2], -1), TRIMMED, axis=-1))

    found = bootstrap(
        (np.arange(count),),
        middle,
        vectorized=True,
        method="percentile",
        n_resamples=RESAMPLES,
        confidence_level=confidence,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(ratio, float(np.exp(found.low)), float(np.exp(found.high)), block)


def block_length(values: Sequence[float] | Floats) -> int:
    """Return how many neighbours to draw together: 1 where they do not resemble one another.

    By Carlstein's rule for a series in which each value resembles the one before by ``rho``,
    ``(sqrt(6) rho / (1 - rho**2)) ** (2/3) * n ** (1/3)``; at least `FEWEST` blocks are left.
    """
    import numpy as np
    from scipy.stats import rankdata

    ranks = rankdata(np.asarray(values, np.float64))
    most = ranks.size // FEWEST
    if most < 2 or np.ptp(ranks) == 0:
        return 1
    apart = ranks - ranks.mean()
    rho = float(apart[1:] @ apart[:-1] / (apart @ apart))
    if rho <= 2 / math.sqrt(ranks.size):
        return 1
    length = (math.sqrt(6) * rho / (1 - rho**2)) ** (2 / 3) * ranks.size ** (1 / 3)
    return int(min(max(math.ceil(length), 1), most))


def verdict(found: Interval, band: float = BAND) -> Verdict:
    """Return what an interval says, if ratios from ``1 / (1 + band)`` to ``1 + band`` are equal."""
    edge = 1 + band
    if found.low > edge:
        return Verdict.SLOWER
    if found.high < 1 / edge:
        return Verdict.FASTER
    if found.low >= 1 / edge and found.high <= edge:
        return Verdict.SAME
    return Verdict.AMBIGUOUS


def confirmed(first: Verdict, second: Verdict) -> Verdict:
    """Return the verdict of two measurements made one after the other: theirs if they agree.

    A gate measures again before it fails, so that its false alarms are the square of one's.
    """
    return first if first is second else Verdict.AMBIGUOUS
