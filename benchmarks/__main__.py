"""All benchmarks of the project, one after the other, and one table of what they found.

Run it: ``python -m benchmarks``, or ``make bench``; ``python -m benchmarks NAME ...`` runs some of
them. Each is a process of its own. After five minutes no other is begun. The exit code is 1 if a
limit is missed or a script fails, else 6 if one was not run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from rich.console import Console

from benchmarks.rows import Row, exit_code, run, table

SECONDS: Final = 300.0

SCRIPTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "fused_elementwise": (),
        "kernels_cold_warm": (),
        "plugin_overhead": (),
        "first_seconds": (),
        "planning_scale": ("--runs", "2"),
        "isolation_cost": (),
        "ir_scale": ("30000",),
        "chain_compile": (),
        "data_types": (),
        "minilm_compile": (),
        "checked_compile": (),
        "verdicts": (),
        "minilm": (),
        "convolution": (),
        "corpus_rate": (),
    }
)
"""The scripts, the short ones first, with the arguments with which each ends in a minute."""

ELSEWHERE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "conformance_table": "writes the pages of other engines",
        "chain_speed": "needs apache-tvm",
        "corpus_cold": "takes minutes",
        "judging": "takes minutes",
        "leaves": "measures nothing",
        "model_speed": "takes minutes: every real model beside onnxruntime",
        "peers": "takes minutes, and writes a page of its own",
        "gpu_check": "needs a GPU, and has a report of its own",
        "real_models": "is make run",
    }
)
"""What else can be run, and why the table leaves it out."""


def run_all(names: Sequence[str]) -> Iterator[Row]:
    """Run the scripts in turn, and yield how each ended."""
    start = time.perf_counter()
    for name in names:
        print(f"== {name}", flush=True)
        yield run(name, SCRIPTS[name], SECONDS - (time.perf_counter() - start))


def main(names: Sequence[str]) -> int:
    unknown = [name for name in names if name not in SCRIPTS]
    if unknown:
        listed = ", ".join(SCRIPTS)
        print(f"found no benchmark {', '.join(unknown)}; there are {listed}", file=sys.stderr)
        return 2
    rows = list(run_all(names or tuple(SCRIPTS)))
    Console(width=None if sys.stdout.isatty() else 120).print(table(rows))
    return exit_code(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
