"""Reports are held to what was counted, seen and caused; clauses say how well they are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hettest.backend.protocol import Copy, Execution, Observation, Options, Reading
from hettest.case.expansion import expand
from hettest.expect import evidence, placement
from hettest.expect.catalog import CHECKS
from hettest.expect.claims import check as kept_claims
from hettest.expect.situation import Situation
from hettest.outcome import Evidence, Outcome, Record, Status
from hettest.runner import TextProgram, run_item
from hettest.runner.run import Environment
from tests.unit.hettest.case.written import PROGRAM, load_text, text
from tests.unit.hettest.fake_backend import Backend, Fault
from tests.unit.hettest.situations import PAIR, ones, situation

HOST, ACCEL = "cpu:0", "sim:0"
DEVICES = (HOST, ACCEL)
A = np.array([1, 2, 3, 4], np.float32)
B = np.array([5, 6, 7, 8], np.float32)

RIGHT = Observation(
    results=A + B - A * B,
    executions=[
        Execution("add", ("main/%s",), HOST),
        Execution("multiply", ("main/%t",), ACCEL),
        Execution("subtract", ("main/%d",), HOST),
    ],
    copies=[
        Copy(HOST, ACCEL, "main/%a", 16, "read"),
        Copy(HOST, ACCEL, "main/%b", 16, "read"),
        Copy(ACCEL, HOST, "main/%t", 16, "read"),
    ],
)
COUNTED = Reading(launches=1, copies_in=2, copies_out=1, bytes_in=32, bytes_out=16)
METERED = replace(RIGHT, metered={ACCEL: COUNTED})

Doubled = Callable[[str], Observation]


def of(seen: Observation, doubled: Doubled | None = None) -> Situation:
    return situation(PROGRAM, (A, B), seen, doubled=doubled)


def wrong(seen: Observation, doubled: Doubled | None = None) -> str:
    (clause,) = evidence.check(of(seen, doubled))
    return clause.detail if clause.status is Status.FAILED else ""


def grades(found: Situation) -> Mapping[str, Evidence | None]:
    clauses = [clause for check in CHECKS for clause in check(found)]
    graded = evidence.graded(found, clauses)
    return {c.name: c.evidence for c in graded if c.name in evidence.GRADED}


@pytest.mark.parametrize(
    ("reading", "told"),
    [
        (COUNTED, ""),
        (Reading(), ""),
        (replace(COUNTED, launches=4), ""),
        (replace(COUNTED, launches=0), "1 executions are reported, such as that of main/%t"),
        (replace(COUNTED, copies_in=1), "2 transfers in are reported, but the meter counted 1"),
        (replace(COUNTED, copies_out=2), "1 transfers out are reported, but the meter counted 2"),
        (replace(COUNTED, bytes_in=48), "32 bytes in are reported, but the meter counted 48"),
        (replace(COUNTED, bytes_out=8), "16 bytes out are reported, but the meter counted 8"),
    ],
)
def test_what_was_counted_is_what_is_reported(reading: Reading, told: str) -> None:
    found = wrong(replace(RIGHT, metered={ACCEL: reading}))

    assert found.startswith(f"{ACCEL}: {told}") if told else not found


def test_what_needs_a_launch_is_what_the_program_says() -> None:
    views = [replace(e, op="reshape") for e in RIGHT.executions or ()]
    idle = {ACCEL: replace(COUNTED, launches=0)}

    assert "0 launches: a false report of placement" in wrong(
        replace(RIGHT, executions=views, metered=idle)
    )


@pytest.mark.parametrize(("op", "told"), [("compress(%a, %c, axis = 0)", False), ("abs(%a)", True)])
def test_what_is_shown_of_a_variable_is_of_its_last_execution(op: str, told: bool) -> None:
    """Of an operator that ran twice the first result may have been empty, if it can be at all."""
    program = f"""module {{
      vdevice @host, @accel
      fn @main(%a: f32[4], %c: bool[4]) -> f32[?] {{ %t = {op} @accel return %t }}
    }}"""
    ran = Execution(op.partition("(")[0], ("main/%t",), ACCEL)
    seen = replace(
        RIGHT,
        results=A,
        executions=[ran, ran],
        intermediates={"main/%t": A},
        metered={ACCEL: COUNTED},
        copies=None,
    )
    found = situation(program, (A, np.ones(4, np.bool_)), seen)

    clauses = [c for c in evidence.check(found) if c.status is Status.FAILED]

    assert bool(clauses) == told
    if told:
        assert "2 executions are reported" in clauses[0].detail


def test_a_device_that_worked_in_secret_is_named() -> None:
    found = wrong(replace(METERED, metered={ACCEL: COUNTED, "sim:1": Reading(launches=3)}))

    assert found == "sim:1: the meter counted 3 launches, and the report does not name it"


@pytest.mark.parametrize("counted", [0, 1])
def test_a_transfer_of_no_bytes_may_be_left_out_of_what_is_counted(counted: int) -> None:
    program = PROGRAM.replace("[4]", "[0]")
    copies = [Copy(HOST, ACCEL, "main/%a", 0, "read")]
    reading = Reading(launches=0, copies_in=counted, copies_out=0, bytes_in=0, bytes_out=0)
    seen = replace(RIGHT, results=ones(0), copies=copies, metered={ACCEL: reading})

    (clause,) = evidence.check(situation(program, (ones(0), ones(0)), seen))

    assert clause.status is Status.PROVEN, clause.detail


def test_bytes_that_are_not_reported_are_at_most_those_counted() -> None:
    some = [replace(copy, bytes=None) for copy in (RIGHT.copies or ())[:1]]
    seen = replace(METERED, copies=[*some, *(RIGHT.copies or ())[1:]])

    assert not wrong(seen)
    assert "16 bytes in" in wrong(replace(seen, metered={ACCEL: replace(COUNTED, bytes_in=8)}))


def test_the_grade_is_that_of_what_was_counted() -> None:
    assert set(grades(of(RIGHT)).values()) == {Evidence.REPORTED}
    assert set(grades(of(METERED)).values()) == {Evidence.METERED}

    launches = replace(RIGHT, metered={ACCEL: Reading(launches=1)})
    assert grades(of(launches))["placement"] is Evidence.METERED
    assert grades(of(launches))["moved"] is Evidence.REPORTED

    numbers = replace(COUNTED, bytes_in=None)
    partly = grades(of(replace(RIGHT, metered={ACCEL: numbers})))
    assert (partly["arrivals"], partly["moved"]) == (Evidence.METERED, Evidence.REPORTED)


def test_what_is_contradicted_is_no_more_than_reported() -> None:
    lied = replace(RIGHT, metered={ACCEL: replace(COUNTED, launches=0)})

    assert set(grades(of(lied)).values()) == {Evidence.REPORTED}


def test_on_one_device_there_is_no_grade() -> None:
    alone = dict.fromkeys(PAIR, HOST)
    seen = replace(RIGHT, executions=[replace(e, device=HOST) for e in RIGHT.executions or ()])
    found = situation(PROGRAM, (A, B), replace(seen, copies=[]), alone)

    assert set(grades(found).values()) == {None}


def test_arrays_lie_where_their_operator_is_reported() -> None:
    spaces = {"main/%s": HOST, "main/%t": ACCEL, "main/%d": HOST}

    assert grades(of(replace(RIGHT, spaces=spaces)))["placement"] is Evidence.METERED
    partly = {"main/%t": ACCEL}
    assert grades(of(replace(RIGHT, spaces=partly)))["placement"] is Evidence.REPORTED
    assert wrong(replace(RIGHT, spaces=spaces | {"main/%t": HOST})) == (
        "main/%t: reported to have run on sim:0, but its array lies on cpu:0"
    )


def doubling(places: Mapping[str, str]) -> Doubled:
    """Return what doubles each operator's result on the device where it really runs."""

    def run(device: str) -> Observation:
        factor = {name: np.float32(2 if place == device else 1) for name, place in places.items()}
        s, t = (A + B) * factor["s"], A * B * factor["t"]
        return Observation(results=(s - t) * factor["d"])

    return run


