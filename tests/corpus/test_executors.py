"""Both executors run every case of the corpus alike: results to the bit, traces by record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

import reference_vm as rv
from hettest.case.expansion import Item
from hettest.case.model import Case, Run
from hettest.corpus import cases, corpus_root, select
from hettest.language import Module, parse
from hettest.runner.cases import arguments
from reference_vm.diagnostics import DiagnosticError
from reference_vm.program.program import Program
from tests.unit.native.both import Both

DEVICES = ("cpu:0", "sim:0")
PARTS = 8


@pytest.fixture(scope="module")
def items() -> Sequence[Item]:
    """One item of each case and binding that runs; its runs come together."""
    found = select(cases(corpus_root()), DEVICES).items
    chosen = {(i.case.id, tuple(i.binding.items())): i for i in found if i.run}
    return tuple(chosen.values())


@pytest.mark.parametrize("part", range(PARTS))
def test_every_case_runs_alike(items: Sequence[Item], part: int) -> None:
    """In parts, so that several workers share them."""
    wrong = [line for item in items[part::PARTS] for line in differences(item)]

    assert not wrong, "\n\n".join(wrong[:5])


def differences(item: Item) -> Iterator[str]:
    """Yield how the runs of a case differ, each one once more when all is remembered."""
    module = parse(item.case.program, item.case.id)
    program = compiled(module, item)
    if program is None:
        return
    both = Both(program)
    for run in (*item.case.runs, *item.case.runs[:1]):
        for line in _differences(both, item.case, run, module):
            yield f"{item.id}, run {run.name}: {line}"


def compiled(module: Module, item: Item) -> Program | None:
    """Return the program of an item; ``None`` if it is refused."""
    try:
        return rv.compile(module, dict(item.binding), policy=item.policy, default=item.default)
    except DiagnosticError:
        return None


def _differences(both: Both, case: Case, run: Run, module: Module) -> Iterator[str]:
    yield from both.differences(run.entry, *arguments(case, run, module))
