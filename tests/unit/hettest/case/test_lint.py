"""``case check`` finds each broken promise, and nothing in a sound case."""

from __future__ import annotations

from pathlib import Path

import pytest

from hettest.case.lint import problems_in
from tests.unit.hettest.case.written import PROGRAM, RUN, text, write

SOUND = text(
    head='requires = ["distinct-devices"]\npolicies = ["copy", "replicate"]',
    tail='[expect.placement]\nt = "accel"\n[expect.moved]\nexact = 3\nbytes = { exact = 48 }\n',
)


def problems(folder: Path, content: str, name: str = "area/name.toml") -> list[str]:
    return [str(p) for p in problems_in([write(folder, content, name)], folder)]


def test_a_sound_case_has_no_problem(tmp_path: Path) -> None:
    assert problems(tmp_path, SOUND) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("two operators placed apart", "operators should be apart", "says 'should'"),
        ("two operators placed apart", "Two operators placed apart", "begins with a capital"),
        ("two operators placed apart", "two operators placed apart.", "ends in a full stop"),
        ("exact = 3\n", "exact = 4\n", "says exactly 4 under copy; the definition gives 3"),
        ("exact = 48", "exact = 32", "says exactly 32 bytes under copy; the definition gives 48"),
        ('t = "accel"', 'q = "accel"', "the program binds no %q"),
        ('t = "accel"', 't = "gpu"', "@gpu is no role of the program"),
        ("multiply(%a, %b)  @accel", "multiply(%a, %b)", "%t = multiply is not requested"),
        ("multiply(%a, %b)  @accel", "multiply(%a, %b)", "only requested operators may be listed"),
        ("args.b", "args.c", "@main needs an argument b"),
        ("args.b", "args.c", "@main has no parameter c"),
        ('args.b = { dtype = "f32"', 'args.b = { dtype = "i32"', "found i32, expected f32"),
        ("distinct-devices", "many-devices", "many-devices is no word"),
        ("distinct-devices", "many-devices", "three-devices, two-devices, and words that begin"),
        ('t = "accel"', 't = "host"', "says @host, but the program requests @accel"),
        ("multiply(", "multiplie(", "found no operator multiplie; did you mean multiply?"),
        ("%d = subtract", "%d subtract", "[syntax"),
    ],
)
def test_each_broken_promise_is_found(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SOUND

    found = problems(tmp_path, SOUND.replace(old, new, 1))

    assert any(message in problem for problem in found), found


def test_ids_are_areas_and_names_in_snake_case(tmp_path: Path) -> None:
    assert "not area/name" in problems(tmp_path, SOUND, "Area/some-name.toml")[0]
    assert "not area/name" in problems(tmp_path, SOUND, "name.toml")[0]


def test_a_file_gives_at_most_twelve_items(tmp_path: Path) -> None:
    runs = "".join(RUN.replace('"plain"', f'"run{i}"') for i in range(7))

    found = problems(tmp_path, SOUND.replace(RUN, runs))

    assert "gives 14 items on cpu:0, sim:0; at most 12" in found[0]


def test_a_refused_program_is_refused_with_its_marker(tmp_path: Path) -> None:
    malformed = PROGRAM.replace("%d = subtract", "%d subtract")

    right = problems(tmp_path, text(malformed, run=""))

    assert len(right) == 1
    code = right[0].rpartition("[")[2].rstrip("]")
    marked = malformed.replace("%d subtract(%s, %t)  @host", f"%d subtract(%s, %t) //~ {code}")
    assert problems(tmp_path, text(marked, run="")) == []
    other = "%d subtract(%s, %t) //~ shape-mismatch"
    wrong = malformed.replace("%d subtract(%s, %t)  @host", other)
    assert "expected shape-mismatch" in problems(tmp_path, text(wrong, run=""))[0]


def test_an_unknown_operator_is_told_on_its_own_line(tmp_path: Path) -> None:
    wrong = SOUND.replace("multiply(", "multiplie(")
    line = next(n for n, row in enumerate(wrong.splitlines(), 1) if "multiplie" in row)

    assert f"area/name.toml:{line}: program: found no operator" in problems(tmp_path, wrong)[0]


@pytest.mark.parametrize(
    ("level", "change", "message"),
    [
        ("0", ("", ""), "level: a case of level 0 only compiles"),
        ("1", ("", ""), "level: level 1 moves values and computes nothing, found add"),
        ("3", ("add(%a, %b)       @host", "add(%a, %b)"), "level: level 3 leaves nothing to a"),
        ("4", ("add(%a, %b)       @host", "add(%a, %b)"), None),
    ],
)
def test_a_program_asks_for_no_more_than_its_level(
    tmp_path: Path, level: str, change: tuple[str, str], message: str | None
) -> None:
    case = text(PROGRAM.replace(*change)).replace("level   = 3", f"level   = {level}")

    found = problems(tmp_path, case)

    assert found == [] if message is None else any(message in problem for problem in found)


def test_all_of_a_sweep_gives_a_bounded_number_of_items(tmp_path: Path) -> None:
    sweep = f"[sweep]\nn = {list(range(121))}\n"

    found = problems(tmp_path, text(PROGRAM + "// ${n}\n", tail=sweep))

    assert any("gives 121 items on cpu:0, sim:0; at most 120" in problem for problem in found)
