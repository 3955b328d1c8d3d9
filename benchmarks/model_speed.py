"""Every real model beside onnxruntime with two threads, on the same inputs in the same process.

    python -m benchmarks.model_speed                 # all models
    python -m benchmarks.model_speed silero dnsmos   # only those whose name contains a word

Prints the ratio of each model, in turns, and their geometric mean. The exit code is 1 if the mean
or a model misses its limit, or if a result is not onnxruntime's.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

import numpy as np

import reference_vm as rv
from benchmarks.figures import figure
from benchmarks.real_models.fetch import Unavailable, fetch
from benchmarks.real_models.inputs import inputs_for
from benchmarks.real_models.lock import ModelFile, models
from benchmarks.real_models.shapes import declared_shapes
from benchmarks.side_by_side import SETTLE, in_turn, ratio, two_threads, unhampered
from reference_vm.diagnostics import CompileError
from reference_vm.session import Session

MEAN_LIMIT: Final = 1.3
WORST_LIMIT: Final = 4.0

TOLERANCE: Final = 5e-3
"""How far a result may be from onnxruntime's, as a part of its largest magnitude."""

SECONDS: Final = 2.0
"""Of measuring, about, for each model."""

ROUNDS: Final = range(5, 60)
"""How many turns a model gets, at least and at most."""

TURN: Final = 0.02
"""Seconds that each runs before the other does."""


@final
@dataclass(frozen=True)
class Timing:
    """The median times of one model, and the median ratio within turns."""

    model: str
    ours: float
    theirs: float
    ratio: float


def measure(model: ModelFile, siblings: Sequence[ModelFile] = ()) -> Timing:
    """Return how long a model takes here and in onnxruntime.

    Raises:
        Unavailable: Its file cannot be had.
        CompileError: It has an operator that is not translated.
        AssertionError: The results differ: only what is right is timed.
    """
    path = fetch(model, siblings)
    inputs = inputs_for(model, declared_shapes(path))
    module = rv.from_onnx(path)
    args = [inputs[p.name] for p in module.by_name["main"].params]
    ours, theirs = Session(rv.compile(module)), two_threads(path)
    contenders = {
        "reference_vm": partial(ours.run, "main", *args),
        "onnxruntime": partial(theirs.run, None, inputs),
    }
    _check(contenders["reference_vm"](), contenders["onnxruntime"]())
    spent = in_turn(contenders, rounds=_rounds(contenders), pause=SETTLE, turn=TURN)
    medians = {who: statistics.median(times) for who, times in spent.items()}
    found = ratio(spent, "reference_vm", "onnxruntime")
    return Timing(model.id, medians["reference_vm"], medians["onnxruntime"], found)


def _rounds(contenders: Any) -> int:
    """Return how many turns fit the time."""
    once = in_turn(contenders, rounds=1, warm_up=1)
    fitting = int(SECONDS / sum(SETTLE + max(TURN, *times) for times in once.values()))
    return min(max(fitting, ROUNDS.start), ROUNDS.stop)


def _check(ours: Any, theirs: Sequence[Any]) -> None:
    found = ours if isinstance(ours, tuple) else (ours,)
    for a, b in zip(found, theirs, strict=True):
        largest = float(np.max(np.abs(b), initial=0)) if b.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE * largest + 1e-6)


def main(words: Sequence[str] = ()) -> int:
    """Measure the models whose name contains one of ``words``, or all.

    Returns:
        The exit code.
    """
    elsewhere = unhampered("benchmarks.model_speed", words)
    if elsewhere is not None:
        return elsewhere
    every = models()
    found: list[Timing] = []
    kept = True
    for model in every:
        if words and not any(word.lower() in model.id.lower() for word in words):
            continue
        try:
            timing = measure(model, every)
        except (Unavailable, CompileError) as error:
            print(f"{model.id}: not run: {str(error).splitlines()[0]}")
            continue
        found.append(timing)
        print(f"{model.id}: {timing.ours * 1e3:.3f} ms, onnxruntime {timing.theirs * 1e3:.3f} ms")
        kept &= figure(model.id, timing.ratio, " times", most=WORST_LIMIT)
    if found:
        mean = statistics.geometric_mean([t.ratio for t in found])
        kept &= figure(f"geometric mean of {len(found)} models", mean, " times", most=MEAN_LIMIT)
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
