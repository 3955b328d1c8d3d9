"""What commands print is shown by any terminal, or is whole JSON; no room is no traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given

from hettest.cli import output
from hettest.outcome import Outcome, Record
from hettest.report import write
from tests.unit.hettest.files.hostile_text import NASTY, hidden, texts
from tests.unit.hettest.report.made import content

EVERYTHING = "".join(NASTY)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report whose reason is text of all kinds."""
    path = tmp_path_factory.mktemp("report") / "report.json"
    write(path, content([Record("a/b[x]", Outcome.FAILED, EVERYTHING, text=EVERYTHING)]))
    return path


def reported(report: Path, *args: str, encoding: str = "utf-8") -> subprocess.CompletedProcess[str]:
    code = "from hettest.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "report", str(report), *args],
        capture_output=True,
        encoding=encoding,
        env={"PYTHONIOENCODING": encoding, "PATH": "/usr/bin:/bin"},
        check=False,
    )


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "cp1252"])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_any_encoding_of_the_terminal_will_do(
    form: tuple[str, ...], encoding: str, report: Path
) -> None:
    done = reported(report, *form, encoding=encoding)

    assert (done.returncode, done.stderr) == (1, "")
    assert not hidden(done.stdout)
    if form == ("--json",):
        assert json.loads(done.stdout)["items"][0]["outcome"] == "failed"


def test_a_path_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    done = reported(Path(f"{tmp_path}/\udcff\x1b[2J.json"))

    assert done.returncode == 2
    assert r"\udcff\x1b[2J.json: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("args", [("report", "REPORT"), ("--help",)])
def test_no_room_for_the_output_is_told(
    report: Path, args: tuple[str, ...], unbuffered: str
) -> None:
    code = "from hettest.cli.main import main; main()"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *(a.replace("REPORT", str(report)) for a in args)],
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    told = "hettest: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, told)


@pytest.mark.parametrize("args", [("list", "--devices=cpu,sim"), ("--help",)])
def test_a_reader_that_has_seen_enough_is_told_nothing(args: tuple[str, ...]) -> None:
    code = "from hettest.cli.main import main; main()"
    read, write_end = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", code, *args], stdout=write_end, stderr=subprocess.PIPE, check=False
    )
    os.close(write_end)

    assert done.stderr == b""


@given(texts())
def test_json_is_strict_and_ascii_whatever_it_holds(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        printed = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        patch.setattr(sys, "stdout", printed)
        output.echo_json({text: [text, float("nan")]})
        printed.flush()
        found = json.loads(printed.buffer.getvalue())

    ((_, (_, number)),) = found.items()
    assert number is None
