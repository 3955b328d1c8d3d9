"""Runs one real model CPU-only and split over two devices, and judges it.

The four numeric checks are those of the kit; besides, the results are compared with onnxruntime's
and with the recorded ones, and the split run must really use both devices.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

import reference_vm as rv
from benchmarks.real_models.expected import Summary, agrees, onnxruntime_outputs
from benchmarks.real_models.fetch import Unavailable, fetch
from benchmarks.real_models.inputs import inputs_for
from benchmarks.real_models.lock import ModelFile
from benchmarks.real_models.shapes import declared_shapes
from hettest.backend.protocol import Observation
from hettest.judge import Status, Verdict, judge
from reference_vm.diagnostics import DiagnosticError
from reference_vm.ir.nodes import Block, Module, blocks
from reference_vm.runtime.trace import Record
from reference_vm.session import Session
from reference_vm.targets.numba.target import NUMBA

Array: TypeAlias = NDArray[Any]

DEVICES: Final = "host=cpu:0,accel=sim:0"
SPLIT: Final = "halves"
ROUNDS: Final = 5

COPIES: Final = frozenset({"read", "host", "result", "explicit"})
"""Causes that count as copies; an argument's way to its device counts as moved only."""


@final
@dataclass(frozen=True, kw_only=True)
class Finding:
    """What came of one model: a row of the table."""

    model: str
    verdict: str
    """``passed``, ``failed``, ``unsupported`` (by the importer, which says so) or ``not run``."""

    reason: str = ""
    nodes: int = 0
    """Operators in the imported program."""

    devices: Sequence[str] = ()
    kernels: int = 0
    """Distinct kernels of the split program."""

    compiled: int = 0
    """Kernels that this run had to compile, not finding them in the cache."""

    copies: int = 0
    moved_bytes: int = 0
    local: float | None = None
    """Worst local error, as a part of what is allowed."""

    ratio: float | None = None
    anchor: float | None = None
    bound: str = ""
    """``in force`` or ``vacuous``."""

    onnxruntime: float | None = None
    """Largest difference from onnxruntime, as a part of the result's largest magnitude."""

    cpu_ms: float | None = None
    split_ms: float | None = None
    checks: Mapping[str, str] = field(default_factory=dict)


TOLERANCE: Final = 5e-3
"""How far from onnxruntime a result may be, as a part of its largest magnitude.

Its own transforms of lengths that are no power of two are off by up to 3e-3; exactness is what the
oracle judges.
"""


Step: TypeAlias = Callable[[str], None]


def examine(
    model: ModelFile, siblings: Sequence[ModelFile], recorded: Sequence[Summary], step: Step
) -> Finding:
    """Return what comes of ``model``; nothing that it does wrong escapes as an exception.

    Args:
        model: The model to run.
        siblings: Other models that will be wanted; those of one package come with it.
        recorded: Summaries of the outputs that were recorded for its input.
        step: Told what is being done.
    """
    step("fetching")
    try:
        path = fetch(model, siblings)
    except Unavailable as error:
        return Finding(model=model.id, verdict="not run", reason=str(error))
    try:
        return _Examination(model, path, recorded, step).finding()
    except DiagnosticError as error:
        refused = all(d.code == "unsupported-operator" for d in error.diagnostics)
        verdict = "unsupported" if refused else "failed"
        return Finding(model=model.id, verdict=verdict, reason=str(error))


