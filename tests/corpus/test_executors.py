"""Both executors run every case of the corpus alike: results to the bit, traces by record.

Here one item of each case and binding; ``python -m tests.corpus.executors`` has all of them, on
other devices too.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hettest.case.expansion import Item
from hettest.corpus import cases, corpus_root, select
from tests.corpus.executors import differences, judged, programs

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


@pytest.mark.parametrize("executor", ["native", "interpreter"])
def test_the_command_judges_with_each_executor(items: Sequence[Item], executor: str) -> None:
    chosen = [item for item in items if item.case.id.startswith("functions/")]

    ends = list(judged(chosen, executor, DEVICES))

    assert ends == [("passed", "")] * len(chosen)


def test_the_command_compares_each_program_once(items: Sequence[Item]) -> None:
    found = programs([*items, *items])

    assert {item.case.id for item in found} == {item.case.id for item in items}
    assert len(found) == len(items)
