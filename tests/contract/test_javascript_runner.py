"""The runner in JavaScript judges as ours does, from the JSON export alone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hettest.corpus import Selection, own_cases, select
from hettest.export import as_json, as_onnx

ROOT = Path(__file__).parents[2] / "runners" / "javascript"
RUNNER, ENGINE = ROOT / "runner.mjs", ROOT / "engine.mjs"
CPU = ("cpu:0",)
NODE = shutil.which("node")

needs_node = pytest.mark.skipif(
    NODE is None, reason="found no program node: install Node.js 18 or later (Debian: nodejs)"
)

WIDER = """\
const { add } = OPERATORS;
const wider = (e) => (typeof e === 'bigint' ? e + (1n << 32n) : e);
OPERATORS.add = (...all) => ({ ...add(...all), data: add(...all).data.map(wider) });
"""
INEXACT = """\
const { add } = OPERATORS;
const inexact = (e) => (typeof e === 'number' ? e * (1 + 1e-5) : e);
OPERATORS.add = (...all) => ({ ...add(...all), data: add(...all).data.map(inexact) });
"""
OTHER_DTYPE = """\
const { add } = OPERATORS;
OPERATORS.add = (...all) => ({ ...add(...all), dtype: 'f64' });
"""
REFUSING = """\
const refusal = Object.assign(new Error('x'), { rejected: 'dtype-mismatch' });
OPERATORS.add = () => { throw refusal; };
"""
RAISING = "OPERATORS.add = () => { throw new Error('no such kernel'); };"
BROKEN = {
    "values": ("OPERATORS.add = OPERATORS.subtract;", "failed", "expected"),
    "no-wrap": (WIDER, "failed", "expected"),
    "inexact": (INEXACT, "failed", "expected"),
    "dtype": (OTHER_DTYPE, "failed", "the result is f64"),
    "crash": (RAISING, "crashed", "no such kernel"),
    "refusal": (REFUSING, "failed", "refused: dtype-mismatch"),
}


def export(folder: Path, *areas: str) -> Path:
    selection = select(own_cases(), CPU, level=2, patterns=areas)
    as_json.export(selection, CPU, folder, lambda groups: groups)
    return folder


def node(engine: Path, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    assert NODE is not None
    command = [NODE, str(RUNNER), "--engine", str(engine), str(folder), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def totals(text: str) -> dict[str, int]:
    """Return the counts of the last line, whose sum must be the number of items."""
    last = text.splitlines()[-1]
    found = re.fullmatch(
        r"(\d+) of (\d+) items: (\d+) passed, (\d+) failed, (\d+) crashed, (\d+) unsupported"
        r"(?:; \d+ items above level \d left out)?",
        last,
    )
    assert found, last
    counted, listed, *counts = map(int, found.groups())
    assert counted == listed == sum(counts)
    return dict(zip(("passed", "failed", "crashed", "unsupported"), counts, strict=True))


def test_the_runner_has_less_than_150_lines() -> None:
    assert len(RUNNER.read_text(encoding="utf-8").splitlines()) < 150


@needs_node
def test_an_independent_engine_passes_every_case_that_it_claims(tmp_path: Path) -> None:
    ended = node(ENGINE, export(tmp_path / "all"))

    wrong = [line for line in ended.stdout.splitlines() if re.match("failed|crashed", line)]
    counts = totals(ended.stdout)
    assert (wrong, ended.stderr, ended.returncode) == ([], "", 0)
    assert counts["passed"] > 2000
    assert counts["unsupported"] < counts["passed"] / 4


@needs_node
@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_engine_is_caught(tmp_path: Path, fault: str) -> None:
    code, outcome, text = BROKEN[fault]
    engine = tmp_path / "engine.mjs"
    url = ENGINE.as_uri()
    engine.write_text(f"import {{ OPERATORS }} from '{url}';\nexport * from '{url}';\n{code}\n")

    ended = node(engine, export(tmp_path / "add", "ops/add"))

    counts = totals(ended.stdout)
    assert ended.returncode == 1
    assert counts[outcome] > 0
    assert re.search(rf"^{outcome}: ops/add/\S+\[.*\]: .*{text}", ended.stdout, re.MULTILINE)


@needs_node
def test_what_is_not_claimed_is_unsupported_and_says_the_word(tmp_path: Path) -> None:
    engine = tmp_path / "engine.mjs"
    engine.write_text(
        "export const capabilities = ['device:cpu', 'dtype:*', 'op:*', '-op:add:f32', 'shape:*'];\n"
        "export function compile() { throw new Error('never called'); }\n"
    )

    ended = node(engine, export(tmp_path / "add", "ops/add/floats"))

    counts = totals(ended.stdout)
    assert (ended.returncode, counts["passed"], counts["crashed"]) == (0, 0, 0)
    assert "unsupported: ops/add/floats[scalar,default=cpu:0]: op:add:f32\n" in ended.stdout


@needs_node
def test_what_is_above_the_level_is_said(tmp_path: Path) -> None:
    folder = export(tmp_path / "both", "ops/add", "opening")

    cut, whole = node(ENGINE, folder, "--level=1"), node(ENGINE, folder)

    above = sum(totals(whole.stdout).values()) - sum(totals(cut.stdout).values())
    assert above > 0
    assert cut.stdout.endswith(f"; {above} items above level 1 left out\n")
    assert "left out" not in whole.stdout


@needs_node
def test_wrong_usage_ends_with_2_and_says_why(tmp_path: Path) -> None:
    cases = [case for case in own_cases() if case.id == "ops/add/floats"]
    pytest.importorskip("onnx")
    as_onnx.export(
        Selection(select(cases, CPU).items, {}), CPU, tmp_path / "o", lambda items: items
    )

    nothing, other = node(ENGINE, tmp_path / "none"), node(ENGINE, tmp_path / "o")
    add = export(tmp_path / "add", "ops/add/floats")
    engine, level = node(tmp_path / "none.mjs", add), node(ENGINE, add, "--level=two")

    assert [ended.returncode for ended in (nothing, other, engine, level)] == [2, 2, 2, 2]
    assert "a level that is a number" in level.stderr
    assert "index.json" in nothing.stderr
    assert "--level N (default 2)" in nothing.stderr
    assert "has no case as JSON" in other.stderr
    assert "none.mjs" in engine.stderr
