"""`hettest backend check` finds what an adapter does wrong, by name, and goes on."""

from __future__ import annotations

import json
import re

import pytest

from hettest.limits import Limits
from hettest.probing.check_catalog import CHECKS
from hettest.probing.checking import OUTPUT, findings
from hettest.probing.finding import Finding, State
from hettest.probing.serving import finding_of
from hettest.probing.specimen import Specimen
from tests.unit.hettest.test_cli import hettest

UNRULY = "tests.unit.hettest.unruly"
PATIENT = Limits()
BRIEF = Limits(seconds=5, start=8)


def checked(backend: str, devices: tuple[str, ...] = (), limits: Limits = PATIENT) -> list[Finding]:
    return list(findings(f"{UNRULY}:{backend}", devices, limits))


def checked_here(backend: str) -> list[Finding]:
    """Make the checks in this process, those that rest on others included."""
    specimen = Specimen(f"{UNRULY}:{backend}")
    found: dict[str, Finding] = {}
    for check in CHECKS:
        if all(need in found and found[need].state is State.OK for need in check.needs):
            found[check.name] = finding_of(check, specimen)
    return list(found.values())


def failed(found: list[Finding]) -> dict[str, str]:
    return {f.check: f.detail for f in found if f.state is State.FAILED}


@pytest.mark.parametrize("backend", ["Backend", "Shows", "OneDtype"])
def test_a_well_behaved_backend_passes_every_check(backend: str) -> None:
    found = checked(backend)

    assert failed(found) == {}
    assert [f.check for f in found] == [*(check.name for check in CHECKS), OUTPUT]


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        ("RaisesInDevices", {"devices": r"devices\(\) raised OSError: libnpu.so.1 is too old"}),
        ("OneResultMore", {"tuples": "returned 3 results, expected 2"}),
        ("TupleOfOne", {"results": "returned a tuple of 1, expected one array, no tuple"}),
        ("WrongDtype", {"results": "result 0 is of float64, expected f32"}),
        ("WrongShape", {"results": r"result 0 has the shape \(6,\), expected \(2, 3\)"}),
        ("ReturnsScalars", {"results": "result 0 is a float32, expected an array: numpy.asarray"}),
        ("ReturnsLists", {"runs": "whose results hold a list, expected arrays"}),
        ("WritesToItsArguments", {"arguments": "wrote to its argument %x"}),
        ("ReturnsItsArgument", {"arguments": "lies in the memory of its argument %x"}),
        ("KeepsReferences", {"references": "something still holds its argument %x, its argument"}),
        (
            "ReusesItsResult",
            {
                "results stay": "the first result of add .* changed when it ran again",
                "references": "still holds result 0",
            },
        ),
        ("Remembers", {"runs again": "gave other results when it ran again"}),
        ("Leaks", {"memory": "cpu:0 has 256 bytes more in use after 6 runs than after 2"}),
        ("ClaimsWhatItHides", {"observations": "claims observe:copies but .* has no copies"}),
        ("ShowsWhatItDoesNotClaim", {"observations": "has copies, but .* not claim observe:copie"}),
        ("WrongDevice", {"placement": "main/%t ran on cpu:0, requested is npu:0"}),
        ("MissingCopy", {"placement": "main/%z was .* read on npu:0 by main/%t, but no transfer"}),
        (
            "MissingSharedCopy",
            {
                "placement": "main/%y was made on cpu:0 and read on npu:0 by main/%t, "
                "but no transfer brought it there: a missing copy"
            },
        ),
        ("ClaimsTooMuch", {"runs": "refused at compile: no kernel for add\nit needs no more than"}),
        (
            "UnknownWords",
            {
                "capabilities": "3 of 5 claims cover nothing:\n"
                "'dtype:f33' covers no dtype: 'f33'; did you mean f32?\n"
                "'observ:copies' is no word: did you mean observe?\n"
                "'op:addd' covers no op: 'addd'; did you mean add?"
            },
        ),
        ("ReadsTextAndAcceptsAll", {"refusals": "a variable that nothing binds is accepted"}),
        ("RefusesAtNoStage", {"refusals": "refused at 'early', expected parse, verify or compile"}),
        ("ClosesOnce", {"closes": r"a second close\(\) raised RuntimeError: closed already"}),
        ("SecondListDiffers", {"devices again": r"a second call of devices\(\) differs: npu:1"}),
        (
            "OddDevices",
            {
                "devices": "a device is called 'NPU 0', expected kind.*\n"
                "npu:1 says kind 'gpu' and index 2, which are not its own\n"
                "npu is called without its index; call it npu:0\n"
                "npu:2 is not available and gives no reason; say what is missing\n"
                "no device is of kind cpu"
            },
        ),
        ("ListsNames", {"devices": r"devices\(\) lists 'cpu:0', expected DeviceInfo"}),
        ("UnclaimedDevice", {"devices claimed": "not claimed: device:dsp"}),
    ],
)
def test_each_fault_is_one_finding_and_the_checks_go_on(
    backend: str, expected: dict[str, str]
) -> None:
    wrong = failed(checked_here(backend))

    for check, detail in expected.items():
        pattern = detail.replace("?\n", "\\?\n").removesuffix("?") + ("\\?" * detail.endswith("?"))
        assert re.search(pattern, wrong.get(check, "")), wrong
    assert set(wrong) == set(expected)


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        ("ExitsInRun", {"runs": "its process ended itself with exit code 3 during: run 'main'"}),
        ("DiesOfScalars", {"results": "its process was killed by SIGSEGV during: run 'main'"}),
        ("PrintsGarbage", {"output": "standard output belongs to reports.*\nduring runs: 'laun"}),
    ],
)
def test_what_ends_the_process_or_prints_is_one_finding_too(
    backend: str, expected: dict[str, str]
) -> None:
    found = checked(backend)

    wrong = failed(found)
    assert all(re.search(detail, wrong.get(check, "")) for check, detail in expected.items()), wrong
    assert set(wrong) == set(expected)
    assert len(found) == len(CHECKS) + 1


