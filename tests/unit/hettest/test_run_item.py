"""Each thing that a backend can do wrong ends an item in the outcome that it deserves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hettest.backend.protocol import Observation
from hettest.capability import PINNED
from hettest.case.expansion import expand
from hettest.corpus import own_cases
from hettest.outcome import Clause, Measure, Outcome, Record, Status
from hettest.runner import run_item, story
from hettest.runner.run import Environment
from tests.unit.hettest import fake_backend
from tests.unit.hettest.case.written import PROGRAM, load_text, text
from tests.unit.hettest.fake_backend import Backend

DEVICES = ("cpu:0", "sim:0")
PLACED = text(
    head='requires = ["distinct-devices"]',
    tail='[expect.placement]\nt = "accel"\n[expect.copies]\nexact = 3\n[expect.moved]\nexact = 3\n',
)


def run(
    folder: Path,
    content: str,
    make: Callable[[], Backend] = Backend,
    unavailable: dict[str, str] | None = None,
) -> Record:
    (case,) = load_text(folder, content)
    item = expand(case, DEVICES)[0]
    return run_item(item, Environment(make(), "fake", DEVICES, unavailable or {}))


def failed(record: Record) -> set[str]:
    return {clause.name for clause in record.clauses if clause.status is Status.FAILED}


def test_a_right_backend_passes_with_every_clause_proven(tmp_path: Path) -> None:
    record = run(tmp_path, PLACED)

    assert record.outcome is Outcome.PASSED, record.text
    proven = {clause.name for clause in record.clauses}
    assert proven >= {"values", "placement", "copies", "moved", "arrivals"}


@pytest.mark.parametrize(
    ("make", "clauses"),
    [
        (fake_backend.wrong_value, {"values"}),
        (fake_backend.wrong_device, {"placement", "copies", "moved"}),
        (fake_backend.copy_twice, {"copies", "moved"}),
        (fake_backend.drop_copy, {"copies", "moved", "arrivals"}),
    ],
)
def test_a_fault_fails_by_the_check_of_its_own_kind(
    tmp_path: Path, make: Callable[[], Backend], clauses: set[str]
) -> None:
    record = run(tmp_path, PLACED, make)

    assert record.outcome is Outcome.FAILED
    assert failed(record) == clauses


@pytest.mark.parametrize("make", [fake_backend.copy_twice, fake_backend.drop_copy])
def test_explicit_programs_are_counted_though_the_case_says_no_number(
    tmp_path: Path, make: Callable[[], Backend]
) -> None:
    record = run(tmp_path, text(), make)

    assert {"copies", "moved"} <= failed(record)


def test_a_requested_operator_is_looked_at_though_the_case_does_not_list_it(
    tmp_path: Path,
) -> None:
    assert "placement" in failed(run(tmp_path, text(), fake_backend.wrong_device))


def test_a_failure_tells_found_expected_place_trace_and_replay(tmp_path: Path) -> None:
    record = run(tmp_path, PLACED, fake_backend.wrong_device)

    line = PLACED.splitlines().index("[expect.placement]") + 1
    assert "main/%t: found on cpu:0, expected on sim:0 (@accel)" in record.text
    assert f"area/name.toml:{line}" in record.text
    assert "multiply -> main/%t on cpu:0" in record.text
    assert (
        "hettest run 'area/name[plain,host=cpu:0,accel=sim:0,policy=copy]' "
        "--devices=cpu:0,sim:0 --backend=fake" in record.text
    )


def test_a_record_names_the_case_file_and_not_where_it_lies(tmp_path: Path) -> None:
    record = run(tmp_path, PLACED, fake_backend.wrong_device)
    own = next(case for case in own_cases() if case.id == "placement/shared_input")

    assert "\n  area/name.toml:" in record.text
    assert str(tmp_path) not in record.text
    assert story.file_of(own) == "cases/placement/shared_input.toml"


def test_the_reason_is_what_names_variable_and_devices(tmp_path: Path) -> None:
    dropped = run(tmp_path, PLACED, fake_backend.drop_copy)
    elsewhere = run(tmp_path, PLACED, fake_backend.wrong_device)

    assert dropped.reason.startswith("arrivals: main/%")
    assert "was made on cpu:0 and read on sim:0 by main/%t, but no" in dropped.reason
    assert elsewhere.reason.startswith("placement: main/%t: found on cpu:0, expected on sim:0")


def test_a_failure_shows_the_program_with_the_lines_of_the_case_file(tmp_path: Path) -> None:
    record = run(tmp_path, PLACED, fake_backend.wrong_value)

    place, line = next(
        (number, line) for number, line in enumerate(PLACED.splitlines(), 1) if "%t = mul" in line
    )
    assert f"    {place:>2} | {line}" in record.text.splitlines()


def test_a_long_program_is_cut_in_the_middle(tmp_path: Path) -> None:
    (case,) = load_text(tmp_path, PLACED)
    lines = "\n".join(str(number) for number in range(100))

    shown = list(story.program(replace(case, program=lines, program_line=1)))

    assert len(shown) == story.LONGEST + 2
    assert "    … 60 more …" in shown
    assert shown[-1] == "    100 | 99"


def test_what_cannot_be_observed_is_unsupported_though_the_values_hold(tmp_path: Path) -> None:
    record = run(tmp_path, PLACED, fake_backend.no_observation)

    assert record.outcome is Outcome.UNSUPPORTED
    assert record.reason == "not claimed: observe:placement, observe:copies"
    status = {clause.name: clause.status for clause in record.clauses}
    assert status["values"] is Status.PROVEN
    assert status["copies"] is Status.UNPROVEN


def test_without_expectations_on_copies_values_alone_pass(tmp_path: Path) -> None:
    assert run(tmp_path, text(), fake_backend.no_observation).outcome is Outcome.PASSED


def test_a_missing_word_is_named_before_anything_is_called(tmp_path: Path) -> None:
    record = run(tmp_path, PLACED, lambda: Backend(fake_backend.Fault.CRASH, claims=("op:add",)))

    assert record.outcome is Outcome.UNSUPPORTED
    assert "op:multiply:f32" in record.reason
    assert "device:sim" in record.reason


def test_a_missing_device_is_not_run(tmp_path: Path) -> None:
    record = run(tmp_path, PLACED, unavailable={"sim:0": "none is plugged in"})

    assert (record.outcome, record.reason) == (Outcome.NOT_RUN, "sim:0: none is plugged in")


def test_an_exception_is_a_crash_and_shows_where(tmp_path: Path) -> None:
    record = run(tmp_path, PLACED, fake_backend.crash)

    assert record.outcome is Outcome.CRASHED
    assert record.reason == "RuntimeError: illegal instruction"
    assert "fake_backend.py" in record.text


REFUSED = PROGRAM.replace("%d = subtract(%s, %t)  @host", "%d subtract(%s, %t) //~ syntax-error")


def test_a_program_that_must_be_refused_is(tmp_path: Path) -> None:
    assert run(tmp_path, text(REFUSED, run="")).outcome is Outcome.PASSED


def test_accepting_it_fails(tmp_path: Path) -> None:
    record = run(tmp_path, text(REFUSED, run=""), fake_backend.accept_all)

    assert record.outcome is Outcome.FAILED
    assert "the program was accepted, expected syntax-error on line" in record.text


def test_the_line_and_the_code_count_where_they_are_claimed(tmp_path: Path) -> None:
    elsewhere = REFUSED.replace(" //~ syntax-error", "").replace(
        "return %d", "return %d //~ syntax-error"
    )
    other = REFUSED.replace("syntax-error", "other-code")

    assert run(tmp_path, text(elsewhere, run="")).outcome is Outcome.FAILED
    assert run(tmp_path, text(other, run="")).outcome is Outcome.FAILED

    def silent() -> Backend:
        claims = tuple(c for c in Backend().claims if not c.startswith("diagnostics:"))
        return Backend(claims=claims)

    assert run(tmp_path, text(elsewhere, run=""), silent).outcome is Outcome.PASSED
    assert run(tmp_path, text(other, run=""), silent).outcome is Outcome.PASSED


def test_refusing_what_should_run_fails(tmp_path: Path) -> None:
    record = run(tmp_path, text(REFUSED.replace(" //~ syntax-error", "")))

    assert record.outcome is Outcome.FAILED
    assert "refused at parse with syntax-error, expected to be accepted" in record.text


def test_a_claim_that_the_observation_does_not_keep_fails(tmp_path: Path) -> None:
    class Boaster(Backend):
        @property
        def capabilities(self) -> frozenset[str]:
            return frozenset(self.claims)

    record = run(tmp_path, text(), lambda: Boaster(fake_backend.Fault.NO_OBSERVATION))

    assert "claims observe:placement but its observation has no executions" in record.text


def test_a_looser_bound_is_shown_with_its_reason(tmp_path: Path) -> None:
    tail = '[expect.values]\nulps = 4\nreason = "the engine rounds twice here"\n'

    record = run(tmp_path, text(tail=tail))

    (values,) = (c for c in record.clauses if c.name == "values")
    assert values.detail == "as expected, within 4 ulp, since the engine rounds twice here"
    assert values.measures == (Measure("expected", "holds", 0.0),)
    wrong = run(tmp_path, text(tail=tail), fake_backend.wrong_value)
    assert "element [0]: found 2.0, expected 1.0, within 4 ulp" in wrong.text


def test_a_result_may_be_left_to_the_oracle(tmp_path: Path) -> None:
    literal = '{ dtype = "f32", shape = [4], data = [1, -4, -11, -20] }'
    content = text().replace(f"result = {literal}", 'result = "oracle"')

    assert 'result = "oracle"' in content
    assert run(tmp_path, content).outcome is Outcome.PASSED
    assert failed(run(tmp_path, content, fake_backend.wrong_value)) == {"values"}


def test_what_only_we_pin_is_advisory_for_who_does_not_claim_our_pins(tmp_path: Path) -> None:
    pin = 'name   = "plain"\nadvisory = "nobody else says what this gives"\n'
    content = text().replace('name   = "plain"\n', pin)

    def claiming() -> Backend:
        return Backend(fake_backend.Fault.WRONG_VALUE, claims=(*Backend().claims, PINNED))

    loose, strict = (
        run(tmp_path, content, fake_backend.wrong_value),
        run(tmp_path, content, claiming),
    )

    assert loose.outcome is Outcome.PASSED
    (values,) = (c for c in loose.clauses if c.name == "values")
    assert values.status is Status.ADVISORY
    assert values.detail.endswith("since only we pin it: nobody else says what this gives")
    assert strict.outcome is Outcome.FAILED


def test_what_the_kit_itself_raises_is_not_the_implementations_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(situation: object) -> Iterator[Clause]:
        raise ValueError("a judge's mistake")

    monkeypatch.setattr("hettest.runner.run.CHECKS", (broken,))

    record = run(tmp_path, PLACED)

    assert record.outcome is Outcome.FAILED
    assert record.reason == (
        "the kit itself raised ValueError: a judge's mistake; please report it"
    )
    assert "in broken" in record.text


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(4, np.float32), "run() returned a ndarray, expected an Observation"),
        (None, "run() returned None, expected an Observation"),
        (Observation(results=[np.zeros(4)]), "results hold a list, expected arrays"),  # type: ignore[arg-type]
        (Observation(results=np.zeros(4), copies=[("a", "b")]), "copies hold a tuple"),  # type: ignore[list-item]
        (Observation(results=np.zeros(4), memory=[]), "memory are"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_observation_fails_by_the_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: object, message: str
) -> None:
    monkeypatch.setattr(fake_backend.Executable, "run", lambda *_: answer)

    record = run(tmp_path, PLACED)

    assert record.outcome is Outcome.FAILED
    assert message in record.reason


def test_what_cannot_be_run_fails_by_the_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Backend, "compile", lambda *_: None)

    record = run(tmp_path, PLACED)

    assert record.outcome is Outcome.FAILED
    assert "compile() returned None, expected an object with a method run" in record.reason
