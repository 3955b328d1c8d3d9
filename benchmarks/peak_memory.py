"""The most memory that each real model has in use, beside the least and onnxruntime's arena.

    python -m benchmarks.peak_memory            # every model that is in the cache or can be had
    python -m benchmarks.peak_memory minilm     # only those whose name contains the word

Ours is read from the trace of a run (`runtime.peaks`): what was allocated at once, and what was
live at once, which no plan for the same order of work can do without. The arena of onnxruntime is
what it took from the system while it ran the model twice on the same inputs, its weights left out:
as it comes, which is 1 MiB and then powers of two, and with an arena that is told to take no more
than is asked for. Each side is charged with the bytes by which its weights outgrew the model's, as
what is folded into weights is not computed in the run. The exit code is 1 if a model has more in
use than `LIMIT` times the bound (`BRANCHED` for those with control flow), or is charged with more
than onnxruntime as it comes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from rich.console import Console
from rich.table import Table

import reference_vm as rv
from benchmarks.figures import figure
from benchmarks.real_models.fetch import Unavailable, fetch
from benchmarks.real_models.inputs import inputs_for
from benchmarks.real_models.lock import ModelFile, models
from benchmarks.real_models.shapes import declared_shapes
from benchmarks.real_models.weights import weight_bytes
from reference_vm.diagnostics import DiagnosticError
from reference_vm.ir.nodes import If, Module
from reference_vm.ir.rewrite import walk
from reference_vm.runtime.peaks import Peak, peaks
from reference_vm.session import Session

LIMIT: Final = 1.10
BRANCHED: Final = 1.25

_EXTENDED: Final = re.compile(r"Extended allocation by (\d+) bytes")

_FOLDED: Final = re.compile(r"^folded (-?\d+)$", re.MULTILINE)

_ARENA: Final = """
import sys
import onnxruntime as ort
from benchmarks.real_models.fetch import fetch
from benchmarks.real_models.inputs import inputs_for
from benchmarks.real_models.lock import model as model_of
from benchmarks.real_models.shapes import declared_shapes
from benchmarks.real_models.weights import weight_bytes

model = model_of(sys.argv[1])
path = fetch(model)
ort.set_default_logger_severity(1)
options = ort.SessionOptions()
options.intra_op_num_threads = 2
options.log_severity_level = 3
options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
if sys.argv[2] == "tight":
    kind = ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR
    info = ort.OrtMemoryInfo("Cpu", kind, 0, ort.OrtMemType.DEFAULT)
    config = {"arena_extend_strategy": 1, "initial_chunk_size_bytes": 256}
    ort.create_and_register_allocator(info, ort.OrtArenaCfg(config))
    options.add_session_config_entry("session.use_env_allocators", "1")
options.optimized_model_filepath = sys.argv[3]
session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
inputs = inputs_for(model, declared_shapes(path))
for _ in range(2):
    session.run(None, inputs)
print("folded", weight_bytes(sys.argv[3]) - weight_bytes(path), file=sys.stderr)
"""


@final
@dataclass(frozen=True)
class Row:
    """One model's figures, in bytes."""

    model: str
    peak: Peak
    grown: int
    """By how much the constants of the session are more than the model's weights."""

    arena: int
    """What onnxruntime took from the system, as it comes."""

    folded: int
    """By how much its weights grew when it folded what only depends on weights."""

    tight: int
    """The arena when it grows by what is asked for."""

    branched: bool
    """Whether the model has control flow."""

    @property
    def is_tight(self) -> bool:
        return self.peak.ratio <= (BRANCHED if self.branched else LIMIT)

    def is_above(self, arena: int) -> bool:
        """Whether more is charged to us than to onnxruntime with such an arena."""
        return self.peak.planned + self.grown > arena + self.folded


def measure(model: ModelFile) -> Row:
    """Return the figures of a model.

    Raises:
        DiagnosticError: The model cannot be imported, compiled or run.
        Unavailable: It cannot be had.
    """
    path = fetch(model)
    module = rv.from_onnx(path)
    session = Session(rv.compile(module))
    constants = sum(m.current for m in session.memory().values())
    given = inputs_for(model, declared_shapes(path))
    session.run("main", *(given[p.name] for p in module.by_name["main"].params))
    found = peaks(session.trace)
    total = sum(found.values(), Peak(0, 0))
    (taken, folded), (tight, _) = arena(model), arena(model, "tight")
    grown = max(0, constants - weight_bytes(path))
    return Row(model.id, total, grown, taken, folded, tight, _is_branched(module))


def arena(model: ModelFile, kind: str = "") -> tuple[int, int]:
    """Return the bytes that onnxruntime's arena, and its weights, grew by in a process of its own.

    The growth of the weights is of what it folded, and not below 0.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _ARENA, model.id, kind, f"{folder}/optimized.onnx"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    folded = _FOLDED.search(run.stderr)
    extended = sum(int(found) for found in _EXTENDED.findall(run.stderr))
    return extended, max(0, int(folded[1])) if folded else 0


def _is_branched(module: Module) -> bool:
    values = (b.value for f in module.functions for b in walk(f.body))
    return len(module.functions) > 1 or any(isinstance(v, If) for v in values)


def _rows(words: Sequence[str], console: Console) -> Iterator[Row]:
    for model in models():
        if words and not any(w.lower() in model.id.lower() for w in words):
            continue
        try:
            yield measure(model)
        except (DiagnosticError, Unavailable) as error:
            console.print(f"{model.id}: not run: {str(error).splitlines()[0]}", markup=False)


_HEADS: Final = ("model", "at most", "live", "ratio", "folded", "arena", "its folded", "tight")


def _table(rows: Sequence[Row]) -> Table:
    table = Table(title="Peak memory of one run, KiB; then onnxruntime's")
    for head in _HEADS:
        table.add_column(head, justify="left" if head == "model" else "right")
    for row in rows:
        ours = (row.peak.planned, row.peak.bound, row.grown)
        kib = [f"{n / 1024:,.1f}" for n in (*ours, row.arena, row.folded, row.tight)]
        mark = "" if row.is_tight and not row.is_above(row.arena) else " !"
        table.add_row(row.model, *kib[:2], f"{row.peak.ratio:.3f}{mark}", *kib[2:])
    return table


def note(rows: Sequence[Row]) -> bool:
    """Note the figures of all models; return whether each keeps to its limit."""
    kept = [figure("models measured", len(rows), least=1)]
    kinds = ((False, LIMIT, "without branches"), (True, BRANCHED, "with If, Loop or Scan"))
    for branched, limit, kind in kinds:
        ratios = [row.peak.ratio for row in rows if row.branched == branched]
        if ratios:
            what = f"peak to what lives, worst of {len(ratios)} models {kind}"
            kept.append(figure(what, max(ratios), " times", most=limit))
    above = sum(row.is_above(row.arena) for row in rows)
    kept.append(figure("models above the arena of onnxruntime", above, most=0))
    figure("models above its arena if that does not round", sum(r.is_above(r.tight) for r in rows))
    return all(kept)


def main(words: Sequence[str] = ()) -> int:
    console = Console(width=120)
    rows = list(_rows(words, console))
    console.print(_table(rows))
    return 0 if note(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
