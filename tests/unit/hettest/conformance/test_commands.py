"""``hettest conformance run|verify|diff|pack``, from a run to what a stranger finds out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hettest.cli import main as command
from hettest.conformance import bundle, manifest, packing, writing
from hettest.levels.profile import Profile
from hettest.outcome import Outcome
from hettest.report import ReportContent, json_report
from tests.unit.hettest.conformance.conftest import (
    FAKE,
    Files,
    needs_ssh_keygen,
    public,
    rejudged,
)

Hettest = Callable[..., tuple[int, str]]


@pytest.fixture
def hettest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], profile: Profile
) -> Hettest:
    """Run ``hettest conformance`` and return the exit code and all that it printed."""

    def run(*args: object) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["hettest", "conformance", *map(str, args)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            command.main()
        assert isinstance(ended.value.code, int)
        printed = capsys.readouterr()
        return ended.value.code, printed.out + printed.err

    return run


def failing(content: ReportContent) -> ReportContent:
    """Return the report of a run whose last item failed."""
    last = replace(content.records[-1], outcome=Outcome.FAILED, reason="copies: found 3")
    counts = {**content.counts, Outcome.PASSED: len(content.records) - 1, Outcome.FAILED: 1}
    records = (*content.records[:-1], last)
    return rejudged(replace(content, records=records, counts=counts))


def digest_in(printed: str) -> str:
    (line,) = (line for line in printed.splitlines() if line.startswith("digest: "))
    return line.removeprefix("digest: ")


def test_a_run_is_packed_and_verified(hettest: Hettest, tmp_path: Path) -> None:
    out, archive = tmp_path / "out", tmp_path / "x.tar.gz"

    code, printed = hettest("run", "--profile=mini@1", f"--out={out}")
    assert code == 0
    assert "mini@1: L3 reached on cpu:0, sim:0; placement " in printed

    code, packed = hettest("pack", out, f"--out={archive}")
    assert code == 0
    assert digest_in(packed) == digest_in(printed)

    code, found = hettest("verify", archive, f"--digest={digest_in(packed)}")
    unchecked = "signature (no --key), items run again (no --rerun)"
    assert (code, found.splitlines()[-1]) == (0, f"verified; not checked: {unchecked}")
    assert "mini@1: L3 reached" in found


def test_a_sample_says_first_that_it_is_no_evidence(hettest: Hettest, tmp_path: Path) -> None:
    out = tmp_path / "out"

    code, printed = hettest("run", "--profile=mini@1", "--quick=20%", "--seed=3", f"--out={out}")

    assert code == 0
    first, second = printed.splitlines()[1:3]
    assert first.startswith("no evidence of conformance: a sample of ")
    assert "not judged" in second
    code, found = hettest("verify", out)
    assert code == 0
    assert found.startswith("no evidence of conformance: a sample of ")


def test_an_edited_result_in_a_pack_is_detected(
    hettest: Hettest, tmp_path: Path, content: ReportContent, profile: Profile
) -> None:
    """Once clumsily, and once with every digest made anew: then what was printed tells."""
    true, lie = tmp_path / "true", tmp_path / "lie"
    printed = writing.write(true, failing(content), profile)
    writing.write(lie, content, profile)
    files = bundle.read(true)
    clumsy = files | {manifest.REPORT: bundle.read(lie)[manifest.REPORT]}
    packing.pack(clumsy, tmp_path / "clumsy.tar.gz")
    packing.pack(bundle.read(lie), tmp_path / "careful.tar.gz")

    code, found = hettest("verify", tmp_path / "clumsy.tar.gz")
    assert code == 1
    assert "report.json: found sha256" in found

    assert hettest("verify", tmp_path / "careful.tar.gz")[0] == 0
    code, found = hettest("verify", tmp_path / "careful.tar.gz", f"--digest={printed}")
    assert code == 1
    assert f"expected {printed}" in found


@needs_ssh_keygen
def test_a_signed_pack_whose_digests_were_made_anew_is_refused(
    hettest: Hettest,
    tmp_path: Path,
    keys: tuple[Path, Path],
    content: ReportContent,
    profile: Profile,
) -> None:
    true, lie, archive = tmp_path / "true", tmp_path / "lie", tmp_path / "true.tar.gz"
    writing.write(true, failing(content), profile)
    writing.write(lie, content, profile)
    mine = public(keys[0])

    assert hettest("pack", true, f"--sign={keys[0]}")[0] == 0
    code, found = hettest("verify", archive, f"--key={mine}")
    assert code == 0
    assert f"signed by {mine}" in found
    assert "mini@1: L3 is not reached" in found

    forged: Files = bundle.read(lie)
    forged[manifest.SIGNATURE] = bundle.read(archive)[manifest.SIGNATURE]
    packing.pack(forged, archive)
    for args in ((f"--key={mine}",), ()):
        code, found = hettest("verify", archive, *args)
        assert code == 1
        assert "manifest.json.sig: the signature does not hold" in found

    packing.pack(bundle.read(lie), archive)
    code, found = hettest("verify", archive, f"--key={mine}")
    assert code == 1
    assert f"is not signed, and --key={mine} asks for it" in found


def test_a_result_that_does_not_reproduce_is_found(
    hettest: Hettest, tmp_path: Path, folder: Path
) -> None:
    code, found = hettest("verify", folder, "--rerun=100%", "--seed=1")
    unchecked = "signature (no --key), digest (no --digest)"
    assert (code, found.splitlines()[-1]) == (0, f"verified; not checked: {unchecked}")
    assert "(100%, seed 1)" in found

    code, found = hettest("verify", folder, "--rerun=100%", f"--backend={FAKE}:copy_twice")
    assert code == 1
    assert "does not reproduce: reported passed, now failed" in found
    assert found.splitlines()[-1].startswith("not verified: ")


def test_diff_tells_what_became_worse(
    hettest: Hettest, tmp_path: Path, content: ReportContent, folder: Path
) -> None:
    worse = tmp_path / "worse.json"
    worse.write_text(json_report.render(failing(content)))

    assert hettest("diff", folder, folder) == (0, "changes: 0, for the worse: 0\n")
    code, found = hettest("diff", folder, worse)
    assert code == 1
    assert "passed -> failed (worse)" in found
    code, found = hettest("diff", worse, folder, "--json")
    assert code == 0
    assert [c["about"] for c in json.loads(found)] == ["level", "item"]
    assert not any(change["worse"] for change in json.loads(found))


def test_a_report_of_one_form_is_told_against_another(
    tmp_path: Path,
    content: ReportContent,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    former, now, page = (tmp_path / name for name in ("a.json", "b.json", "b.md"))
    former.write_text(json_report.render(content))
    now.write_text(json_report.render(failing(content)))
    args = ["hettest", "report", str(now), f"--against={former}", f"--out={page}", "--format=md"]
    monkeypatch.setattr("sys.argv", args)

    with pytest.raises(SystemExit) as ended:
        command.main()

    assert ended.value.code == 1
    assert "Since the former report" in capsys.readouterr().out
    assert "passed -> failed (worse)" in page.read_text()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("run", "--out=x", "--profile=none@1"), "found no profile none@1"),
        (("run", "--out=x", "--profile=mini@1", "--quick=0"), "expected a part of the items"),
        (("run", "--out=x", "--profile=mini@1", "--backend=nobody"), "found no backend nobody"),
        (("verify", "nothing"), "found no folder and no file"),
        (("verify", "nothing", "--rerun=all"), "expected a part of the items"),
        (("diff", "nothing", "nothing"), "found no folder and no file"),
        (("pack", "nothing"), "found no folder and no file"),
        (("pack", "nothing", "--out=x.zip"), r"the name must end in .tar.gz"),
    ],
)
def test_wrong_usage_ends_with_two_and_says_why(
    hettest: Hettest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    code, printed = hettest(*args)

    assert code == 2
    assert told in printed
    assert list(tmp_path.iterdir()) == []
