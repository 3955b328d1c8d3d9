"""An operator is asked for at the dtype that it is applied to, annotated or not."""

from __future__ import annotations

import pytest

from hettest.capability import missing
from hettest.case.requirements import of_program
from hettest.language import parse

HEAD = "module {\n  fn @f(%x: f64[2]) -> f64[2] {\n    return %x\n  }\n  fn @main("


def words(signature: str, *lines: str) -> set[str]:
    body = "\n    ".join(lines)
    found = of_program(parse(f"{HEAD}{signature} {{\n    {body}\n  }}\n}}", "test"))
    return {word for word in found if word.startswith("op:")}


def test_what_an_operator_makes_has_a_dtype() -> None:
    asked = words("%a: f32[n]) -> f32[n]", "%s = add(%a, %a)", "%r = abs(%s)", "return %r")

    assert asked == {"op:add:f32", "op:abs:f32"}


def test_casts_tuples_and_functions_are_followed() -> None:
    asked = words(
        "%a: f32[2]) -> i32[2]",
        "%w = cast(%a, to = f64)",
        "%c = @f(%w)",
        "%t = (%c, %a)",
        "%p = %t[0]",
        "%q = negative(%p)",
        "%r = cast(%q, to = i32)",
        "return %r",
    )

    assert asked == {"op:cast:f32", "op:negative:f64", "op:cast:f64"}


def test_the_result_of_a_choice_is_that_of_its_branches() -> None:
    asked = words(
        "%a: i32[2], %c: bool[]) -> i32[2]",
        "%y = if %c {",
        "  %u = add(%a, %a)",
        "  yield %u",
        "} else {",
        "  %v = multiply(%a, %a)",
        "  yield %v",
        "}",
        "%r = abs(%y)",
        "return %r",
    )

    assert asked == {"op:add:i32", "op:multiply:i32", "op:abs:i32"}


@pytest.mark.parametrize("line", ["%s = frob(%a)", "%s = add(%a)"])
def test_what_is_wrong_with_a_program_is_no_reason_to_stop(line: str) -> None:
    asked = words("%a: f32[2]) -> f32[2]", line, "%r = abs(%s)", "return %r")

    assert "op:abs" in asked


def test_who_declares_one_dtype_is_held_to_programs_without_annotations() -> None:
    asked = words("%a: f32[n]) -> f32[n]", "%s = add(%a, %a)", "%r = add(%s, %a)", "return %r")

    assert not missing(asked, {"op:add:f32"})
    assert missing(asked, {"op:add:f64"})
