"""Compares two stored runs, benchmark by benchmark.

::

    found = compare(read(Path("then.json")), read(Path("now.json")))
    for row in found.rows:
        row.then, row.now                # verdicts: the placed program beside the CPU-only one
        row.change                       # what became of it: slower, by 1.12, 1.09 to 1.15
    found.missing, found.new             # names

A paired benchmark is compared by its ratio to the CPU-only side of the same run, so that a slower
machine is no regression. What that cannot tell from one run of each is noted: whether it is the
CPU-only side that changed, or both did. Runs made in turn (`compare_turns`) share the machine, so
that the placed time itself counts; only where it is undecided, a ratio that grew or stayed does.

A benchmark of pytest-benchmark's own has nothing beside it: it is compared within one machine only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

from hettest.bench.change import Change, of_rounds, of_turns, of_values, representative
from hettest.bench.measurement import Timings
from hettest.bench.statistics import BAND, Verdict
from hettest.bench.stored import Entry, StoredRun
from hettest.patterns import fits

Bands: TypeAlias = Callable[[str], float]
"""Says for a benchmark, by its name, which part slower or faster counts as the same."""

_OPPOSITE: Final = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER}


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark that is in both runs."""

    name: str
    unit: str = "seconds"
    then: Verdict | None = None
    """Of the placed program beside the CPU-only one; ``None`` if it was not paired or timed."""

    now: Verdict | None = None
    ratio_then: float | None = None
    """Seconds placed, as a multiple of those CPU-only."""

    ratio_now: float | None = None
    change: Change | None = None
    """What the benchmark is judged by; ``None`` if it cannot be compared."""

    placed: Change | None = None
    """Of the seconds of the placed program, or of all that there is, as they are."""

    cpu_only: Change | None = None
    note: str = ""
    """Why it cannot be compared, or what to know beside the verdict."""

    @property
    def verdict(self) -> Verdict | None:
        return None if self.change is None else self.change.verdict


@final
@dataclass(frozen=True)
class Comparison:
    """Two runs, or two sides of several turns."""

    rows: tuple[Row, ...]
    missing: tuple[str, ...]
    """Benchmarks that were there then."""

    new: tuple[str, ...]

    def of(self, verdict: Verdict | None) -> tuple[Row, ...]:
        """Return the rows with this verdict; with ``None``, those that cannot be compared."""
        return tuple(row for row in self.rows if row.verdict is verdict)

    def without_missing(self, patterns: Collection[str]) -> Comparison:
        """Return it without the missing benchmarks that fit one of the patterns."""
        left = (n for n in self.missing if not any(fits(n, pattern) for pattern in patterns))
        return replace(self, missing=tuple(left))

    @property
    def is_decided(self) -> bool:
        """Whether anything is known to be slower, faster or the same."""
        return any(row.change is not None and row.change.is_decided for row in self.rows)


def compare(
    then: StoredRun,
    now: StoredRun,
    *,
    bands: Bands = lambda name: BAND,
    across_machines: bool = False,
    seed: int = 0,
) -> Comparison:
    """Return how one run compares with another.

    Args:
        then: The former run.
        now: The later one.
        bands: Which part counts as the same, for each benchmark.
        across_machines: Compare seconds of different machines too.
        seed: Of the bootstrap.
    """
    same = not (then.machine and now.machine) or then.machine == now.machine
    elsewhere = "" if same else f"measured on {then.machine} then, on {now.machine} now"
    rows = []
    for entry in now.entries:
        before = then.by_name.get(entry.name)
        if before is not None:
            stranger = "" if across_machines else elsewhere
            rows.append(_Rounds(bands(entry.name), seed, stranger).row(before, entry))
    return _with_names(rows, [then], [now])


def compare_turns(
    turns: Sequence[tuple[StoredRun, StoredRun]], *, bands: Bands = lambda name: BAND
) -> Comparison:
    """Return how several runs compare with those that were made in turn with them."""
    befores, afters = [then for then, _ in turns], [now for _, now in turns]
    names = dict.fromkeys(entry.name for run in afters for entry in run.entries)
    rows = []
    for name in names:
        pairs = [(t.by_name[name], n.by_name[name]) for t, n in turns if _in_both(name, t, n)]
        if len(pairs) == len(turns):
            rows.append(_row_of_turns(pairs, bands(name)))
        elif any(name in run.by_name for run in befores):
            rows.append(Row(name, note=f"measured in {len(pairs)} of {len(turns)} turns"))
    return _with_names(rows, befores, afters)


def _in_both(name: str, then: StoredRun, now: StoredRun) -> bool:
    return name in then.by_name and name in now.by_name


def _with_names(
    rows: Sequence[Row], then: Sequence[StoredRun], now: Sequence[StoredRun]
) -> Comparison:
    before, after = (
        list(dict.fromkeys(entry.name for run in runs for entry in run.entries))
        for runs in (then, now)
    )
    missing = tuple(name for name in before if name not in after)
    return Comparison(tuple(rows), missing, tuple(name for name in after if name not in before))