PLACES = {"s": HOST, "t": ACCEL, "d": HOST}


def test_results_that_change_as_predicted_show_the_placement() -> None:
    found = of(RIGHT, doubling(PLACES))

    assert found.caused is not None
    assert found.caused.shown == {"main/%s", "main/%t", "main/%d"}
    assert found.caused.devices == (HOST, ACCEL)
    assert grades(found)["placement"] is Evidence.CAUSED


@pytest.mark.parametrize("moved", ["s", "t", "d"])
def test_one_operator_elsewhere_shows(moved: str) -> None:
    elsewhere = {HOST: ACCEL, ACCEL: HOST}[PLACES[moved]]
    found = wrong(RIGHT, doubling(PLACES | {moved: elsewhere}))

    assert "cpu:0: with all that it computes doubled, result 0, element" in found
    assert "it is said to compute main/%s, main/%d: a false report of placement" in found


def test_doubling_that_changes_nothing_shows() -> None:
    assert "sim:0: with all that it computes doubled" in wrong(RIGHT, lambda _: RIGHT)


def test_a_placement_that_is_not_reported_is_proven_by_what_changes() -> None:
    silent = Observation(results=RIGHT.results)
    (clause,) = placement.check(of(silent, doubling(PLACES)))

    assert clause.status is Status.PROVEN
    assert clause.detail == (
        "not reported, but shown by what changed when cpu:0, sim:0 was doubled alone"
    )
    assert grades(of(silent, doubling(PLACES)))["placement"] is Evidence.CAUSED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("multiply(%a, %b)", "exp(%a)"),
        ("multiply(%a, %b)", "where(%a, %a, %b)"),
        ("f32", "i32"),
        ("%s = add(%a, %b) ", "%k = const f32[4] [1.0, 1.0, 1.0, 1.0]\n    %s = add(%k, %k)"),
    ],
)
def test_of_other_programs_nothing_is_doubled(old: str, new: str) -> None:
    def never(device: str) -> Observation:
        raise AssertionError(device)

    found = situation(PROGRAM.replace(old, new), (A, B), RIGHT, doubled=never)

    assert found.caused is None


