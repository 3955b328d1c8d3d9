"""Each ``.hir`` file under ``explanations/`` is a program and the tables that explain its plan.

``// map:``, ``// policy:``, ``// default:``, ``// place:``, ``// split:`` and ``// memory:`` may
stand at its head.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reference_vm as rv
from hettest.golden import Golden
from reference_vm.cli.explanation.table import text

HERE = Path(__file__).parent / "explanations"
FILES = sorted(HERE.glob("*.hir"))
RULE = "// -----\n"
OPTIONS = ("policy", "default", "place", "split", "memory")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_explanation(path: Path, request: pytest.FixtureRequest) -> None:
    before, _, _ = path.read_text(encoding="utf-8").partition(RULE)

    after = explained(before)

    update = request.config.getoption("het_update_golden")
    Golden(path, update).check(before + RULE + after)


def explained(before: str) -> str:
    lines = [line for line in before.splitlines() if line.startswith("// ")]
    head = dict(line.removeprefix("// ").split(": ", 1) for line in lines)
    options: dict[str, Any] = {name: head[name] for name in OPTIONS if name in head}
    plan = rv.explain(rv.parse(before), head.get("map", "host=cpu:0,accel=sim:0"), **options)
    return text(plan, 120)