@final
@dataclass(frozen=True, slots=True)
class _Rounds:
    """Compares the rounds of two runs."""

    band: float
    seed: int
    elsewhere: str
    """That the runs are of different machines; empty if they are not known to be."""

    def row(self, then: Entry, now: Entry) -> Row:
        if (why := _incomparable(then, now)) or then.paired is None or now.paired is None:
            return Row(now.name, now.unit, note=why) if why else self._plain(then, now)
        before, after = then.paired.timings, now.paired.timings
        assert before is not None
        assert after is not None
        change = self._of(_ratios(before), _ratios(after), "the ratio")
        placed = self._of(before.placed, after.placed)
        cpu_only = self._of(before.cpu_only, after.cpu_only)
        return replace(
            _paired_row(now.name, before, after),
            change=change,
            placed=placed,
            cpu_only=cpu_only,
            note="" if self.elsewhere else _doubts(placed, cpu_only, change),
        )

    def _plain(self, then: Entry, now: Entry) -> Row:
        if self.elsewhere:
            return Row(now.name, now.unit, note=f"{self.elsewhere}, and not paired")
        if now.seconds and then.seconds:
            change = self._of(then.seconds, now.seconds)
        else:
            change = of_values(then.median, now.median, band=self.band)
        if now.bigger_is_better:
            change = replace(change, verdict=_OPPOSITE.get(change.verdict, change.verdict))
        return Row(now.name, now.unit, change=change, placed=change)

    def _of(self, then: Sequence[float], now: Sequence[float], what: str = "the time") -> Change:
        return of_rounds(then, now, band=self.band, seed=self.seed, what=what)


def _incomparable(then: Entry, now: Entry) -> str:
    """Return why two measurements cannot be compared; empty if they can."""
    for word, entry in (("then", then), ("now", now)):
        if entry.paired is not None and entry.paired.timings is None:
            return f"not timed {word}: {entry.paired.not_timed}"
        least = min((entry.median, *entry.seconds))
        if entry.paired is None and least <= 0:
            return f"took {least:g} {entry.unit} {word}, which has no ratio"
    if (then.paired is None) is not (now.paired is None):
        word = "then" if then.paired is not None else "now"
        return f"timed beside the CPU only {word}, expected in both runs"
    if (then.unit, then.bigger_is_better) != (now.unit, now.bigger_is_better):
        return f"was measured in {then.unit} then, in {now.unit} now"
    return ""


def _paired_row(name: str, then: Timings, now: Timings) -> Row:
    return Row(
        name,
        then=then.assessment.verdict,
        now=now.assessment.verdict,
        ratio_then=then.assessment.ratio,
        ratio_now=now.assessment.ratio,
    )


def _doubts(placed: Change, cpu_only: Change, change: Change) -> str:
    """Return why another look may say something else; empty if the times agree with the ratio."""
    opposite = _OPPOSITE.get(change.verdict)
    if opposite is not None and placed.verdict in (Verdict.SAME, opposite):
        itself = f"the placed time itself {placed.ratio:.3g}"
        return f"the CPU-only side is {cpu_only.ratio:.3g} times what it was, {itself}"
    if cpu_only.verdict is Verdict.SLOWER and placed.verdict is Verdict.SLOWER:
        return f"both sides take longer, CPU-only {cpu_only.ratio:.3g} times: machine or code"
    return ""


def _row_of_turns(pairs: Sequence[tuple[Entry, Entry]], band: float) -> Row:
    """Return the row of a benchmark, each turn's pair of runs one value."""
    name, unit = pairs[0][1].name, pairs[0][1].unit
    for then, now in pairs:
        if why := _incomparable(then, now):
            return Row(name, unit, note=why)
    placed = of_turns(*_sides(pairs, lambda entry: representative(_seconds(entry))), band=band)
    timed = [(then.paired, now.paired) for then, now in pairs]
    if any(then is None or now is None for then, now in timed):
        return Row(name, unit, change=placed, placed=placed)
    cpu_only = of_turns(*_sides(pairs, lambda e: representative(_timings(e).cpu_only)), band=band)
    ratio = of_turns(*_sides(pairs, lambda e: representative(_ratios(_timings(e)))), band=band)
    row = _paired_row(name, *map(_timings, pairs[-1]))
    row = replace(row, change=placed, placed=placed, cpu_only=cpu_only)
    if placed.is_decided or ratio.verdict not in (Verdict.SLOWER, Verdict.SAME):
        return row  # a smaller ratio may be that of a slower CPU-only side
    return replace(row, change=ratio, note="by the ratio to the CPU-only side")


def _sides(
    pairs: Sequence[tuple[Entry, Entry]], value: Callable[[Entry], float]
) -> tuple[list[float], list[float]]:
    return [value(then) for then, _ in pairs], [value(now) for _, now in pairs]


def _seconds(entry: Entry) -> Sequence[float]:
    if entry.paired is not None:
        return _timings(entry).placed
    return entry.seconds or (entry.median,)


def _timings(entry: Entry) -> Timings:
    assert entry.paired is not None
    assert entry.paired.timings is not None
    return entry.paired.timings


def _ratios(timings: Timings) -> list[float]:
    return [p / c for p, c in zip(timings.placed, timings.cpu_only, strict=True)]
