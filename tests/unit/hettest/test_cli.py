"""The commands end with 0, 1, 2 or 6, and speak JSON."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hettest.cli import main as command
from tests.unit.hettest.case.written import text, write

FAKE = "--backend=tests.unit.hettest.fake_backend"
SOUND = text(head='requires = ["distinct-devices"]', tail="[expect.moved]\nexact = 3\n")


def hettest(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    """Return the exit code of the command; items run in this process unless ``args`` isolate.

    Where a level is required, it must not.
    """
    apart = "--isolate" in args or any(arg.startswith("--require") for arg in args)
    here = ["--no-isolate"] if args[0] == "run" and not apart else []
    monkeypatch.setattr("sys.argv", ["hettest", *args, *here])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_case_check_counts_files_and_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, SOUND)

    assert hettest(monkeypatch, "case", "check", str(tmp_path)) == 0
    assert capsys.readouterr().out == "case files: 1, problems: 0\n"

    write(tmp_path, SOUND.replace("exact = 3", "exact = 5"), "area/wrong.toml")
    assert hettest(monkeypatch, "case", "check", str(tmp_path), "--json") == 1
    (problem,) = json.loads(capsys.readouterr().out)
    assert problem["where"] == "expect.moved"
    assert problem["line"] == SOUND.splitlines().index("[expect.moved]") + 1


def test_run_passes_fails_and_is_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, SOUND)
    cases = f"--cases={tmp_path}"

    assert hettest(monkeypatch, "run", cases, f"{FAKE}:Backend") == 0
    assert "1 item: 1 passed" in capsys.readouterr().out
    assert hettest(monkeypatch, "run", cases, f"{FAKE}:copy_twice") == 1
    assert "run it again: hettest run" in capsys.readouterr().out
    cuda = "--devices=cpu,cuda"
    assert hettest(monkeypatch, "run", cases, f"{FAKE}:Backend", cuda) == 6
    assert "no driver" in capsys.readouterr().out
    assert hettest(monkeypatch, "run", cases, f"{FAKE}:Backend", cuda, "--policy=skip") == 0
    assert hettest(monkeypatch, "run", cases, f"{FAKE}:Backend", cuda, "--policy=fail") == 1


def test_a_report_can_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, SOUND)
    report = tmp_path / "report.json"
    args = ("run", f"--cases={tmp_path}", f"{FAKE}:drop_copy", f"--report={report}")

    assert hettest(monkeypatch, *args) == 1
    capsys.readouterr()

    assert hettest(monkeypatch, "report", str(report), f"--junit={tmp_path / 'r.xml'}") == 1
    assert "1 failed" in capsys.readouterr().out
    assert (tmp_path / "r.xml").is_file()


def test_list_names_the_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, SOUND)

    assert hettest(monkeypatch, "list", f"--cases={tmp_path}") == 0
    listed = capsys.readouterr().out
    assert listed == "area/name[plain,host=cpu:0,accel=sim:0,policy=copy]\n"

    assert hettest(monkeypatch, "list", f"--cases={tmp_path}", "--json") == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert (item["level"], item["devices"]) == (3, ["cpu:0", "sim:0"])


def test_doctor_names_backends_and_reasons(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hettest(monkeypatch, "doctor", "--json") == 0

    found = json.loads(capsys.readouterr().out)
    assert {"onnxruntime", "reference_vm"} <= {backend["name"] for backend in found["backends"]}
    for backend in found["backends"]:
        assert all(d["available"] or d["reason"] for d in backend["devices"])


@pytest.mark.parametrize(
    "args",
    [
        ("run", "--devices=sim"),
        ("run", "no/such/case"),
        ("run", "ops/abs", "no/such/case"),
        ("run", "--devices=cpu,simm", "ops/abs"),
        ("run", "--backend=nobody", "ops/abs"),
        ("run", "--policy=never"),
        ("run", "--report=x.pdf"),
        ("list", "--level=9"),
        ("report", "no-such-file.json"),
        ("case", "check", "no-such-folder"),
        ("nonsense",),
    ],
)
def test_wrong_usage_ends_with_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], args: tuple[str, ...]
) -> None:
    assert hettest(monkeypatch, *args) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_malformed_case_ends_with_two_and_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, SOUND.replace("level   = 3", "level   = 8"))

    assert hettest(monkeypatch, "run", f"--cases={tmp_path}", f"{FAKE}:Backend") == 2
    assert f"{path}:3: level: 8 is greater than" in capsys.readouterr().err


def test_ones_own_cases_are_run_again_from_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, SOUND)
    args = (f"--cases={tmp_path}", f"{FAKE}:copy_twice", "--device-map=host=cpu,accel=sim")

    assert hettest(monkeypatch, "run", *args) == 1

    printed = capsys.readouterr().out
    (again,) = (line for line in printed.splitlines() if "run it again" in line)
    assert f"copy_twice --device-map=host=cpu:0,accel=sim:0 --cases={tmp_path}" in again
    assert "expected:" not in printed


def test_a_part_of_the_corpus_is_not_compared_with_the_list_of_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hettest(monkeypatch, "run", "placement/shared_input") == 0

    printed = capsys.readouterr().out
    assert "expected:" not in printed
    assert "deselected:" not in printed


def test_each_pattern_must_match(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hettest(monkeypatch, "run", "placement/shared_input", "nosuch", "--level=4") == 2

    assert "no item matches nosuch on cpu:0, sim:0, up to level 4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("op/add",), "on cpu:0, sim:0; did you mean ops/add or "),
        (("shared_input",), "; did you mean placement/shared_input?"),
        (("zzz",), "; hettest list prints what there is"),
        (
            ("ops/add/floats[brodcast,default=cpu:0]",),
            "; hettest list ops/add/floats --devices=cpu:0,sim:0 prints the items that it has",
        ),
        (
            ("placement/shared_input", "--devices=cpu"),
            "; placement/shared_input is there, but has no item for this choice of devices",
        ),
    ],
)
def test_a_pattern_that_matches_nothing_says_what_may_be_meant(
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert hettest(monkeypatch, "run", *arguments) == 2

    assert said in capsys.readouterr().err


def test_an_xml_report_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.xml"
    path.write_text("<testsuites/>")

    assert hettest(monkeypatch, "report", str(path)) == 2

    assert "reads JSON reports" in capsys.readouterr().err


def test_one_case_can_be_checked_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, SOUND)
    write(tmp_path, "nonsense", "area/other.toml")

    assert hettest(monkeypatch, "case", "check", str(path)) == 0

    assert capsys.readouterr().out == "case files: 1, problems: 0\n"


@pytest.mark.parametrize(
    "command",
    [
        ("list", "--cases={}"),
        ("case", "check", "{}"),
        ("report", "{}"),
        ("conformance", "verify", "{}"),
        ("conformance", "run", "--out={}"),
        ("bench", "compare", "{}", "{}"),
        ("bench", "trend", "{}"),
        ("bench", "import", "{}", "--format=asv", "--out={}"),
        ("waive", "audit", "{}"),
        ("run", "opening", "--lock={}", "--update-lock"),
    ],
)
def test_a_name_that_is_too_long_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word.format("x" * 5000) for word in command]

    assert hettest(monkeypatch, *words) == 2

    assert "File name too long" in capsys.readouterr().err


def test_a_folder_is_no_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hettest(monkeypatch, "report", ".") == 2

    assert "cannot be read: Is a directory" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_a_folder_that_cannot_be_looked_into_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, SOUND)
    write(tmp_path, SOUND, "closed/other.toml")
    scandir = os.scandir

    def scan(folder: str) -> Iterator[os.DirEntry[str]]:  # whoever tests may be root
        if str(folder).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", scan)

    assert hettest(monkeypatch, "list", f"--cases={tmp_path}") == 2

    assert f"{tmp_path / 'closed'}: Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_run_does_without_a_stream_that_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    write(tmp_path, SOUND)
    monkeypatch.setattr(sys, stream, None)

    assert hettest(monkeypatch, "run", f"--cases={tmp_path}", f"{FAKE}:Backend") == 0
