"""Whether a conformance report is whole, is what it says, and says what follows from its items."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from hettest.capability import missing
from hettest.conformance import manifest, signing
from hettest.conformance.manifest import Manifest
from hettest.conformance.writing import suite_digests
from hettest.corpus import own_cases, select
from hettest.errors import UsageError
from hettest.files.reading import DocumentError, decoded, parse_json
from hettest.levels import profile as profiles
from hettest.levels.judged import covered, standings
from hettest.levels.standing import Standing
from hettest.options import lacking
from hettest.outcome import Outcome, Record, Status
from hettest.report import FORMATS, ReportContent, json_report, makeable
from hettest.report.counting import counted
from hettest.report.provenance import packages
from hettest.waivers.loader import parse as parse_waivers

_DERIVED: Final = tuple(ending for ending in FORMATS if ending != ".json")


@final
@dataclass
class Verdict:
    """What verifying a report found."""

    digest: str
    problems: list[str] = field(default_factory=list)
    """Why the report is not to be trusted; none if it is."""

    notes: list[str] = field(default_factory=list)
    """What a reader should know and does not speak against it."""

    manifest: Manifest | None = None
    """``None`` if it cannot be read; then nothing else was looked at."""

    content: ReportContent | None = None
    """``None`` if the report cannot be read."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What the reader brings to compare with."""

    key: Path | None = None
    """A public key, or a file of allowed signers."""

    digest: str | None = None
    """The digest that was printed when the report was made or packed."""

    today: datetime.date


def verify(files: Mapping[str, bytes], trust: Trust) -> Verdict:
    """Return what is wrong with the report that ``files`` are.

    Raises:
        UsageError: The reader's key cannot be read, or there is no ``ssh-keygen``.
    """
    data = files.get(manifest.NAME)
    if data is None:
        return Verdict("", [f"{manifest.NAME}: is missing; this is no conformance report"])
    verdict = Verdict(manifest.digest(data))
    verdict.problems += _digest_problems(verdict.digest, trust)
    _check_signature(data, files.get(manifest.SIGNATURE), trust, verdict)
    try:
        verdict.manifest = manifest.read(data)
    except ValueError as error:
        verdict.problems.append(str(error))
        return verdict
    verdict.problems += manifest.mismatches(verdict.manifest, files)
    _check_report(verdict.manifest, files, trust, verdict)
    return verdict


def _digest_problems(found: str, trust: Trust) -> Iterator[str]:
    if trust.digest is not None and trust.digest.lower().strip() != found:
        yield f"the digest is {found}, expected {trust.digest}: this is not the report of that name"


def _check_signature(data: bytes, signature: bytes | None, trust: Trust, verdict: Verdict) -> None:
    if signature is None:
        if trust.key is not None:
            verdict.problems.append(f"is not signed, and --key={trust.key} asks for it")
        return
    try:
        if trust.key is not None:
            verdict.notes.append(f"signed by {signing.verify(data, signature, trust.key)}")
            return
        said = signing.consistent(data, signature)
        verdict.notes.append(f"{said}; whose key that is was not checked: give --key")
    except ValueError as error:
        verdict.problems.append(f"{manifest.SIGNATURE}: {error}")


def _check_report(
    made: Manifest, files: Mapping[str, bytes], trust: Trust, verdict: Verdict
) -> None:
    try:
        content = json_report.read(decoded(files.get(manifest.REPORT, b""), manifest.REPORT))
    except ValueError as error:
        verdict.problems.append(f"{manifest.REPORT}: {error}")
        return
    verdict.content = content
    verdict.notes += [
        f"no evidence of conformance: {text}" for text in filter(None, [made.partial])
    ]
    verdict.problems += _disagreements(made, content)
    verdict.problems += _profile_problems(made, files)
    verdict.problems += _environment_problems(files)
    verdict.problems += contradictions(content)
    verdict.problems += _unseparated(content)
    verdict.problems += _waiver_problems(content, files.get(manifest.WAIVERS), trust.today)
    verdict.problems += (f"the run itself had a problem: {text}" for text in content.problems)
    foreign = list(_suite_differences(made))
    verdict.problems += foreign
    if not foreign:
        verdict.problems += _strange(content)
        verdict.problems += _recomputed(made, content)
    verdict.problems += _rendered(made, content, files)
    verdict.notes += _uncompared(files)
    verdict.notes += _versions(made)


def _unseparated(content: ReportContent) -> Iterator[str]:
    """Yield what is wrong if the backend could have reached the judge."""
    if content.in_process is None:
        yield (
            f"{manifest.REPORT}: does not say in which process it was judged: a former hettest "
            "judged in the backend's own, where the backend could change what is found"
        )
    elif content.in_process:
        yield (
            f"{manifest.REPORT}: {counted(content.in_process, 'item')} judged in the backend's own "
            "process, where it could change what is found: no evidence"
        )


def _disagreements(made: Manifest, content: ReportContent) -> Iterator[str]:
    """Yield where the manifest and the report say different things."""
    for name in ("backend", "devices", "partial", "packages"):
        stated, reported = getattr(made, name), getattr(content, name)
        if stated != reported:
            yield f"{name}: the manifest says {stated!r}, {manifest.REPORT} says {reported!r}"


def _profile_problems(made: Manifest, files: Mapping[str, bytes]) -> Iterator[str]:
    try:
        known = profiles.load(made.profile).digest
        held = profiles.from_json(_json(files, manifest.PROFILE)).digest
    except UsageError as error:
        yield f"{error}; a later hettest may have it"
    except DocumentError as error:
        yield str(error)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        yield f"{manifest.PROFILE}: is no profile: {error!r}"
    else:
        for where, digest in ((manifest.NAME, made.profile_sha256), (manifest.PROFILE, held)):
            if digest != known:
                yield f"{where}: {made.profile} has the digest {digest}, published is {known}"


