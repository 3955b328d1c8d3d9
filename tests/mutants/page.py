"""The page of mutants: ``python -m tests.mutants.page`` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hettest.case.faults import FaultClass, fault_classes
from tests.mutants.catalog import FAMILIES, MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.power import ALONE, Removal

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "mutants.md"

_HEAD: Final = """\
# Mutants

The reference, broken on purpose in {mutants} ways. For each mutant stand the corpus items that must
fail on it, and the clauses of the item that fail; every other clause of the item is proven. So a
mutant that only runs in the wrong place dies by `placement` or by what was copied, while its values
are shown to be right. The unbroken reference passes every item listed.

`tests/mutants/test_kills.py` holds all of it. `tests/mutants/test_checks_have_power.py` takes each
check away in turn and sees some mutant live. `python -m tests.mutants.page` writes this page;
[which other items each mutant dies by](kill-matrix.md) is counted apart.
"""


def rendered() -> str:
    """Return the text of the page."""
    count = sum(len(mutants) for mutants in FAMILIES.values())
    parts = [_HEAD.format(mutants=count)]
    parts += ("\n".join(_family(name, mutants)) for name, mutants in FAMILIES.items())
    parts.append("\n".join(_fault_classes()))
    parts.append("\n".join(_removals()))
    return "\n".join(parts)


def _family(name: str, mutants: tuple[Mutant, ...]) -> Iterator[str]:
    yield f"## {name}\n"
    yield "| mutant | what it does | fault class | item | fails |"
    yield "|---|---|---|---|---|"
    for mutant in mutants:
        first = f"`{mutant.name}` | {mutant.breaks} | {mutant.fault_class}"
        for kill in mutant.kills:
            yield f"| {first} | `{kill.item}` | {', '.join(sorted(kill.by))} |"
            first = "| |"
    yield ""


def _fault_classes() -> Iterator[str]:
    yield "## Fault classes\n"
    yield "The kinds of fault that public reports fall into; `scenarios.md` has the reports.\n"
    yield "| class | kind of fault | mutants |"
    yield "|---|---|---|"
    for kind in fault_classes().values():
        yield f"| {kind.id} | {kind.name} | {_mutants_of(kind)} |"
    yield ""


def _mutants_of(kind: FaultClass) -> str:
    if kind.feature is not None:
        return f"no feature yet: {kind.feature}"
    if kind.tests:
        return f"no case saves a program: {', '.join(f'`{test}`' for test in kind.tests)}"
    return ", ".join(f"`{m.name}`" for m in MUTANTS if m.fault_class == kind.id)


def _removals() -> Iterator[str]:
    yield "## Without a check\n"
    yield "Each part of judging that can be taken away by itself, and a mutant that then lives.\n"
    yield "| part | what it asks | lives without it |"
    yield "|---|---|---|"
    yield from map(_removal, ALONE)
    yield ""


def _removal(removal: Removal) -> str:
    return f"| {removal.name} | {removal.asks} | `{removal.lives}` |"


if __name__ == "__main__":
    PAGE.write_text(rendered(), encoding="utf-8")
