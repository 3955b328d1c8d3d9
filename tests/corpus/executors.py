"""All cases under both executors: ``python -m tests.corpus.executors``.

For each list of devices every item of the corpus is judged by the kit, once with each executor as
the backend; then every run of every program is made by both, and results, traces, peaks and
ledgers are compared. Exit code: 1 if an item did not pass, or the executors differed anywhere.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Annotated, Final

import typer

import reference_vm as rv
from hettest.backend.discovery import load
from hettest.case.expansion import Item
from hettest.corpus import cases, corpus_root, select
from hettest.devicemap import parse_devices
from hettest.language import Module, parse
from hettest.outcome import Outcome
from hettest.runner import run_item
from hettest.runner.cases import arguments
from hettest.runner.run import Environment
from reference_vm.conformance import EXECUTORS
from reference_vm.diagnostics import DiagnosticError
from reference_vm.program.program import Program
from tests.unit.native.both import Both

MAPS: Final = ("cpu", "cpu,sim", "cpu,sim:0,sim:1")


def main(
    devices: Annotated[
        list[str] | None, typer.Option(help="Devices, the host first; several times for more.")
    ] = None,
    executor: Annotated[
        list[str] | None, typer.Option(help="native or interpreter; several times for both.")
    ] = None,
    alike: Annotated[bool, typer.Option(help="Compare both executors run by run.")] = True,
    pattern: Annotated[list[str] | None, typer.Option(help="Cases or items, as ids.")] = None,
    show: Annotated[int, typer.Option(help="How many failures to print whole.")] = 3,
) -> None:
    """Run all cases under both executors; exit with 1 if an item fails."""
    wrong = 0
    corpus = cases(corpus_root())
    for named in devices or MAPS:
        listed = parse_devices(named)
        items = select(corpus, listed, patterns=tuple(pattern or ())).items
        for one in executor or EXECUTORS:
            wrong += _report(f"{named}: {one}", len(items), judged(items, one, listed), show)
        if alike:
            chosen = programs(items)
            found = (line for item in chosen for line in (compared(item),))
            wrong += _report(f"{named}: native and interpreter alike", len(chosen), found, show)
    raise typer.Exit(code=bool(wrong))


def _report(what: str, count: int, ends: Iterable[tuple[str, str]], show: int) -> int:
    """Print how many ended how; return how many did not end well."""
    began, outcomes = perf_counter(), Counter[str]()
    for outcome, text in ends:
        outcomes[outcome] += 1
        if text and outcomes[outcome] <= show:
            typer.echo(text)
    listed = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    typer.echo(f"{what}: {count} items: {listed} ({perf_counter() - began:.0f} s)")
    return count - outcomes[Outcome.PASSED]


def judged(
    items: Iterable[Item], executor: str, devices: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield how each item ended with an executor as the backend, and what was wrong."""
    name = f"reference_vm:executor={executor}"
    environment = Environment(load(name), name, devices, {})
    for item in items:
        record = run_item(item, environment)
        passed = record.outcome is Outcome.PASSED
        yield record.outcome.value, "" if passed else record.text or record.reason


def programs(items: Iterable[Item]) -> tuple[Item, ...]:
    """Return one item of each compiled program that has runs: they come together."""
    chosen: dict[object, Item] = {}
    for item in items:
        if item.run is not None:
            case, binding = item.case, tuple(item.binding.items())
            key = (case.id, case.swept, binding, item.host, item.policy, item.default)
            chosen.setdefault(key, item)
    return tuple(chosen.values())


def compared(item: Item) -> tuple[str, str]:
    """Return how the comparison of both executors on an item's program ended, and what differed."""
    try:
        found = list(differences(item))
    except Exception:  # whatever an executor raises is told, and the next program is compared
        return "crashed", f"{item.id}: {traceback.format_exc(limit=-3)}"
    return ("differ", "\n".join(found[:5])) if found else (Outcome.PASSED.value, "")


def differences(item: Item) -> Iterator[str]:
    """Yield how the runs of a case differ, the first one once more when all is remembered."""
    module = parse(item.case.program, item.case.id)
    program = compiled(module, item)
    if program is None:
        return
    both = Both(program)
    for run in (*item.case.runs, *item.case.runs[:1]):
        for line in both.differences(run.entry, *arguments(item.case, run, module)):
            yield f"{item.id}, run {run.name}: {line}"


def compiled(module: Module, item: Item) -> Program | None:
    """Return the program of an item; ``None`` if it is refused."""
    try:
        return rv.compile(module, dict(item.binding), policy=item.policy, default=item.default)
    except DiagnosticError:
        return None


if __name__ == "__main__":
    typer.run(main)