@pytest.mark.parametrize(
    ("backend", "check"),
    [("HangsWhenMade", "loads"), ("HangsInDevices", "devices"), ("HangsInRun", "runs")],
)
def test_what_hangs_is_ended(backend: str, check: str) -> None:
    found = checked(backend, limits=BRIEF)

    wrong = failed(found)
    assert set(wrong) == {check}
    assert "no answer within" in wrong[check]


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        (f"{UNRULY}:ExitsWhenMade", "its process ended itself with exit code 0"),
        (f"{UNRULY}:RaisesInName", "cannot be loaded: OSError: nameless"),
        (f"{UNRULY}:Nobody", "has no attribute 'Nobody'"),
        ("no.such.module:Backend", "cannot be loaded: No module named 'no'"),
        ("builtins:dict", "is no backend: it has no method devices, compile, close"),
    ],
)
def test_what_cannot_be_loaded_fails_and_nothing_else_is_checked(
    backend: str, message: str
) -> None:
    loads, *others = findings(backend, (), PATIENT)

    assert (loads.check, loads.state) == ("loads", State.FAILED)
    assert message in loads.detail
    assert {f.state for f in others} == {State.NOT_APPLICABLE}


def test_one_dtype_of_an_operator_is_enough_to_see_placement() -> None:
    (placement,) = (f for f in checked_here("OneDtype") if f.check == "placement")

    assert placement.state is State.OK


def test_a_device_that_is_not_listed_fails() -> None:
    assert failed(checked("Backend", ("cpu:0", "npu:7"))) == {
        "devices": "npu:7 is asked for and not listed"
    }


def test_the_reference_passes() -> None:
    found = list(findings("reference_vm", ("cpu:0", "sim:0"), PATIENT))

    assert failed(found) == {}
    assert sum(f.state is State.OK for f in found) == len(found)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("Backend",), 0),
        (("WrongDtype", "--devices=cpu"), 1),
    ],
)
def test_the_command_ends_with_a_count_and_the_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    code: int,
) -> None:
    backend, *options = args

    ended = hettest(monkeypatch, "backend", "check", f"{UNRULY}:{backend}", *options)

    lines = capsys.readouterr().out.splitlines()
    assert ended == code
    assert lines[0].startswith("ok              loads: ")
    counts = f"{17 - code} ok, {code} failed, 0 not run, 4 not applicable"
    assert lines[-1] == f"{UNRULY}:{backend}: 21 checks: {counts}"


def test_the_command_prints_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = hettest(monkeypatch, "backend", "check", f"{UNRULY}:WrongDtype", "--json")

    told = json.loads(capsys.readouterr().out)
    assert ended == 1
    assert [c["check"] for c in told["checks"] if c["state"] == "failed"] == ["results"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nobody",), "found no backend nobody; installed are"),
        (("reference_vm", "--devices=CPU"), "found 'CPU', expected a device such as cpu"),
        (("reference_vm", "--timeout=soon"), "found a time limit of soon"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    message: str,
) -> None:
    assert hettest(monkeypatch, "backend", "check", *args) == 2
    assert message in capsys.readouterr().err
