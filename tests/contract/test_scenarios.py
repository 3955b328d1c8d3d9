"""Every scenario, public report and kind of fault has its place, and the place exists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from hettest.case.faults import fault_classes
from hettest.corpus import cases

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "scenarios.md"
ROW = re.compile(
    r"\| ((?:[0-9]{3}|X|A1\.[4-7]|C[02])-[0-9]{2}|B[0-9]{3}|C[0-9]{2}) \| ([^|]+) \| ([^|]+) \|"
)
NAMED = re.compile(r"`([a-z0-9_./]+)`")
NOT_EXPRESSIBLE = "not expressible: "
NO_FEATURE = "no feature yet: "

SCENARIOS: Mapping[str, Iterable[int]] = {
    "000": (
        *(1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26, 27),
        *(29, 30, 31, 33, 34, 35, 37, 38, 39, 41, 42, 43, 45, 46, 47, 49, 50, 51, 53, 54, 55),
        *(57, 58, 59, 61, 62, 63, 65, 66, 67, 69, 70, 71, 73, 74, 75, 77, 78, 79, 81, 82, 83),
        *(85, 86, 87, 89, 90, 91, 93, 94, 95),
    ),
    "002": (
        *(1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26, 27, 29, 30, 31),
        *(33, 34, 35, 37, 38, 39, 41, 42, 47),
    ),
    "003": (
        *(1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26, 27, 29, 30, 31),
        *(33, 34, 35, 37, 38, 39, 41, 42, 43, 45, 46, 47, 49, 50),
    ),
    "X": (1, 2, 3, 6, 7),
    "A1.4": range(1, 11),
    "A1.5": range(1, 6),
    "A1.6": range(1, 17),
    "A1.7": range(1, 10),
    "C0": range(1, 14),
    "C2": range(1, 22),
}
REPORTS = (
    *(1, 3, 5, 7, 9, 10, 12, 14, 16, 18, 19, 21, 22, 24, 25, 27, 29, 31, 33, 34, 36, 38, 40, 41),
    *(43, 45, 47, 49, 51, 52, 54, 56, 57, 59, 61, 62, 64, 65, 67, 69, 71, 72, 74, 76, 78, 79, 81),
    *(83, 85, 87, 89, 91, 93, 95, 97, 99, 101, 103, 105, 107, 109, 110, 112, 113, 115, 117, 119),
    *(120, 122, 124, 125, 127, 128, 130, 132, 134),
)


def wanted() -> list[str]:
    scenarios = [f"{group}-{n:02}" for group, numbers in SCENARIOS.items() for n in numbers]
    return scenarios + [f"B{n:03}" for n in REPORTS] + list(fault_classes())


def rows() -> list[tuple[str, str, str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    found = [ROW.fullmatch(line) for line in lines]
    return [(row[1], row[2].strip(), row[3].strip()) for row in found if row is not None]


def files(where: str) -> Iterator[Path]:
    """Yield the file of each case, golden file or test that a cell names."""
    for name in NAMED.findall(where):
        if name.startswith("tests/"):
            yield ROOT / name
        elif name.endswith(".hir"):
            yield ROOT / "tests" / "golden" / "passes" / name
        else:
            yield from _cases(name)


def _cases(name: str) -> Iterator[Path]:
    folder = ROOT / "cases" / name
    if folder.is_dir():
        yield from folder.glob("*.toml")
    else:
        yield folder.with_name(f"{folder.name}.toml")


def has_reason(where: str) -> bool:
    """Whether a cell says why there is no file, in words that are known."""
    if where.startswith(NOT_EXPRESSIBLE):
        return True
    features = [c.feature for c in fault_classes().values() if c.feature is not None]
    reason = where.removeprefix(NO_FEATURE)
    return where != reason and any(f == reason or f.startswith(f"{reason}:") for f in features)


@cache
def faults() -> Mapping[Path, str | None]:
    """Return the kind of fault of each case file."""
    return {case.path: case.fault for case in cases(ROOT / "cases")}


def test_every_scenario_is_listed_once() -> None:
    assert [name for name, _, _ in rows()] == wanted()


@pytest.mark.parametrize(("name", "what", "where"), rows(), ids=[row[0] for row in rows()])
def test_what_is_named_exists(name: str, what: str, where: str) -> None:
    named = list(files(where))

    assert named or has_reason(where), f"{name} has neither a file nor a reason"
    assert [str(path) for path in named if not path.is_file()] == []


def test_every_case_for_a_public_report_is_named() -> None:
    named = {path for _, _, where in rows() for path in files(where)}

    assert set((ROOT / "cases" / "bugs").rglob("*.toml")) <= named


@pytest.mark.parametrize(("name", "report"), [(n, r) for n, r, _ in rows() if n.startswith("B")])
def test_a_report_is_the_origin_of_a_case(name: str, report: str) -> None:
    (where,) = (w for n, _, w in rows() if n == name)
    named = list(files(where))
    cases = [path for path in named if path.suffix == ".toml"]
    if not cases:
        assert has_reason(where) or named
        return

    origins = [re.findall(r'^origin += "(.*)"', p.read_text("utf-8"), re.MULTILINE) for p in cases]

    assert [report] in origins


@pytest.mark.parametrize(("name", "what", "where"), [r for r in rows() if r[0] in fault_classes()])
def test_a_kind_of_fault_has_cases_or_a_feature_to_wait_for(
    name: str, what: str, where: str
) -> None:
    kind = fault_classes()[name]
    assert what == kind.name
    if kind.feature is not None:
        assert where == f"{NO_FEATURE}{kind.feature}"
        return
    if kind.tests:
        assert [path.relative_to(ROOT).as_posix() for path in files(where)] == list(kind.tests)
        return

    assert {faults()[path] for path in files(where)} == {name}