def test_what_cannot_be_told_apart_is_not_shown() -> None:
    zeros = replace(RIGHT, results=0 * A)
    found = situation(PROGRAM, (0 * A, 0 * B), zeros, doubled=lambda _: zeros)

    assert found.caused is not None
    assert not found.caused.shown
    assert not found.caused.misses
    assert grades(found)["placement"] is Evidence.REPORTED


def test_a_wrong_result_shows_nothing_of_placement() -> None:
    assert of(replace(RIGHT, results=A), lambda _: RIGHT).caused is None


class Doubler(Backend):
    """The fake backend, which doubles when asked to; ``hears`` says whether it listens."""

    hears = True

    @property
    def capabilities(self) -> frozenset[str]:
        return super().capabilities | {"observe:perturbation"}

    def compile(self, program: Any, device_map: Any, options: Options) -> Any:
        heard = options if self.hears else replace(options, perturb=None)
        return super().compile(program, device_map, heard)


class Deaf(Doubler):
    hears = False


def ended(folder: Path, backend: Backend) -> Record:
    tail = '[expect.placement]\nt = "accel"\n'
    (case,) = load_text(folder, text(head='requires = ["distinct-devices"]', tail=tail))
    return run_item(expand(case, DEVICES)[0], Environment(backend, "fake", DEVICES, {}))


def test_the_runner_asks_who_claims_it(tmp_path: Path) -> None:
    record = ended(tmp_path, Doubler())

    assert record.outcome is Outcome.PASSED, record.text
    assert {c.evidence for c in record.clauses if c.name == "placement"} == {Evidence.CAUSED}


def test_who_claims_it_and_does_not_do_it_fails(tmp_path: Path) -> None:
    record = ended(tmp_path, Deaf())

    assert record.outcome is Outcome.FAILED
    assert record.reason.startswith("evidence: cpu:0: with all that it computes doubled")


def test_who_reports_nothing_can_show_placement_by_doubling(tmp_path: Path) -> None:
    record = ended(tmp_path, Doubler(Fault.NO_OBSERVATION))

    status = {c.name: (c.status, c.evidence) for c in record.clauses}
    assert status["placement"] == (Status.PROVEN, Evidence.CAUSED)


def test_what_is_not_shown_is_unobserved(tmp_path: Path) -> None:
    record = ended(tmp_path, Backend(Fault.NO_OBSERVATION))

    status = {c.name: (c.status, c.evidence) for c in record.clauses}
    assert status["placement"] == (Status.UNPROVEN, Evidence.UNOBSERVED)


def test_a_meter_that_is_claimed_reads_every_device_of_the_report() -> None:
    claims = (*Backend().claims, "observe:meter")

    assert [c.detail for c in kept_claims(of(RIGHT), claims)] == [
        "the backend claims observe:meter but its observation has no metered"
    ]
    assert [c.detail for c in kept_claims(of(replace(RIGHT, metered={})), claims)] == [
        "its meter leaves out sim:0"
    ]
    assert not list(kept_claims(of(METERED), claims))


def test_a_meter_counts_no_fewer_than_none() -> None:
    seen = replace(RIGHT, metered={ACCEL: replace(COUNTED, launches=-1)})

    assert [c.detail for c in kept_claims(of(seen), (*Backend().claims, "observe:meter"))] == [
        "its meter counts fewer than no launches on sim:0"
    ]


@pytest.mark.parametrize("executor", ["numpy", "numba"])
@pytest.mark.parametrize("device", [HOST, ACCEL])
def test_the_reference_doubles_what_one_device_computes(executor: str, device: str) -> None:
    from reference_vm.conformance import Backend as Reference

    options = Options(default=HOST, extra={"executor": executor}, perturb=device)
    executable = Reference().compile(TextProgram("doubled", PROGRAM), PAIR, options)

    found = executable.run("main", (A, B)).results

    np.testing.assert_array_equal(np.asarray(found), doubling(PLACES)(device).results)
