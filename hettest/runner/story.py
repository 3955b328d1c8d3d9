"""The text of a failure: found, expected, place, the program, what ran, how to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile

from hettest.backend.protocol import Observation
from hettest.case.expansion import Item
from hettest.case.model import Case
from hettest.corpus import corpus_root
from hettest.expect.transfers import listing
from hettest.outcome import Clause, Status

LONGEST = 40
"""Lines of the program, or of what was executed, that a story has; more are cut in the middle."""


def failure(
    item: Item, clauses: Iterable[Clause], observation: Observation | None, replay: str
) -> str:
    """Return the story of an item that failed."""
    lines = [f"{item.id}: {item.case.summary}"]
    for clause in clauses:
        lines += _clause(item, clause)
    lines += program(item.case)
    if observation is not None:
        lines += executed(observation)
    lines.append(f"  run it again: {replay}")
    return "\n".join(lines)


def _clause(item: Item, clause: Clause) -> Iterator[str]:
    line = clause.line if clause.line is not None else _line(item, clause)
    file = file_of(item.case)
    place = f"{file}:{line}" if line else file
    first, *rest = clause.detail.split("\n")
    mark = "FAILED" if clause.status is Status.FAILED else str(clause.status)
    yield f"  {clause.name} {mark}: {first}"
    yield from (f"    {line}" for line in rest)
    if clause.status is Status.FAILED:
        yield f"  {place}"


def file_of(case: Case) -> str:
    """Return the case's file as records name it, which tells nothing of whose machine it is on.

    ``cases/ops/add/values.toml`` of the kit's own; of a stranger's, the path in the given folder.
    """
    own = case.path.is_relative_to(corpus_root())
    return f"cases/{case.id}.toml" if own else f"{case.id}.toml"


def _line(item: Item, clause: Clause) -> int | None:
    if clause.name == "values" and item.run is not None:
        return item.run.line
    return item.case.program_line


def program(case: Case) -> Iterator[str]:
    """Yield the lines that show the program, each with its line in the case file."""
    return source(case.text, case.program_line)


def source(text: str, first_line: int = 1) -> Iterator[str]:
    """Yield the lines that show the text of a program, each with its number."""
    yield "  program:"
    every = enumerate(text.rstrip().split("\n"), first_line)
    numbered = list(dropwhile(lambda line: not line[1].strip(), every))
    width = len(str(numbered[-1][0]))
    yield from _shortened([f"    {line:>{width}} | {text}".rstrip() for line, text in numbered])


def executed(observation: Observation) -> Iterator[str]:
    """Yield the lines that say what ran where and what was transferred, as far as it is shown."""
    if observation.executions is not None:
        yield "  executed:"
        lines = [
            f"    {e.op} -> {', '.join(e.defines) or '?'} on {e.device}"
            for e in observation.executions
        ]
        yield from _shortened(lines)
    if observation.copies is not None:
        yield "  transfers:"
        yield from _shortened([f"  {line}" for line in listing(observation.copies).split("\n")])


def _shortened(lines: Sequence[str]) -> list[str]:
    if len(lines) <= LONGEST:
        return list(lines)
    half = LONGEST // 2
    return [*lines[:half], f"    … {len(lines) - 2 * half} more …", *lines[-half:]]


def replay(item_id: str, devices: Sequence[str], backend: str, more: Sequence[str] = ()) -> str:
    """Return the command that runs one item again; ``more`` are further options."""
    options = (f"--devices={','.join(devices)}", f"--backend={backend}", *more)
    return shlex.join(("hettest", "run", item_id, *options))