def _environment_problems(files: Mapping[str, bytes]) -> Iterator[str]:
    try:
        found = _json(files, manifest.ENVIRONMENT)
    except DocumentError as error:
        yield str(error)
    else:
        if not isinstance(found, dict):
            yield f"{manifest.ENVIRONMENT}: found a {type(found).__name__}, expected an object"


def _json(files: Mapping[str, bytes], name: str) -> Any:
    return parse_json(decoded(files.get(name, b"{}"), name), name)


def contradictions(content: ReportContent) -> Iterator[str]:
    """Yield where an item's outcome does not go with its clauses, or with what is claimed."""
    for record in content.records:
        if record.case is None:
            continue
        against = [c for c in record.clauses if c.status in (Status.FAILED, Status.UNPROVEN)]
        failed = any(c.status is Status.FAILED for c in against)
        if record.outcome is Outcome.PASSED and against:
            yield f"{record.id}: is passed, and {against[0].name} is {against[0].status}"
        elif record.outcome is Outcome.FAILED and not (failed or record.stage or record.reason):
            yield f"{record.id}: is failed, and neither a clause nor a reason says why"
        elif record.outcome is Outcome.UNSUPPORTED:
            if failed:
                yield f"{record.id}: is unsupported, and a clause failed"
            yield from _unfounded(record, content.claims)


def _unfounded(record: Record, claims: Collection[str]) -> Iterator[str]:
    """Yield which words an unsupported item cannot lack: not required, or claimed."""
    if not record.lacks:
        yield f"{record.id}: is unsupported, and lacks no word"
    unproven = {c.word or c.name for c in record.clauses if c.status is Status.UNPROVEN}
    for word in record.lacks:
        if word.startswith("input:hir (") or word in unproven:
            continue
        if word not in record.requires:
            yield f"{record.id}: is said to lack {word}, which it does not require"
        elif not missing([word], claims):
            yield f"{record.id}: is said to lack {word}, which the backend claims"


def _strange(content: ReportContent) -> Iterator[str]:
    """Yield each conformance item that the suite, which is this installation's, does not have."""
    known = {item.id for item in select(own_cases(), content.devices).items}
    for record in content.records:
        if record.case is not None and record.id not in known:
            yield f"{record.id}: is no item of the suite"


def _waiver_problems(
    content: ReportContent, data: bytes | None, today: datetime.date
) -> Iterator[str]:
    """Yield each waived item that no waiver of the report's own file covers, or none in force."""
    waived = [r for r in content.records if r.outcome is Outcome.WAIVED]
    if not waived:
        return
    try:
        entries = parse_waivers(
            decoded(data or b"format = 1", manifest.WAIVERS), manifest.WAIVERS
        ).entries
    except (UsageError, ValueError) as error:
        yield f"{manifest.WAIVERS}: {error}"
        return
    for record in waived:
        used = [w for w in entries if w.covers(record) and str(w) in record.waiver]
        if not used:
            yield f"{record.id}: is waived, and no waiver of {manifest.WAIVERS} is for it"
        for waiver in used:
            if waiver.has_expired(today):
                yield f"{record.id}: its waiver expired on {waiver.expires} ({waiver.place})"


def _suite_differences(made: Manifest) -> Iterator[str]:
    here = suite_digests()
    names = sorted({*made.suite, *here})
    other = [name for name in names if made.suite.get(name) != here.get(name)]
    if other:
        yield (
            f"the suite is not this installation's: {len(other)} case files differ, first "
            f"{other[0]}; levels cannot be told from the items. Verify with the hettest that made "
            f"it, {made.hettest}"
        )


def _recomputed(made: Manifest, content: ReportContent) -> Iterator[str]:
    """Yield where levels or coverage do not follow from the items."""
    found = standings(content.records, content.claims, content.devices, content.unopened)
    stated = {standing.profile: standing for standing in content.standings}
    for standing in found:
        said = stated.get(standing.profile)
        if said is None and standing.profile == made.profile:
            yield f"{standing.profile}: the report states nothing of it"
        elif said is not None and said != standing:
            follows = f"from the items follows {_told(standing)}"
            yield f"{standing.profile}: stated is {_told(said)}, {follows}"
    if content.coverage != covered(content.records):
        yield "coverage: is not what follows from the items"


def _told(standing: Standing) -> str:
    counts = "; ".join(
        f"{r.name} {r.reach}, {r.passed} of {r.items} passed" for r in standing.rungs
    )
    return "no level" if standing.level is None else f"L{standing.level} ({counts})"


def _rendered(made: Manifest, content: ReportContent, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield which form of the report says something else; only the same kit can tell."""
    if made.packages.get("hettest") != packages("hettest").get("hettest"):
        return
    for ending, form in makeable().items():
        name = f"report{ending}"
        if ending in _DERIVED and name in files and files[name] != form(content, None).encode():
            yield f"{name}: does not say what {manifest.REPORT} says"


def _uncompared(files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield which form of the report cannot be made here, and so was not compared."""
    for ending in _DERIVED:
        lack = lacking(ending)
        if lack is not None and f"report{ending}" in files:
            yield f"report{ending} was not compared with {manifest.REPORT}: {lack}"


def _versions(made: Manifest) -> Iterator[str]:
    here = packages(made.backend)
    for name, digest in made.packages.items():
        if name not in here:
            yield f"{name} is not installed here; the report names its source {digest[:12]}"
        elif here[name] != digest:
            yield f"{name} here has other source than the run had: {here[name][:12]}"


def ran(record: Record) -> bool:
    """Whether the item can be run again: all of cases, but those that were not run."""
    return record.case is not None and record.outcome is not Outcome.NOT_RUN
