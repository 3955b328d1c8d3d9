"""What a plan says of every program with a golden file: planning it again changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline, pipeline_text
from reference_vm.passes.catalog import PASSES
from reference_vm.passes.context import PassContext
from reference_vm.text import parse, print_module
from reference_vm.types import DeviceMap
from tests.golden.test_passes import FILES, RULE

PLANS = ("plan-devices", "insert-copies", "legalize")
"""The last passes of a pipeline whose result is a plan."""


def plans() -> list[Path]:
    """Return the golden files that end in a plan."""
    return [path for path in FILES if _last_pass(path) in PLANS and _is_module(path)]


def _last_pass(path: Path) -> str:
    head = path.read_text(encoding="utf-8").splitlines()[0]
    return head.rpartition(", ")[2].strip()


def _is_module(path: Path) -> bool:
    after = path.read_text(encoding="utf-8").partition(RULE)[2]
    return after.startswith("module") and "@" in after and not _has_closures(after)


def _has_closures(after: str) -> bool:
    """Whether ``after`` has what short printing leaves without a type that is found again."""
    return " = fn(" in after


@pytest.mark.parametrize("path", plans(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_planning_again_changes_nothing(path: Path) -> None:
    planned = path.read_text(encoding="utf-8").partition(RULE)[2]
    again = "infer-types, plan-devices, insert-copies"
    if _last_pass(path) == "plan-devices":
        again = "infer-types, plan-devices"
    ctx = PassContext(OPS, DeviceMap())
    passes = pipeline_text.parse(f"bind-vdevices, {again}", PASSES)

    module = pipeline.run(parse(planned), passes, ctx)

    assert print_module(module, short=True) == planned


def test_most_golden_files_of_plans_are_planned_again() -> None:
    assert len(plans()) >= 30
