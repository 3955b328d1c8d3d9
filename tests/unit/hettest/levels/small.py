"""A profile of three levels and a group over two small cases, and records of its items."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from hettest.case.model import Case
from hettest.levels.plan import planned
from hettest.levels.profile import Profile, Step
from hettest.levels.reached import Run, standing
from hettest.levels.standing import Standing
from hettest.outcome import Outcome, Record
from tests.unit.hettest.case.written import load_text, text

PAIR = ("cpu:0", "sim:0")
WORDS = frozenset({"device:*", "input:hir", "dtype:f32", "op:add", "observe:placement"})

ALONE = """module {
  fn @main(%a: f32[4]) -> f32[4] {
    %s = add(%a, %a)
    return %s
  }
}
"""
RUN = """[[run]]
name   = "plain"
args.a = { dtype = "f32", shape = [4], data = [1, 2, 3, 4] }
result = { dtype = "f32", shape = [4], data = [2, 4, 6, 8] }
"""


def corpus(folder: Path) -> tuple[Case, ...]:
    """Return two cases: one operator on one device, and operators placed apart."""
    alone = load_text(folder, text(ALONE, RUN).replace("level   = 3", "level   = 2"))
    apart = load_text(folder, text(head='requires = ["distinct-devices"]'))
    return (
        *(replace(case, id="ops/alone") for case in alone),
        *(replace(case, id="placement/apart") for case in apart),
    )


PROFILE = Profile(
    "small@1",
    "for tests",
    (
        Step(0, None, (("device:*",), ("input:hir", "input:onnx")), {}),
        Step(2, None, (("op:add:f32",),), {"ops/alone": ("plain",)}),
        Step(3, None, (("observe:placement",),), {"placement/apart": ("plain,policy=copy",)}),
    ),
)


def record(id: str, outcome: Outcome = Outcome.PASSED, **more: object) -> Record:  # noqa: A002
    case = id.partition("[")[0]
    known = {"level": 2, "case": case, "devices": PAIR, "proves": ("ops.alone", "copies.apart")}
    return replace(Record(id, outcome), **{**known, **more})  # type: ignore[arg-type]


def ids(folder: Path, devices: tuple[str, ...] = PAIR) -> list[str]:
    """Return the ids of the profile's items."""
    return [i.id for part in planned(PROFILE, corpus(folder), devices) for i in part.items]


def judged(
    folder: Path,
    records: Iterable[Record],
    claims: Iterable[str] = WORDS,
    devices: tuple[str, ...] = PAIR,
    profile: Profile = PROFILE,
    unopened: str = "",
) -> Standing:
    """Return how a run of ``records`` stands in the profile."""
    run = Run({r.id: r for r in records}, frozenset(claims), devices, unopened)
    return standing(profile, planned(profile, corpus(folder), devices), run)
