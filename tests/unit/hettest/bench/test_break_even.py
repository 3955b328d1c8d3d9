"""From which size on the placed program is faster, and what cannot be said."""

from __future__ import annotations

import pytest

from hettest.bench.break_even import BreakEven, Reach, break_even
from hettest.bench.statistics import Assessment, Verdict

SIZES = (64, 256, 1024, 4096)
LETTERS = {"f": Verdict.FASTER, "s": Verdict.SLOWER, "=": Verdict.SAME, "?": Verdict.AMBIGUOUS}


def found(verdicts: str, *ratios: float) -> list[Assessment]:
    return [
        Assessment(LETTERS[v], ratio, ratio, ratio, 40, 0, 1, 0.995, 0.05)
        for v, ratio in zip(verdicts, ratios, strict=True)
    ]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ("ffff", BreakEven(Reach.ALWAYS, upto=64)),
        ("ssss", BreakEven(Reach.NEVER, above=4096)),
        ("fff=", BreakEven(Reach.NEVER, above=4096)),
        ("sff?", BreakEven(Reach.AMBIGUOUS)),
        ("??ff", BreakEven(Reach.FROM, None, None, 1024)),
        ("s?ff", BreakEven(Reach.FROM, 512.0, 64, 1024)),
        ("fsff", BreakEven(Reach.FROM, 512.0, 256, 1024)),
    ],
)
def test_the_verdicts_decide_how_far_it_reaches(verdicts: str, expected: BreakEven) -> None:
    answer = break_even(SIZES, found(verdicts, 4.0, 2.0, 0.5, 0.25))

    assert (answer.reach, answer.above, answer.upto) == (
        expected.reach,
        expected.above,
        expected.upto,
    )
    assert answer.at == (None if expected.at is None else pytest.approx(expected.at))


def test_the_crossing_lies_between_the_sizes_around_it() -> None:
    answer = break_even(SIZES, found("ssff", 4.0, 2.0, 0.9, 0.25))

    assert answer.at is not None
    assert 256 < answer.at < 1024


def test_without_a_crossing_no_size_is_made_up() -> None:
    answer = break_even(SIZES, found("=fff", 0.98, 0.8, 0.5, 0.25))

    assert (answer.at, answer.above, answer.upto) == (None, 64, 256)
    assert str(answer) == "faster from size 256 on (surely from 256, not at 64)"


@pytest.mark.parametrize(
    ("sizes", "count"), [((), 0), ((2, 1), 2), ((1, 1), 2), ((0, 1), 2), ((1, 2), 1)]
)
def test_what_is_no_sweep_is_refused(sizes: tuple[int, ...], count: int) -> None:
    with pytest.raises(ValueError, match="found"):
        break_even(sizes, found("f" * count, *[0.5] * count))
