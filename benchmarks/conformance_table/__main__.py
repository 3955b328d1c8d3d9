"""``python -m benchmarks.conformance_table``: run engines; write their pages and their waivers.

Exit code: 0 written; 1 written, but a failure has no finding or a finding no failure; 2 an engine
is not installed or not known, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Final

from benchmarks.conformance_table import pages
from benchmarks.conformance_table.findings import COMMAND, Engine, read, waiver_file
from benchmarks.conformance_table.runs import EngineRun, run, shown

HERE: Final = Path(__file__).parent
PAGES: Final = HERE.parents[1] / "docs" / "conformance"
WAIVERS: Final = HERE.parents[1] / "hettest" / "adapters" / "waivers"


def main(arguments: list[str] | None = None) -> int:
    """Run the engines and write what came of it; return the exit code."""
    options = _parser().parse_args(arguments)
    known = {engine.key: engine for engine in read(HERE)}
    unknown = [key for key in options.engine if key not in known]
    if unknown:
        print(f"found no engine {unknown[0]}; there are {', '.join(known)}")
        return 2
    engines = [known[key] for key in options.engine or known]
    try:
        runs = [] if options.waivers_only else [_run(engine) for engine in engines]
    except PackageNotFoundError as error:
        print(f"{error.name} is not installed: {pages.INSTALL}")
        return 2
    for engine in engines:
        _write(WAIVERS / f"{engine.key}.toml", waiver_file(engine))
    for each in runs:
        printed = {finding.title: shown(finding) for finding in each.engine.findings}
        _write(options.out / f"{each.engine.key}.md", pages.page(each, printed))
    if len(runs) == len(known):
        _write(options.out / "index.md", pages.index(runs))
    wrong = [line for each in runs for line in pages.problems(each)]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND)
    parser.add_argument(
        "engine", nargs="*", help="only these, without the table of all; every engine if left out"
    )
    parser.add_argument("--out", type=Path, default=PAGES, help="the folder of the pages")
    parser.add_argument(
        "--waivers-only", action="store_true", help="write the waivers of the findings, run nothing"
    )
    return parser


def _run(engine: Engine) -> EngineRun:
    start = time.monotonic()
    done = run(engine)
    print(
        f"{engine.key}: {len(done.records)} items in {time.monotonic() - start:.0f} s", flush=True
    )
    return done


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    print(f"wrote {path.name}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
