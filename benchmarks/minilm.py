"""MiniLM beside onnxruntime with two threads, on the same sentences in the same process.

Run it: ``python -m benchmarks.minilm``. The exit code is 1 if a size takes more times as long than
`LIMITS` says. The model comes as `make run` gets it.
"""

from __future__ import annotations

import statistics
import sys
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import reference_vm as rv
from benchmarks.figures import figure
from benchmarks.real_models.fetch import fetch
from benchmarks.real_models.lock import models
from benchmarks.real_models.shapes import declared_shapes
from benchmarks.side_by_side import SETTLE, in_turn, ratio, two_threads, unhampered
from reference_vm.session import Session

LIMITS: Final = {(1, 16): 1.0, (1, 128): 1.0, (8, 128): 1.0}
"""By batch and length: how many times as long as onnxruntime it may take."""

ROUNDS: Final = 21

TURN: Final = 0.04
"""Seconds that each runs before the other does."""

Inputs = dict[str, npt.NDArray[np.int64]]


def sentences(names: tuple[str, ...], batch: int, length: int) -> Inputs:
    """Return word numbers, and masks that leave none out."""
    words = np.random.default_rng(0).integers(1_000, 29_000, (batch, length))
    known = {"input_ids": words, "attention_mask": np.ones_like(words)}
    return {name: known.get(name, np.zeros_like(words)) for name in names}


def main() -> int:
    elsewhere = unhampered("benchmarks.minilm")
    if elsewhere is not None:
        return elsewhere
    path = fetch(next(m for m in models() if "MiniLM" in m.id))
    module = rv.from_onnx(path)
    program, other = rv.compile(module), two_threads(path)
    params = tuple(p.name for p in module.by_name["main"].params)
    kept = True
    for (batch, length), limit in LIMITS.items():
        inputs = sentences(tuple(declared_shapes(path)), batch, length)
        session, args = Session(program), [inputs[name] for name in params]
        _check(session.run("main", *args), other.run(None, inputs))
        contenders = {
            "reference_vm": partial(session.run, "main", *args),
            "onnxruntime": partial(other.run, None, inputs),
        }
        spent = in_turn(contenders, rounds=ROUNDS, pause=SETTLE, turn=TURN)
        found = ratio(spent, "reference_vm", "onnxruntime")
        medians = [f"{name} {statistics.median(t) * 1e3:.2f} ms" for name, t in spent.items()]
        print(", ".join(medians))
        kept &= figure(f"batch {batch}, length {length}", found, " times", most=limit)
    return int(not kept)


def _check(ours: Any, others: list[npt.NDArray[Any]]) -> None:
    """Raise `AssertionError` unless the results agree: only what is right is timed."""
    found = ours if isinstance(ours, tuple) else (ours,)
    for a, b in zip(found, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    sys.exit(main())
