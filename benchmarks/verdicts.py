"""How often `het_benchmark` is wrong, on series of seconds of which the truth is known.

Run it: ``python -m benchmarks.verdicts``. Two sides do the same work: each verdict faster or slower
is a false alarm. Then one side takes 1.3 times as long: each verdict but slower is a miss. The
series are simulated under six kinds of noise (`timing_series`), and recorded ones cut into pieces.
The exit code is 1 if there are more than 2 false alarms in 100 of a kind, or a miss in 20. What is
printed of this machine, measured now, decides nothing.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from benchmarks.figures import figure
from benchmarks.live_pairs import alternation
from benchmarks.timing_series import DATA, MODELS, ROUNDS, Pair, recorded, simulated
from hettest.bench.rounds import timed_rounds, warmed_up
from hettest.bench.statistics import Assessment, Verdict, assess, confirmed

SAME: Final = 100
SLOWED: Final = 20
SLOWER: Final = 1.3
ALARMS: Final = 2
LIVE: Final = ((8, 10, 5), (96, 10, 5))
"""Size, series of equal sides, series of unequal ones."""


def alarms(verdicts: Iterable[Verdict]) -> int:
    """Return how many verdicts on equal sides call one of them faster or slower."""
    return sum(verdict in (Verdict.FASTER, Verdict.SLOWER) for verdict in verdicts)


def of(pairs: Iterable[Pair], slower: float = 1.0) -> list[Verdict]:
    """Return the verdict on each pair, the placed side made ``slower`` times as long."""
    found = enumerate(pairs)
    return [assess(one, other * slower, seed=seed).verdict for seed, (one, other) in found]


def kinds() -> Iterator[tuple[str, list[Pair]]]:
    """Yield each kind of series, with as many as are judged."""
    for model in MODELS:
        yield f"simulated, {model}", [simulated(model, seed) for seed in range(SAME)]
    for path in sorted(DATA.glob("*.json")):
        yield f"recorded, {path.stem}", list(islice(recorded(path), SAME))


def judged(kind: str, pairs: list[Pair]) -> bool:
    """Print what is said of one kind of series, and return whether it keeps the promise."""
    same, slowed = of(pairs), of(pairs[:SLOWED], SLOWER)
    wrong, right = alarms(same), slowed.count(Verdict.SLOWER)
    twice = alarms(map(confirmed, same[::2], same[1::2]))
    print(f"{kind}: {_counted(same)} of equal sides, {twice} false alarms confirmed")
    kept = figure(f"{kind}: false alarms in {len(same)}", wrong, most=ALARMS)
    kept &= figure(f"{kind}: slowdowns seen of {len(slowed)}", right, least=SLOWED)
    return kept and len(same) == SAME


def _counted(verdicts: Iterable[Verdict]) -> str:
    return ", ".join(f"{n} {verdict}" for verdict, n in sorted(Counter(verdicts).items()))


def measured(size: int, slower: float, seed: int) -> Assessment:
    """Return what is said of two sides on this machine, now."""
    turns = alternation(size, slower, seed)
    warmed_up(turns, 0.5)
    return assess(*timed_rounds(turns, ROUNDS), seed=seed)


def live() -> None:
    """Print what is said of this machine, now."""
    for size, same, slowed in LIVE:
        for slower, count in ((1.0, same), (SLOWER, slowed)):
            found = [measured(size, slower, seed) for seed in range(count)]
            ratios = [assessment.ratio for assessment in found]
            print(
                f"here, matrices of {size}, {slower:g} times as long: "
                f"{_counted(assessment.verdict for assessment in found)}; "
                f"ratios {min(ratios):.3f} to {max(ratios):.3f}"
            )


def main() -> int:
    kept = [judged(kind, pairs) for kind, pairs in kinds()]
    live()
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
