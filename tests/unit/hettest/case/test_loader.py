"""A case file is read whole, or refused with the line of what is wrong."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from hettest.case.model import Limits, Marker, Tensor
from hettest.case.tensors import random_elements, value
from hettest.errors import CaseError
from tests.unit.hettest.case.written import PROGRAM, RUN, load_text, text


def test_a_case_is_read(tmp_path: Path) -> None:
    tail = "[expect.moved]\nexact = { copy = 3 }\nat-least = 1\nbytes = { exact = 48 }\n"

    (case,) = load_text(tmp_path, text(head='requires = ["distinct-devices"]', tail=tail))

    assert case.id == "area/name"
    assert case.requires == ("distinct-devices",)
    assert case.policies == ("copy",)
    assert case.program == PROGRAM
    assert case.runs[0].args["a"] == Tensor("f32", (4,), (1, 2, 3, 4))
    assert case.expect.moved is not None
    assert case.expect.moved.number["copy"] == Limits(exact=3, at_least=1)
    assert case.expect.moved.number["replicate"] == Limits(at_least=1)
    assert case.expect.moved.bytes["error"] == Limits(exact=48)


def test_lines_of_the_program_are_lines_of_the_file(tmp_path: Path) -> None:
    content = text()
    (case,) = load_text(tmp_path, content)

    number = PROGRAM.splitlines().index("    %t = multiply(%a, %b)  @accel") + 1

    assert "multiply" in content.splitlines()[case.file_line(number) - 1]


def test_markers_stand_on_their_line_or_the_one_above(tmp_path: Path) -> None:
    program = "module {\n  fn @f( //~ syntax-error\n  }\n  //~^ other-code\n}\n"

    (case,) = load_text(tmp_path, text(program, run=""))

    assert case.refused
    assert case.markers == (Marker("syntax-error", 2), Marker("other-code", 3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("level   = 3", "level   = 9"), "area/name.toml:3: level: 9 is greater than"),
        (("level   = 3", "levle   = 3"), "levle is no key of this table; did you mean level?"),
        (("format  = 1", "format  = 2"), "name.toml:1: format: found 2, expected 1"),
        (("format  = 1", "format  = "), "name.toml:1: Invalid value"),
        (('name   = "plain"', ""), "run[0]: name is missing"),
        (("data = [1, 2, 3, 4]", "data = [1, 2]"), "found 2 elements, expected 4 for [4]"),
        (("data = [1, 2, 3, 4]", 'data = [1], hex = ""'), "run[0].args.a: needs exactly one of"),
        (('dtype = "f32", shape = [4], data = [5', 'dtype = "f33", shape = [4], data = [5'), "f33"),
        (('"placement.operands"', '"Placement"'), "clauses[0]: 'Placement' does not match"),
        (("multiply", "${op}"), "program: ${op} is no name of [sweep]"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(CaseError) as caught:
        load_text(tmp_path, text().replace(*change, 1))

    assert message in str(caught.value)
    assert caught.value.problems[0].line is not None or "is no key" in message


def test_two_runs_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="there is another run named plain"):
        load_text(tmp_path, text(run=RUN + RUN))


def test_a_sweep_gives_a_case_for_each_combination(tmp_path: Path) -> None:
    program = PROGRAM.replace("multiply", "${op}").replace("f32[4]", "f32[${n}]")
    run = RUN.replace("shape = [4]", 'shape = ["${n}"]')
    tail = '[sweep]\nn = [4]\n[sweep.op]\ntimes = "multiply"\nplus = "add"\n'

    cases = load_text(tmp_path, text(program, run, tail=tail))

    assert [case.swept for case in cases] == [("n=4", "op=times"), ("n=4", "op=plus")]
    assert cases[0].program == PROGRAM
    assert "%t = add(%a, %b)" in cases[1].program
    assert cases[1].runs[0].args["a"] == Tensor("f32", (4,), (1, 2, 3, 4))


ROWS = """
[sweep.at]
few = { n = 1, a = { dtype = "f32", shape = [1], data = [3] }, keep = true }
many = { n = 4, a = { dtype = "f32", shape = [4], fill = 0 }, keep = false }
"""


def test_a_row_of_a_sweep_says_several_things_at_once(tmp_path: Path) -> None:
    program = PROGRAM.replace("f32[4]", "f32[${at.n}]") + "// ${at.keep} ${at.a.shape}\n"
    run = re.sub(r"args\.a *= .*", 'args.a = "${at.a}"', RUN)

    few, many = load_text(tmp_path, text(program, run, tail=ROWS))

    assert (few.swept, many.swept) == (("at=few",), ("at=many",))
    assert few.program.endswith("// true [1]\n")
    assert many.program.count("f32[4]") == PROGRAM.count("f32[4]")
    assert few.runs[0].args["a"] == Tensor("f32", (1,), (3,))
    assert many.runs[0].args["a"] == Tensor("f32", (4,), fill=0)


@pytest.mark.parametrize("hole", ["at", "at.m", "at.n.m", "of.n", "at.a.shape.x"])
def test_a_row_without_that_part_is_told(tmp_path: Path, hole: str) -> None:
    program = PROGRAM.replace("f32[4]", f"f32[${{{hole}}}]")

    with pytest.raises(CaseError, match=re.escape(f"program: ${{{hole}}} is no name of [sweep]")):
        load_text(tmp_path, text(program, tail=ROWS))


def test_rows_have_names(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"sweep\.d: has rows without names"):
        load_text(tmp_path, text(tail="[sweep]\nd = [{ n = 1 }]\n"))


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (Tensor("bool", (3,), cycle="edges"), np.array([True, False, True])),
        (Tensor("f32", (), cycle="edges"), np.array(0.5, np.float32)),
        (Tensor("i8", (0, 2), cycle="edges"), np.zeros((0, 2), np.int8)),
        (Tensor("f32", (2,), data=(1, math.inf)), np.array([1, np.inf], np.float32)),
        (Tensor("f32", (1,), hex="0000c07f"), np.array([np.nan], np.float32)),
        (Tensor("u64", (1,), hex="ffffffffffffffff"), np.array([2**64 - 1], np.uint64)),
        (Tensor("bool", (2,), data=(True, False)), np.array([True, False])),
        (Tensor("i8", (2, 0), fill=3), np.zeros((2, 0), np.int8)),
        (Tensor("i64", (), data=(2**62 + 1,)), np.array(2**62 + 1, np.int64)),
    ],
)
def test_tensors_become_arrays(tmp_path: Path, tensor: Tensor, expected: np.ndarray) -> None:
    found = value((tensor,), tmp_path / "x.toml")[0]

    assert isinstance(found, np.ndarray)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_a_tensor_may_lie_in_a_file_beside_the_case(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3, dtype=np.int32))

    found = value(Tensor("i32", (3,), file="x.npy"), tmp_path / "case.toml")

    np.testing.assert_array_equal(np.asarray(found), [0, 1, 2])
    with pytest.raises(CaseError, match=r"found int32\[3\], expected float32\[3\]"):
        value(Tensor("f32", (3,), file="x.npy"), tmp_path / "case.toml")


def _mix(state: int) -> int:
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    return state ^ (state >> 31)


def test_random_elements_are_those_that_the_format_defines() -> None:
    from hettest.case.model import Random

    found = random_elements(Random(7, -1, 1), "f64", (5,))
    counted = random_elements(Random(7, 0, 9), "i32", (1000,))

    expected = [
        -1 + 2 * ((_mix((7 + (i + 1) * 0x9E3779B97F4A7C15) % 2**64) >> 11) / 2**53)
        for i in range(5)
    ]
    assert found.tolist() == expected
    assert set(counted.tolist()) == set(range(10))
