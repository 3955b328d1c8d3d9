"""Pairs of series of seconds in which both sides do the same work: simulated ones, and recorded.

Simulated, each by its own seed, with what disturbs timings on real machines; recorded, on a machine
with two cores that others kept busy, by ``python -m benchmarks.timing_series``. A slower side is
made by multiplying its seconds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

Pair: TypeAlias = tuple[Floats, Floats]
"""Seconds of each round, CPU-only and placed."""

Noise: TypeAlias = Callable[[np.random.Generator, int], Floats]
"""Logarithms of the disturbance, one row for each side."""

DATA: Final = Path(__file__).parent / "data"

ROUNDS: Final = 200
"""What `het_benchmark` runs of programs of up to 2.5 milliseconds."""

RECORDED_ROUNDS: Final = 20_000

TICK: Final = 1e-7
"""Seconds; what recordings are rounded to."""


def lognormal(generator: np.random.Generator, rounds: int) -> Floats:
    """Each run by itself, with a spread of a tenth."""
    return generator.normal(0, 0.1, (2, rounds))


def drift(generator: np.random.Generator, rounds: int) -> Floats:
    """The machine gets faster and slower, by 5% from round to round, as by its temperature."""
    return np.cumsum(generator.normal(0, 0.05, rounds)) + generator.normal(0, 0.05, (2, rounds))


def own_drift(generator: np.random.Generator, rounds: int) -> Floats:
    """Each side drifts by itself: a run resembles the one before of its own side."""
    noise: Floats = generator.normal(0, 0.06, (2, rounds))
    noise[:, 0] /= 0.8  # as far from the middle as all the others
    for i in range(1, rounds):
        noise[:, i] += 0.6 * noise[:, i - 1]
    return noise


def bursts(generator: np.random.Generator, rounds: int) -> Floats:
    """About a fifth of the runs take 1.5 to 4 times as long, up to six in a row."""
    noise: Floats = generator.normal(0, 0.05, 2 * rounds)
    at = int(generator.geometric(1 / 14))
    while at < noise.size:
        end = at + int(generator.integers(1, 7))
        noise[at:end] += np.log(generator.uniform(1.5, 4))
        at = end + int(generator.geometric(1 / 14))
    return noise.reshape(rounds, 2).T


def bimodal(generator: np.random.Generator, rounds: int) -> Floats:
    """One run in five takes half as long again, as on a core whose neighbour is at work."""
    slow = generator.random((2, rounds)) < 0.2
    noise: Floats = generator.normal(0, 0.03, (2, rounds)) + np.log(1.5) * slow
    return noise


def warming_up(generator: np.random.Generator, rounds: int) -> Floats:
    """The first runs are slower, those of the placed side up to four times."""
    start = np.exp(-np.arange(rounds) / 3) * np.array([[0.3], [1.5]])
    noise: Floats = generator.normal(0, 0.05, (2, rounds)) + start
    return noise


MODELS: Final[Mapping[str, Noise]] = MappingProxyType(
    {f.__name__: f for f in (lognormal, drift, own_drift, bursts, bimodal, warming_up)}
)


def simulated(model: str, seed: int, rounds: int = ROUNDS) -> Pair:
    """Return one pair of series of about a millisecond."""
    seconds = np.exp(MODELS[model](np.random.default_rng(seed), rounds)) * 1e-3
    return seconds[0], seconds[1]


def recorded(path: Path, rounds: int = ROUNDS) -> Iterator[Pair]:
    """Yield a recording, cut into pairs of series one after the other."""
    sides = json.loads(path.read_text(encoding="utf-8"))["ticks"]
    one, other = (np.asarray(sides[name], np.float64) * TICK for name in ("one", "other"))
    for start in range(0, one.size - rounds + 1, rounds):
        yield one[start : start + rounds], other[start : start + rounds]


def record(size: int) -> dict[str, object]:
    """Return a recording of a program on ``cpu,sim`` against itself, matrices ``size`` wide."""
    from benchmarks.live_pairs import alternation
    from hettest.bench.rounds import timed_rounds

    turns = alternation(size, 1.0)
    timed_rounds(turns, 10)
    one, other = timed_rounds(turns, RECORDED_ROUNDS)
    sides = {"one": one, "other": other}
    return {
        "about": f"one program on cpu,sim against itself, matrices of {size} by {size}",
        "ticks": {name: [round(s / TICK) for s in series] for name, series in sides.items()},
    }


def main() -> None:
    """Write the recordings again."""
    DATA.mkdir(exist_ok=True)
    for size in map(int, sys.argv[1:] or ("8", "96")):
        path = DATA / f"pairs_of_{size}.json"
        path.write_text(json.dumps(record(size), separators=(",", ":")) + "\n", encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
