"""A report holds if it is whole, unedited, in force, and says what follows from its items."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hettest.conformance import bundle, manifest, writing
from hettest.conformance.verifying import Trust, Verdict, contradictions, verify
from hettest.errors import UsageError
from hettest.levels.profile import Profile
from hettest.outcome import Clause, Outcome, Record, Status
from hettest.report import ReportContent
from tests.unit.hettest.conformance.conftest import FAKE, Files, rejudged, run

TODAY = datetime.date(2026, 12, 1)


def check(files: Files, digest: str | None = None) -> Verdict:
    return verify(files, Trust(digest=digest, today=TODAY))


def remade(files: Files, **edits: object) -> Files:
    """Return the files with a manifest that names them as they are, and says ``edits``."""
    made = manifest.read(files[manifest.NAME])
    named = {name: manifest.entry(data) for name, data in files.items() if name in made.files}
    return files | {manifest.NAME: replace(made, files=named, **edits).to_bytes()}  # type: ignore[arg-type]


def edited(files: Files, name: str, before: str, after: str) -> Files:
    text = files[name].decode()
    assert before in text
    return files | {name: text.replace(before, after, 1).encode()}


def test_a_report_of_the_reference_holds(files: Files, content: ReportContent) -> None:
    found = check(files, manifest.digest(files[manifest.NAME]))

    assert found.problems == []
    assert found.content is not None
    assert found.content.standings == content.standings
    assert content.standings[0].level == 3


def test_the_same_run_has_the_same_digest(
    tmp_path: Path, profile: Profile, content: ReportContent, folder: Path
) -> None:
    assert writing.write(tmp_path / "again", content, profile) == writing.write(
        folder, content, profile
    )


def test_an_edited_result_is_found(files: Files) -> None:
    found = check(edited(files, manifest.REPORT, '"passed"', '"failed"'))

    assert any("report.json: found sha256" in problem for problem in found.problems)


def test_an_edited_result_with_new_digests_is_another_report(files: Files) -> None:
    printed = manifest.digest(files[manifest.NAME])
    lying = remade(edited(files, "report.xml", "</testsuite>", "</testsuite><!-- -->"))

    found = check(lying, printed)

    assert any(problem.startswith("the digest is ") for problem in found.problems)


def test_levels_are_told_from_the_items_again(
    tmp_path: Path, profile: Profile, content: ReportContent
) -> None:
    lower = replace(content.records[-1], outcome=Outcome.UNSUPPORTED, lacks=("device:sim",))
    records = (*content.records[:-1], lower)
    counts = {**content.counts, Outcome.PASSED: len(records) - 1, Outcome.UNSUPPORTED: 1}
    writing.write(tmp_path / "x", replace(content, records=records, counts=counts), profile)

    found = check(bundle.read(tmp_path / "x"))

    assert any(p.startswith("mini@1: stated is L3") for p in found.problems)


def test_an_item_left_out_is_missed(
    tmp_path: Path, forge: Callable[[ReportContent, Path], Path], content: ReportContent
) -> None:
    counts = {**content.counts, Outcome.PASSED: len(content.records) - 1}
    fewer = replace(content, records=content.records[:-1], counts=counts)

    found = check(bundle.read(forge(fewer, tmp_path / "x")))

    assert found.content is not None
    assert found.content.standings[0].level == 2


def test_other_forms_must_say_the_same(files: Files) -> None:
    found = check(remade(edited(files, "report.md", "L3 reached", "L4 reached")))

    assert found.problems == ["report.md: does not say what report.json says"]


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ({"profile_sha256": "0" * 64}, "manifest.json: mini@1 has the digest 0000"),
        ({"profile": "other@1"}, "found no profile other@1"),
        ({"backend": "another"}, "backend: the manifest says 'another'"),
        ({"devices": ["cpu:0"]}, "devices: the manifest says ['cpu:0']"),
        ({"partial": "quick"}, "partial: the manifest says 'quick'"),
        ({"suite": {"ops/abs/values.toml": "0" * 64}}, "the suite is not this installation's"),
    ],
)
def test_the_manifest_is_held_to_what_is_known(
    files: Files, edits: dict[str, object], told: str
) -> None:
    found = check(remade(files, **edits))

    assert any(told in problem for problem in found.problems), found.problems


def test_a_profile_with_a_case_less_is_not_the_published_one(files: Files) -> None:
    found = check(remade(edited(files, manifest.PROFILE, "placement/shared_input", "placement/no")))

    assert any(
        problem.startswith("profile.json: mini@1 has the digest") for problem in found.problems
    )


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        (manifest.NAME, b"{", "manifest.json:1: found no JSON"),
        (manifest.NAME, b'{"schema": "hettest-conformance-1"}', "manifest.json: $: "),
        (manifest.REPORT, b"{", "report.json: line 1: found no JSON"),
        (manifest.PROFILE, b"[]", "profile.json: is no profile"),
        (manifest.NAME, b"[" * 200_000, "manifest.json: is nested too deeply"),
        (manifest.PROFILE, b"[" * 200_000, "profile.json: is nested too deeply"),
        (manifest.ENVIRONMENT, b"{", "environment.json:1: found no JSON"),
        (manifest.ENVIRONMENT, b"[]", "environment.json: found a list"),
        ("extra.txt", b"", "extra.txt: the manifest does not name it"),
    ],
)
def test_malformed_parts_are_told(files: Files, name: str, data: bytes, told: str) -> None:
    found = check(files | {name: data})

    assert any(problem.startswith(told) for problem in found.problems), found.problems


@pytest.mark.parametrize("name", [manifest.NAME, manifest.REPORT, manifest.PROFILE])
def test_a_missing_part_is_told(files: Files, name: str) -> None:
    del files[name]

    assert any(name in problem for problem in check(files).problems)


WAIVER = """format = 1
[[waiver]]
case = "placement/*"
stage = "copies"
kind = "permanent"
reason = "copies twice"
owner = "me"
expires = {expires}
"""


def waived(tmp_path: Path, content: ReportContent, profile: Profile, expires: str) -> Files:
    """Return a report one of whose items is waived, and its file of waivers."""
    told = f"permanent: copies twice (me, until {expires})"
    last = replace(content.records[-1], outcome=Outcome.WAIVED, waiver=told)
    records = (*content.records[:-1], last)
    counts = {**content.counts, Outcome.PASSED: len(records) - 1, Outcome.WAIVED: 1}
    file = tmp_path / "acme.toml"
    file.write_text(WAIVER.format(expires=expires))
    made = rejudged(replace(content, records=records, counts=counts))
    writing.write(tmp_path / "waived", made, profile, file)
    return bundle.read(tmp_path / "waived")


def test_a_waiver_in_force_holds(tmp_path: Path, content: ReportContent, profile: Profile) -> None:
    assert check(waived(tmp_path, content, profile, "2027-03-01")).problems == []


def test_an_expired_waiver_does_not(
    tmp_path: Path, content: ReportContent, profile: Profile
) -> None:
    found = check(waived(tmp_path, content, profile, "2026-03-01"))

    assert any("its waiver expired on 2026-03-01" in problem for problem in found.problems)


def test_a_waived_item_needs_a_waiver_in_the_report(
    tmp_path: Path, content: ReportContent, profile: Profile
) -> None:
    files = waived(tmp_path, content, profile, "2027-03-01")

    found = check(remade(edited(files, manifest.WAIVERS, "placement/*", "ops/*")))

    assert any("no waiver of waivers.toml is for it" in problem for problem in found.problems)


def test_a_problem_of_the_run_is_a_problem_of_the_report(
    tmp_path: Path, content: ReportContent, profile: Profile
) -> None:
    writing.write(tmp_path / "x", replace(content, problems=("w.toml:2: expired",)), profile)

    found = check(bundle.read(tmp_path / "x"))

    assert found.problems == ["the run itself had a problem: w.toml:2: expired"]


def test_a_failing_backend_reaches_less_and_is_told_why(profile: Profile) -> None:
    found = run(profile, f"{FAKE}:copy_twice").standings[0]

    assert found.level == 2
    assert found.next[0].blocker is not None
    assert found.next[0].blocker.clause == "copies.shared-input"


def test_a_partial_run_says_so(tmp_path: Path, content: ReportContent, profile: Profile) -> None:
    writing.write(tmp_path / "x", replace(content, partial="a sample of 1 of 8"), profile)
    files = bundle.read(tmp_path / "x")

    found = check(files)

    assert "no evidence of conformance: a sample of 1 of 8" in found.notes
    assert "No evidence of conformance" in files["report.md"].decode().split("Levels")[0]


def test_a_report_is_written_to_no_folder_of_other_things(
    tmp_path: Path, content: ReportContent, profile: Profile
) -> None:
    (tmp_path / "mine.txt").write_text("")

    with pytest.raises(UsageError, match=r"holds mine\.txt, which is no part of a report"):
        writing.write(tmp_path, content, profile)


def test_the_environment_names_the_packages(files: Files) -> None:
    found = json.loads(files[manifest.ENVIRONMENT])

    assert "pytest" in found["installed"]
    assert found["environment"]["python"]


def test_a_number_that_is_none_is_told(files: Files) -> None:
    found = check(edited(files, manifest.REPORT, '"seconds": 0', '"seconds": NaN, "_": 0'))

    assert any("found NaN, expected a finite number" in told for told in found.problems)


FAILED = Clause("copies", Status.FAILED, "found 3", 1)
UNPROVEN = Clause("copies", Status.UNPROVEN, "not shown", 1, word="observe:copies")


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ({"clauses": (FAILED,)}, "is passed, and copies is failed"),
        ({"clauses": (UNPROVEN,)}, "is passed, and copies is unproven"),
        ({"outcome": Outcome.FAILED, "clauses": ()}, "is failed, and neither a clause nor"),
        ({"outcome": Outcome.UNSUPPORTED, "lacks": ()}, "is unsupported, and lacks no word"),
        (
            {"outcome": Outcome.UNSUPPORTED, "clauses": (), "lacks": ("op:zzz",)},
            "is said to lack op:zzz, which it does not require",
        ),
        (
            {"outcome": Outcome.UNSUPPORTED, "requires": ("op:a",), "lacks": ("op:a",)},
            "is said to lack op:a, which the backend claims",
        ),
        (
            {"outcome": Outcome.UNSUPPORTED, "clauses": (FAILED,), "lacks": ("op:a",)},
            "is unsupported, and a clause failed",
        ),
    ],
)
def test_an_outcome_goes_with_its_clauses_and_the_claims(
    content: ReportContent, edits: dict[str, Any], told: str
) -> None:
    record: Record = replace(content.records[-1], **edits)
    claims = (*content.claims, "op:a")

    found = list(contradictions(replace(content, records=[record], claims=claims)))

    assert any(told in problem for problem in found), found


def test_an_item_that_lacks_what_it_was_not_shown_is_no_contradiction(
    content: ReportContent,
) -> None:
    unsupported = replace(content.records[-1], outcome=Outcome.UNSUPPORTED)
    shown = replace(unsupported, clauses=(UNPROVEN,), lacks=("observe:copies",))
    given = replace(unsupported, clauses=(), lacks=("input:hir (no text)",))

    assert list(contradictions(replace(content, records=[shown, given]))) == []


def test_an_item_that_the_suite_has_not_is_told(
    tmp_path: Path, forge: Callable[[ReportContent, Path], Path], content: ReportContent
) -> None:
    strange = replace(content.records[0], id="no/such[plain]")
    counts = {**content.counts, Outcome.PASSED: len(content.records) + 1}
    more = replace(content, records=(*content.records, strange), counts=counts)

    found = check(bundle.read(forge(more, tmp_path / "x")))

    assert found.problems == ["no/such[plain]: is no item of the suite"]
