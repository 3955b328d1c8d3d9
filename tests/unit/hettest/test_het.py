"""``het.check`` runs a program of one's own CPU-only and placed, and raises what does not hold."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hettest.errors import UsageError
from hettest.runner.het import Het, HetFailure
from tests.unit.hettest import fake_backend
from tests.unit.hettest.case.written import PROGRAM
from tests.unit.hettest.fake_backend import Backend

A = np.arange(4, dtype=np.float32)
B = np.full(4, 3, np.float32)
PAIR = ("cpu:0", "sim:0")


def test_a_report_shows_results_transfers_and_placement() -> None:
    report = Het(Backend()).check(PROGRAM, (A, B), on=PAIR)

    assert isinstance(report.results, np.ndarray)
    np.testing.assert_array_equal(report.results, (A + B) - A * B)
    assert (report.copies, report.moved) == (3, 3)
    assert (report.copied_bytes, report.moved_bytes) == (48, 48)
    assert report.placement["main/%t"] == ("sim:0",)
    assert "values proven" in str(report)


@pytest.mark.parametrize(
    "on", [PAIR, "cpu,sim", "host=cpu,accel=sim:0", {"host": "cpu", "accel": "sim:0"}]
)
def test_devices_are_given_in_order_or_by_role(on: object) -> None:
    report = Het(Backend()).check(PROGRAM, (A, B), on=on)  # type: ignore[arg-type]

    assert report.placement["main/%t"] == ("sim:0",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (fake_backend.wrong_value, "values failed"),
        (fake_backend.wrong_device, "main/%t: found on cpu:0, expected on sim:0"),
        (fake_backend.copy_twice, "copies failed: found 4, expected exactly 3"),
        (fake_backend.drop_copy, "a missing copy, or a false report"),
    ],
)
def test_a_fault_raises_what_was_found_and_what_was_executed(make: object, message: str) -> None:
    assert callable(make)

    with pytest.raises(HetFailure) as caught:
        Het(make()).check(PROGRAM, (A, B), on=PAIR)

    assert message in str(caught.value)
    assert "subtract -> main/%d on cpu:0" in str(caught.value)


def test_a_malformed_program_is_told_with_its_line() -> None:
    with pytest.raises(HetFailure, match=r"program:6:8") as caught:
        Het(Backend()).check(PROGRAM.replace("%d = ", "%d "), (A, B), on=PAIR)

    assert "error[syntax-error]" in str(caught.value)


def test_an_expected_result_is_compared() -> None:
    with pytest.raises(HetFailure, match="expected"):
        Het(Backend()).check(PROGRAM, (A, B), on=PAIR, expected=A)


def test_an_unknown_entry_and_too_few_devices_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="no function @other; it has @main"):
        Het(Backend()).check(PROGRAM, (A, B), on=PAIR, entry="other")
    with pytest.raises(UsageError, match="found 1 devices for the roles @host, @accel"):
        Het(Backend()).check(PROGRAM, (A, B), on="cpu")


def test_arguments_of_the_caller_are_not_handed_over() -> None:
    before = A.copy()

    Het(Backend()).check(PROGRAM, (A, B), on=PAIR)

    np.testing.assert_array_equal(A, before)


def test_a_refusal_is_summed_up_by_its_diagnostic() -> None:
    with pytest.raises(HetFailure) as caught:
        Het(Backend()).check(PROGRAM.replace("%d = ", "%d "), (A, B), on=PAIR)

    assert caught.value.summary.startswith("error[syntax-error]: ")


def test_wrong_values_say_how_many_there_are() -> None:
    with pytest.raises(HetFailure) as caught:
        Het(Backend()).check(PROGRAM, (A, B), on=PAIR, expected=(A + B) - A * B + A)

    assert caught.value.summary.startswith("values: expected: result 0, element [")
    assert "; 3 of 4 elements differ" in caught.value.summary
    assert "the case" not in str(caught.value)


def test_a_device_of_no_known_kind_and_devices_without_roles_are_usage_errors() -> None:
    with pytest.raises(
        UsageError, match="found device zz:0, but fake has devices of kind cpu, sim"
    ):
        Het(Backend()).check(PROGRAM, (A, B), on=PAIR, default="zz")
    with pytest.raises(UsageError, match="found device npu:0, but fake has devices of kind cpu"):
        Het(Backend()).check(PROGRAM, (A, B), on="cpu,npu")
    with pytest.raises(UsageError, match="found 3 devices, cpu:0, sim:0, sim:1, for the roles"):
        Het(Backend()).check(PROGRAM, (A, B), on="cpu,sim,sim:1")


def test_a_wrong_number_of_copies_names_the_values_and_shows_the_program() -> None:
    with pytest.raises(HetFailure) as caught:
        Het(fake_backend.copy_twice()).check(PROGRAM, (A, B), on=PAIR)

    lines = [line.strip() for line in str(caught.value).splitlines()]
    below = lines[lines.index("copies failed: found 4, expected exactly 3") + 1]
    assert re.fullmatch(r"main/%\w+: found 2, expected 1", below)
    first, last = PROGRAM.strip().splitlines()[0], PROGRAM.strip().splitlines()[-1]
    shown = lines[lines.index("program:") + 1 : lines.index("executed:")]
    assert shown[0].endswith(f"| {first}")
    assert shown[-1].endswith(f"| {last}")
