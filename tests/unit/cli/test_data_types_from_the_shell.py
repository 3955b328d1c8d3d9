"""Entries that take or give what is no tensor, from the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from reference_vm.cli.main import application

PROGRAM = """module {
  type List[T] { Nil, Cons(T, List[T]) }
  fn @grown(%x: f32[2], %n: i64[]) -> List[f32[2]] attrs { entry = true } {
    %e: List[f32[2]] = Nil()
    %r = @grow(%x, %n, %e)
    return %r
  }
  fn @grow(%x: f32[2], %n: i64[], %l: List[f32[2]]) -> List[f32[2]] {
    %zero = const i64[] 0
    %more = greater(%n, %zero)
    %r = if %more {
      %one = const i64[] 1
      %m = subtract(%n, %one)
      %k = Cons(%x, %l)
      %y = @grow(%x, %m, %k)
      yield %y
    } else {
      yield %l
    }
    return %r
  }
  fn @call(%f: (f32[2]) -> f32[2], %x: f32[2]) -> f32[2] attrs { entry = true } {
    %y = %f(%x)
    return %y
  }
  fn @same(%l: (List[f32[2]], f32[2])) -> (List[f32[2]], f32[2]) attrs { entry = true } {
    return %l
  }
  fn @ranked(%x: f32[...]) -> f32[...] attrs { entry = true } {
    return %x
  }
  fn @large(%x: f32[n, n, n, n]) -> f32[n, n, n, n] attrs { entry = true } {
    return %x
  }
}
"""


@pytest.fixture
def run(tmp_path: Path) -> Any:
    source = tmp_path / "program.hir"
    source.write_text(PROGRAM)

    def invoked(*options: object, **arrays: Any) -> Result:
        given: list[object] = []
        if arrays:
            np.savez(tmp_path / "args.npz", **arrays)
            given = ["--args", tmp_path / "args.npz"]
        words = ["run", source, *options, *given]
        return CliRunner().invoke(application(), [*map(str, words)])

    return invoked


def grown(run: Any, n: int, *options: object) -> Result:
    result = run("--entry", "grown", *options, x=np.array([1, 2], "f4"), n=np.array(n))
    assert isinstance(result, Result)
    return result


@pytest.mark.parametrize(
    ("entry", "message", "hint"),
    [
        ("call", "%f, which is a function, (f32[2]", "choose another with --entry"),
        ("same", "%l, which is of the data type List[f32[2]", "hand it over in Python"),
        ("ranked", "%x, which is f32[...]", "its rank is not known, so --size says nothing"),
    ],
)
def test_what_cannot_be_made_up_is_a_located_error(
    run: Any, entry: str, message: str, hint: str
) -> None:
    said = str(run("--entry", entry).exception)

    assert f"no argument can be made up for {message}" in said
    assert "program.hir:" in said
    assert hint in said


def test_sizes_are_what_to_change_where_they_are_at_fault(run: Any) -> None:
    said = str(run("--entry", "large", "--size", "n=99999999").exception)

    assert "with n=99999999" in said
    assert "choose sizes that fit with --size" in said


def test_an_array_is_no_value_of_a_data_type(run: Any) -> None:
    said = str(
        run("--entry", "same", **{"l.0": np.ones(2, "f4"), "l.1": np.ones(2, "f4")}).exception
    )

    assert "argument %l, item [0]: found an array of 1 axes, expected List[f32[2]" in said


def test_a_value_of_a_data_type_is_printed_field_by_field(run: Any) -> None:
    lines = grown(run, 2).stdout.splitlines()

    assert lines[:6] == [
        "result: Cons",
        "result[1]: float32[2]",
        "[1. 2.]",
        "result[2]: Cons",
        "result[2][1]: float32[2]",
        "[1. 2.]",
    ]
    assert lines[6] == "result[2][2]: Nil"


def test_a_value_of_any_depth_is_printed_in_part(run: Any) -> None:
    result = grown(run, 5000)

    assert result.exit_code == 0
    assert "… and more, of which only the first 1000 values are shown" in result.stdout


def test_a_value_is_written_as_json_unless_it_is_too_deep(run: Any) -> None:
    array = {"dtype": "float32", "shape": [2], "data": [1.0, 2.0]}
    assert json.loads(grown(run, 1, "--json").stdout)["results"] == ["Cons", array, ["Nil"]]

    deep = grown(run, 5000, "--json")
    assert deep.exit_code == 2
    assert "nest deeper than JSON can be written" in " ".join(deep.output.split())


@pytest.mark.parametrize(("entry", "found"), [("grown", "the result is"), ("same", "a result is")])
def test_a_value_of_a_data_type_is_not_written_to_a_file(
    run: Any, tmp_path: Path, entry: str, found: str
) -> None:
    result = run("--entry", entry, "--out", tmp_path / "out.npz")

    assert result.exit_code == 2
    said = " ".join(result.output.replace("│", " ").split())
    assert f"{found} List[f32[2]" in said
    assert "such files hold tensors only; leave it out to see it printed" in said
    assert not (tmp_path / "out.npz").exists()
