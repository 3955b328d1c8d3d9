"""Values of data types as arguments and results of a run: read, judged and exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hettest.backend.protocol import Mode, Observation, Options, Program
from hettest.case.expansion import Item, expand
from hettest.case.lint import problems_in
from hettest.case.tensors import value
from hettest.errors import CaseError
from hettest.export.document import document
from hettest.outcome import Outcome
from hettest.runner import run_item
from hettest.runner.cases import CaseData
from hettest.runner.run import Environment
from reference_vm import conformance
from tests.unit.hettest.case.written import load_text, text, write

DEVICES = ("cpu:0", "sim:0")
LISTS = """module {
  vdevice @host, @accel
  type List[T] { Nil, Cons(T, List[T]) }
  fn @main(%l: List[f32[2]], %k: f32[2]) -> (List[f32[2]], i64[]) {
    %one = const i64[] 1
    %r = match %l {
      Nil => { %z = const i64[] 0 %n = (%l, %z) yield %n }
      Cons(%h, %t) => {
        %g = multiply(%h, %k) @accel
        %u = @main(%t, %k)
        %m = %u[0]
        %c = %u[1]
        %d = add(%c, %one)
        %o = Cons(%g, %m)
        %p = (%o, %d)
        yield %p
      }
    }
    return %r
  }
}
"""
FIRST = '{ dtype = "f32", shape = [2], data = [1, 2] }'
SECOND = '{ dtype = "f32", shape = [2], fill = 3 }'
TWO = f'["Cons", {FIRST}, ["Cons", {SECOND}, ["Nil"]]]'
TIMES = TWO.replace("[1, 2]", "[2, -2]").replace("fill = 3", "data = [6, -3]")


def content(given: str = TWO, wanted: str = TIMES) -> str:
    run = f"""[[run]]
name   = "two"
args.l = {given}
args.k = {{ dtype = "f32", shape = [2], data = [2, -1] }}
result = [{wanted}, {{ dtype = "i64", shape = [], fill = 2 }}]
"""
    return text(LISTS, run).replace("level   = 3", "level   = 5")


def item_of(folder: Path, text_: str) -> Item:
    (case,) = load_text(folder, text_)
    return expand(case, DEVICES)[0]


def judged(item: Item, backend: Any) -> Any:
    return run_item(item, Environment(backend, "reference_vm", DEVICES, {}))


def data(*rows: Sequence[float]) -> Any:
    made: Any = ("Nil",)
    for row in reversed(rows):
        made = ("Cons", np.array(row, np.float32), made)
    return made


def test_a_list_is_read_as_a_tuple_that_begins_with_its_constructor(tmp_path: Path) -> None:
    run = item_of(tmp_path, content()).run
    assert run is not None

    found: Any = value(run.args["l"], tmp_path)

    assert found[0] == found[2][0] == "Cons"
    assert found[2][2] == ("Nil",)
    np.testing.assert_array_equal(found[1], [1, 2])
    np.testing.assert_array_equal(found[2][1], [3, 3])


@pytest.mark.parametrize("executor", ["", *conformance.EXECUTORS])
def test_a_list_comes_in_and_another_goes_out(tmp_path: Path, executor: str) -> None:
    record = judged(item_of(tmp_path, content()), conformance.Backend(executor))

    assert record.outcome is Outcome.PASSED, record.text


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (TIMES.replace("-2]", "-3]"), "element [1]: found -2.0, expected -3.0"),
        ('["Nil"]', "the result[0] is Cons with 2 fields, expected Nil with 0 fields"),
        (
            '["Cons", { dtype = "f32", shape = [2], data = [2, -2] }, ["Nil"]]',
            "the result[0][2] is Cons with 2 fields, expected Nil with 0 fields",
        ),
    ],
)
def test_a_wrong_list_fails(tmp_path: Path, wanted: str, message: str) -> None:
    record = judged(item_of(tmp_path, content(wanted=wanted)), conformance.Backend())

    assert record.outcome is Outcome.FAILED
    assert message in record.text


@dataclass
class Instead:
    """The reference, which returns something else than what it computed."""

    results: Any
    name = "instead"

    def __post_init__(self) -> None:
        self.reference = conformance.Backend()
        self.capabilities = self.reference.capabilities
        self.devices, self.close = self.reference.devices, self.reference.close

    def compile(self, program: Program, roles: Mapping[str, str], options: Options) -> Any:
        self.executable = self.reference.compile(program, roles, options)
        return self

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        return replace(self.executable.run(entry, args), results=self.results)


RIGHT = data([2, -2], [6, -3])
COUNT = np.array(2, np.int64)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ((data([2, -2], [6, -4]), COUNT), "found -4.0, expected -3.0"),
        ((("Kons", *RIGHT[1:]), COUNT), "the result[0][0] is 'Kons', expected 'Cons'"),
        ((RIGHT[1:], COUNT), "is a tuple of 2, expected Cons with 2 fields"),
        ((data([2, -2]), COUNT), "is Nil with 0 fields, expected Cons with 2 fields"),
        ((("Cons", "Nil", RIGHT[1]), COUNT), "results hold a str, expected arrays"),
    ],
)
def test_what_a_backend_returns_is_held_to_the_list(
    tmp_path: Path, results: Any, message: str
) -> None:
    record = judged(item_of(tmp_path, content()), Instead(results))

    assert record.outcome is Outcome.FAILED
    assert message in record.text


def test_the_right_list_passes_whoever_returns_it(tmp_path: Path) -> None:
    record = judged(item_of(tmp_path, content()), Instead((RIGHT, COUNT)))

    assert record.outcome is Outcome.PASSED, record.text


@pytest.mark.parametrize("name", ["cons", "a-b", "9"])
def test_a_name_that_no_constructor_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CaseError, match=f"'{name}' does not match"):
        load_text(tmp_path, content(TWO.replace("Nil", name)))


def test_a_name_stands_first_alone(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="'Nil' is not of type 'object'"):
        load_text(tmp_path, content('["Cons", "Nil"]'))


def test_the_check_of_cases_knows_the_constructors(tmp_path: Path) -> None:
    path = write(tmp_path, content(TWO.replace("Nil", "Null")))

    found = [str(problem) for problem in problems_in([path], tmp_path)]

    assert any("run two.args.l: found Null with 0 fields, expected List" in one for one in found)


@pytest.mark.parametrize("result", ["case", "oracle"])
def test_an_export_says_the_constructors(tmp_path: Path, result: str) -> None:
    said = content()
    if result == "oracle":
        said = "\n".join(
            'result = "oracle"' if line.startswith("result") else line for line in said.split("\n")
        )

    made = document([item_of(tmp_path, said)], CaseData(), [])
    (run,) = made["programs"][0]["runs"]

    assert run["judge"] == result
    for value_ in (run["args"][0]["value"], run["result"][0]):
        assert value_[0] == value_[2][0] == "Cons"
        assert value_[2][2] == ["Nil"]
    assert run["result"][0][2][1]["data"] == [6, -3]


def test_a_long_list_is_judged(tmp_path: Path) -> None:
    """Longer than Python's calls nest."""
    from hettest.judge.nesting import leaves, misfit

    long, longer = data(*[[1, 2]] * 5000), data(*[[1, 2]] * 5001)

    assert sum(1 for _ in leaves(long)) == 5000
    assert misfit(long, data(*[[0, 0]] * 5000)) is None
    assert "expected Cons with 2 fields" in (misfit(long, longer) or "")
