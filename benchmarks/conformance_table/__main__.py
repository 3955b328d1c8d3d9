"""``python -m benchmarks.conformance_table``: run every engine and write ``docs/conformance``.

Exit code: 0 written; 1 written, but a failure has no finding or a finding no failure; 2 an engine
is not installed, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Final

from benchmarks.conformance_table import pages
from benchmarks.conformance_table.findings import Engine, read
from benchmarks.conformance_table.runs import EngineRun, run, shown

HERE: Final = Path(__file__).parent
PAGES: Final = HERE.parents[1] / "docs" / "conformance"


def main(arguments: list[str] | None = None) -> int:
    """Run all engines and write the pages; return the exit code."""
    parser = argparse.ArgumentParser(prog=pages.COMMAND)
    parser.add_argument("--out", type=Path, default=PAGES, help="the folder to write to")
    out: Path = parser.parse_args(arguments).out
    try:
        runs = [_run(engine) for engine in read(HERE)]
    except PackageNotFoundError as error:
        print(f"{error.name} is not installed: pip install 'hettest[backends,jax,tvm]'")
        return 2
    out.mkdir(parents=True, exist_ok=True)
    for each in runs:
        printed = {finding.title: shown(finding) for finding in each.engine.findings}
        _write(out / f"{each.engine.key}.md", pages.page(each, printed))
    _write(out / "index.md", pages.index(runs))
    wrong = [line for each in runs for line in pages.problems(each)]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def _run(engine: Engine) -> EngineRun:
    start = time.monotonic()
    done = run(engine)
    print(
        f"{engine.key}: {len(done.records)} items in {time.monotonic() - start:.0f} s", flush=True
    )
    return done


def _write(path: Path, text: str) -> None:
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    print(f"wrote {path.name}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