@final
class _Examination:
    def __init__(
        self, model: ModelFile, path: Path, recorded: Sequence[Summary], step: Step
    ) -> None:
        self.model = model
        self.path = path
        self.recorded = recorded
        self.step = step
        self.inputs = inputs_for(model, declared_shapes(path))

    def finding(self) -> Finding:
        before = NUMBA.statistics.compiled
        self.step("importing")
        module = rv.from_onnx(self.path)
        args = [self.inputs[param.name] for param in module.by_name["main"].params]
        self.step("running CPU-only")
        alone = Session(rv.compile(module))
        baseline = observe(alone, args)
        self.step("running split")
        split = Session(rv.compile(module, device_map=DEVICES, split=SPLIT))
        placed = observe(split, args)
        records = split.trace
        self.step("judging")
        verdict = judge(module, "main", args, placed, baseline)
        self.step("comparing with onnxruntime")
        difference, faults = self._compare(placed)
        self.step("timing")
        cpu_ms, split_ms = _interleaved(alone, split, args)
        return self._row(
            module,
            split,
            records,
            verdict,
            (difference, faults),
            (cpu_ms, split_ms),
            NUMBA.statistics.compiled - before,
        )

    def _compare(self, placed: Observation) -> tuple[float, list[str]]:
        """Return the largest relative difference from onnxruntime, and what disagrees."""
        outputs = onnxruntime_outputs(self.path, self.inputs)
        results = placed.results if isinstance(placed.results, tuple) else (placed.results,)
        worst, faults = 0.0, []
        for (name, theirs), ours in zip(outputs, results, strict=True):
            assert not isinstance(ours, tuple | str)
            if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
                faults.append(f"{name}: {ours.dtype}{list(ours.shape)}, onnxruntime has another")
                continue
            worst = max(worst, relative_difference(ours, theirs))
        if worst > TOLERANCE:
            faults.append(f"differs from onnxruntime by {worst:.2g} of its size")
        for summary, ours in zip(self.recorded, results, strict=True):
            assert not isinstance(ours, tuple | str)
            if not agrees(summary, ours):
                faults.append(f"{summary.name}: not what was recorded")
        return worst, faults

    def _row(
        self,
        module: Module,
        split: Session,
        records: Sequence[Record],
        verdict: Verdict,
        compared: tuple[float, list[str]],
        milliseconds: tuple[float, float],
        compiled: int,
    ) -> Finding:
        difference, faults = compared
        copies = [r for r in records if r.kind == "copy" and r.cause is not None]
        moved = [r for r in copies if r.cause is not None and r.cause.kind != "deliver"]
        counted = [r for r in copies if r.cause is not None and r.cause.kind in COPIES]
        devices = sorted({r.device for r in records if r.kind in ("kernel", "library")})
        if len(devices) < 2:
            faults.append(f"ran on {', '.join(devices)} only")
        faults += [f"{c.name}: {c.detail}" for c in verdict.failures]
        faults += [
            f"{name}: {verdict[name].detail}"
            for name in ("local", "ratio", "anchor")
            if verdict[name].status in (Status.UNPROVEN, Status.UNDECIDED)
        ]
        bound = "vacuous" if verdict["bound"].status is Status.VACUOUS else "in force"
        return Finding(
            model=self.model.id,
            verdict="failed" if faults else "passed",
            reason="; ".join(faults),
            nodes=_operators(module.by_name["main"].body),
            devices=devices,
            kernels=len(split.program.executable.kernels),
            compiled=compiled,
            copies=len(counted),
            moved_bytes=sum(r.bytes for r in moved),
            local=verdict["local"].worst,
            ratio=verdict["ratio"].worst,
            anchor=verdict["anchor"].worst,
            bound=bound,
            onnxruntime=difference,
            cpu_ms=milliseconds[0],
            split_ms=milliseconds[1],
            checks={check.name: f"{check.status}: {check.detail}" for check in verdict.checks},
        )


def _operators(body: Block) -> int:
    """Return how many bindings there are, those inside branches included."""
    inside = (b for binding in body.bindings() for b in blocks(binding.value))
    return sum(1 for _ in body.bindings()) + sum(map(_operators, inside))


def relative_difference(ours: Array, theirs: Array) -> float:
    """Return the largest difference of two arrays as a part of the largest magnitude.

    NaN beside NaN and equal infinities are no difference.
    """
    if not ours.size:
        return 0.0
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    scale = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
    worst = float(np.max(apart))
    return worst / scale if scale else worst


def observe(session: Session, args: Sequence[Array]) -> Observation:
    """Run ``main`` and return its results and all that it computed on the way."""
    results = session.run("main", *args, keep=True)
    return Observation(results=results, intermediates=session.intermediates)


def _interleaved(alone: Session, split: Session, args: Sequence[Array]) -> tuple[float, float]:
    """Return the median milliseconds of both sessions, run in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for session, taken in zip((alone, split), times, strict=True):
            start = time.perf_counter()
            session.run("main", *args)
            taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[0]), statistics.median(times[1])
