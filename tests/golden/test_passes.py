"""Each ``.hir`` file under ``passes/`` is a pipeline, a program before and a program after.

The first line names the passes; ``// map:``, ``// policy:`` and ``// default:`` may follow. Each
pass is held to its contract while it runs. What comes out is printed short, or with all types after
``// print: full``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from hettest.golden import Golden
from reference_vm.diagnostics import CompileError
from reference_vm.ir.verify import verify
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline, pipeline_text
from reference_vm.passes.catalog import PASSES
from reference_vm.passes.context import PassContext, Policy
from reference_vm.targets.numba.target import NUMBA
from reference_vm.text import parse, print_module
from reference_vm.types import DeviceMap

HERE = Path(__file__).parent / "passes"
FILES = sorted(HERE.rglob("*.hir"))
RULE = "// -----\n"
MAP = "host=cpu:0,accel=sim:0"


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_pass(path: Path, request: pytest.FixtureRequest) -> None:
    before, _, _ = path.read_text(encoding="utf-8").partition(RULE)

    after = run_pipeline(before)

    update = request.config.getoption("het_update_golden")
    Golden(path, update).check(before + RULE + after)


def run_pipeline(before: str) -> str:
    """Return the program after the passes that the head of ``before`` names, or the errors."""
    head = _head(before)
    ctx = PassContext(
        OPS,
        DeviceMap.parse(head.get("map", MAP)),
        Policy(head.get("policy", "copy")),
        head.get("default"),
        targets=dict.fromkeys(("cpu", "sim"), NUMBA.traits),
        host_kernels=partial(NUMBA.compile, device_kind="cpu"),
    )
    passes = pipeline_text.parse(head["run"], PASSES)
    module = parse(before)
    try:
        verify(module)
        after = pipeline.run(module, passes, ctx, check=True)
        return print_module(after, short=head.get("print") != "full")
    except CompileError as error:
        return "".join(f"{line}\n" for line in str(error).splitlines())


def _head(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line.startswith("// ")]
    return dict(line.removeprefix("// ").split(": ", 1) for line in lines)


def test_there_are_golden_files_for_every_pass() -> None:
    named = {p.parent.name.replace("_", "-") for p in FILES}

    assert set(PASSES) - named == set()
