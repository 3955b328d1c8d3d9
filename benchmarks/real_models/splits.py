"""Real models under random splits: do they give what they give on one device?

    python -m benchmarks.real_models.splits            # every model, ten splits each
    python -m benchmarks.real_models.splits silero     # only models whose name contains the word

Each model runs CPU-only and is judged; then each operator is put on ``cpu:0`` or ``sim:0`` by
chance, ten times over. A split whose results are those of the CPU-only run to the bit needs no
further judgement; any other is judged by itself. All are compared with onnxruntime and with what
was recorded. The exit code is 1 if anything disagrees.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import reference_vm as rv
from benchmarks.real_models.examine import DEVICES, TOLERANCE, observe, relative_difference
from benchmarks.real_models.expected import Summary, agrees, expectations, onnxruntime_outputs
from benchmarks.real_models.fetch import Unavailable, fetch
from benchmarks.real_models.inputs import inputs_for
from benchmarks.real_models.lock import ModelFile, models
from benchmarks.real_models.shapes import declared_shapes
from hettest.backend.protocol import Observation
from hettest.judge import Status, judge
from hettest.judge.nesting import leaves
from reference_vm.ir.nodes import Module
from reference_vm.session import Session

Array: TypeAlias = NDArray[Any]

SPLITS: Final = 10


@final
@dataclass
class Row:
    """What came of one model."""

    model: str
    same: int = 0
    """Splits with the results of the CPU-only run, to the bit."""

    judged: int = 0
    """Splits with other results, that were judged by themselves and hold."""

    moved: int = 0
    """Splits that ran work on both devices."""

    difference: float = 0.0
    """The largest difference from onnxruntime, as a part of the result's largest magnitude."""

    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


@final
@dataclass(frozen=True)
class _Subject:
    """A model with its inputs and what it is held to."""

    module: Module
    args: Sequence[Array]
    theirs: Sequence[Array]
    recorded: Sequence[Summary]

    def run(self, **options: Any) -> tuple[Observation, int]:
        """Return what a run let us see, and on how many devices it worked."""
        session = Session(rv.compile(self.module, **options))
        seen = observe(session, self.args)
        devices = {r.device for r in session.trace if r.kind in ("kernel", "library")}
        return seen, len(devices)

    def faults(self, seen: Observation, row: Row) -> list[str]:
        """Return what disagrees with onnxruntime or with what was recorded."""
        found: list[str] = []
        results = list(leaves(seen.results))
        for ours, theirs in zip(results, self.theirs, strict=True):
            if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
                return [f"{ours.dtype}{list(ours.shape)}, onnxruntime has another"]
            row.difference = max(row.difference, relative_difference(ours, theirs))
        if row.difference > TOLERANCE:
            found.append(f"differs from onnxruntime by {row.difference:.2g} of its size")
        for summary, ours in zip(self.recorded, results, strict=True):
            if not agrees(summary, ours):
                found.append(f"{summary.name}: not what was recorded")
        return found

    def judged(self, seen: Observation, baseline: Observation | None) -> list[str]:
        """Return what the oracle finds wrong."""
        verdict = judge(self.module, "main", self.args, seen, baseline)
        checks = [verdict[name] for name in ("local", "ratio", "anchor")]
        unproven = [c for c in checks if c.status in (Status.UNPROVEN, Status.UNDECIDED)]
        return [f"{c.name}: {c.detail}" for c in (*verdict.failures, *unproven)]


def examine(model: ModelFile, path: Path, recorded: Sequence[Summary]) -> Row:
    """Return what comes of one model."""
    row, started = Row(model.id), time.perf_counter()
    inputs: Mapping[str, Array] = inputs_for(model, declared_shapes(path))
    module = rv.from_onnx(path)
    args = [inputs[param.name] for param in module.by_name["main"].params]
    theirs = [array for _, array in onnxruntime_outputs(path, inputs)]
    subject = _Subject(module, args, theirs, recorded)
    alone, _ = subject.run()
    row.faults += [
        f"CPU-only: {f}" for f in (*subject.faults(alone, row), *subject.judged(alone, None))
    ]
    for seed in range(SPLITS):
        seen, devices = subject.run(device_map=DEVICES, split=f"random:{seed}")
        row.moved += devices > 1
        if _same_bits(seen, alone):
            row.same += 1
            continue
        faults = [*subject.faults(seen, row), *subject.judged(seen, alone)]
        row.faults += [f"random:{seed}: {f}" for f in faults]
        row.judged += not faults
    row.seconds = time.perf_counter() - started
    return row


def _same_bits(one: Observation, other: Observation) -> bool:
    pairs = zip(leaves(one.results), leaves(other.results), strict=True)
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)


def main(words: Sequence[str]) -> int:
    """Run the models whose name contains one of ``words``, or all; return the exit code."""
    console = Console(width=150)
    _, recorded = expectations()
    rows: list[Row] = []
    for model in models():
        if words and not any(word.lower() in model.id.lower() for word in words):
            continue
        try:
            path = fetch(model, models())
        except Unavailable as error:
            console.print(f"{model.id}: not run: {error}", markup=False)
            continue
        rows.append(examine(model, path, recorded.get(model.id, ())))
        console.print(_line(rows[-1]), markup=False)
    console.print(_table(rows))
    return 1 if any(row.faults for row in rows) else 0


def _line(row: Row) -> str:
    return f"{row.model}: {'; '.join(row.faults) or 'holds'} ({row.seconds:.0f} s)"


def _table(rows: Sequence[Row]) -> Table:
    table = Table(
        title=f"Real models CPU-only and under {SPLITS} random splits over cpu:0 and sim:0"
    )
    for name in ("model", "same bits", "judged", "on both devices", "vs ort", "seconds", "verdict"):
        table.add_column(name, justify="left" if name in ("model", "verdict") else "right")
    for row in rows:
        numbers = (row.same, row.judged, row.moved)
        verdict = "failed" if row.faults else "passed"
        shown = (f"{row.difference:.0e}", f"{row.seconds:.0f}", verdict)
        table.add_row(row.model, *map(str, numbers), *shown)
    total = np.sum([[r.same, r.judged, r.moved] for r in rows] or [[0, 0, 0]], axis=0)
    table.add_row(f"{len(rows)} models", *map(str, total), "", "", "")
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
