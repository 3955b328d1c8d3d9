"""What the benchmarks share: contenders that take turns, and a verdict on a limit.

Taking turns, a busy machine is busy for all of them; a ratio is the median over the rounds of the
ratios within each.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.figures import figure

if TYPE_CHECKING:
    import onnx

_SLOWING: Final = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Settings that some machines need for old builds of the BLAS, and that hamper a current one."""


def unhampered(module: str, arguments: Sequence[str] = ()) -> int | None:
    """Run ``module`` again without settings that slow the BLAS down; ``None``: there are none.

    Returns:
        The exit code of the other process.
    """
    if not any(name in os.environ for name in _SLOWING):
        return None
    environment = {name: v for name, v in os.environ.items() if name not in _SLOWING}
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, env=environment, check=False).returncode


SETTLE: Final = 0.08
"""Seconds after which the threads of onnxruntime have ceased to look for work: they do for some 40
ms after each run, on processors that the next contender is to have."""


def in_turn(
    contenders: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    warm_up: int = 3,
    pause: float = 0.0,
    turn: float = 0.0,
) -> dict[str, list[float]]:
    """Return the seconds of each contender in each round.

    ``pause`` seconds pass before each turn, so that the threads of the one before have come to
    rest. A turn is one run, or as many as fit in ``turn`` seconds, of which it is the median.
    """
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + warm_up):
        for name, run in contenders.items():
            time.sleep(pause)
            seconds = _turn(run, turn)
            if number >= warm_up:
                spent[name].append(seconds)
    return spent


def _turn(run: Callable[[], object], seconds: float) -> float:
    """Return the median time of the runs that fit in ``seconds``, one at least."""
    found: list[float] = []
    while not found or sum(found) < seconds:
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def two_threads(model: Path | onnx.ModelProto) -> Any:
    """Return a session of onnxruntime with two threads, otherwise as it comes."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    given = str(model) if isinstance(model, Path) else model.SerializeToString()
    return ort.InferenceSession(given, options, providers=["CPUExecutionProvider"])


def ratio(spent: Mapping[str, Sequence[float]], name: str, to: str) -> float:
    """Return the median over the rounds of one contender's time as a multiple of another's."""
    return statistics.median(a / b for a, b in zip(spent[name], spent[to], strict=True))


def within(what: str, value: float, limit: float, unit: str = "") -> bool:
    """Print a measured value beside its limit, note it, and return whether it keeps to it."""
    return figure(what, value, unit, most=limit)


__all__ = ["SETTLE", "in_turn", "ratio", "two_threads", "unhampered", "within"]
