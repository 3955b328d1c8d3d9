"""A profile of three small cases, and reports of runs of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hettest.case.expansion import expand
from hettest.conformance import bundle, running, writing
from hettest.corpus import own_cases
from hettest.levels import profile as profiles
from hettest.levels.freeze import PAIR
from hettest.levels.judged import covered, standings
from hettest.levels.plan import variant
from hettest.levels.profile import Profile, Step
from hettest.options import HetOptions
from hettest.report import ReportContent
from hettest.session import KitSession

CASES = {
    0: "diagnostics/syntax_error",
    2: "ops/abs/values",
    3: "placement/shared_input",
}
FAKE = "tests.unit.hettest.fake_backend"


def _step(level: int, case_id: str) -> Step:
    cases = [case for case in own_cases() if case.id == case_id]
    variants = sorted({variant(i) for case in cases for i in expand(case, PAIR)})
    words = ((f"device:{kind}",) for kind in ("cpu", "sim")) if level == 0 else ()
    return Step(level, None, tuple(words), {case_id: tuple(variants)})


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    """The profile ``mini@1``, the only one that is published while it is there."""
    folder = tmp_path_factory.mktemp("profiles")
    mini = Profile("mini@1", "for tests", tuple(_step(*pair) for pair in CASES.items()))
    (folder / "mini@1.json").write_text(json.dumps(mini.to_json()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, "FOLDER", folder)
        yield mini


def options(backend: str) -> HetOptions:
    return HetOptions(PAIR, None, backend, "incomplete", None, (), False, isolate=True)


def run(profile: Profile, backend: str = "reference_vm") -> ReportContent:
    """Return the report of a run of the profile."""
    items = running.items_of(profile, PAIR)
    return running.run(KitSession(options(backend)), profile, items, list)


@pytest.fixture(scope="module")
def content(profile: Profile) -> ReportContent:
    """A run of the reference, which passes all."""
    return run(profile)


@pytest.fixture(scope="module")
def original(
    tmp_path_factory: pytest.TempPathFactory, profile: Profile, content: ReportContent
) -> Path:
    """The report of that run, for all tests to read."""
    path = tmp_path_factory.mktemp("report") / "original"
    writing.write(path, content, profile)
    return path


@pytest.fixture
def folder(tmp_path: Path, original: Path) -> Path:
    """The report of that run, to be edited."""
    return shutil.copytree(original, tmp_path / "made")


Files = dict[str, bytes]

needs_ssh_keygen = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"
)


@pytest.fixture
def files(original: Path) -> Files:
    return bundle.read(original)


def rejudged(content: ReportContent) -> ReportContent:
    """Return the report with the levels and the coverage that follow from its items."""
    found = standings(content.records, content.claims, content.devices, content.unopened)
    return replace(content, standings=found, coverage=covered(content.records))


@pytest.fixture
def forge(profile: Profile) -> Callable[[ReportContent, Path], Path]:
    """Write a report that states what did not happen, with digests and levels that fit it."""

    def write(content: ReportContent, path: Path) -> Path:
        writing.write(path, rejudged(content), profile)
        return path

    return write


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two private keys, each with its public one beside it."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("mine", "other"):
        args = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(args, check=True)
    return folder / "mine", folder / "other"


def public(key: Path) -> Path:
    return key.with_suffix(".pub")
