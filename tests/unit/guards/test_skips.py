"""A test that is skipped fails, unless it is listed and what it needs is not here."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.guards.file_access import ROOT
from tests.guards.skips import FILE, expected, is_there

Run = Callable[..., pytest.RunResult]
LISTED = expected(ROOT / FILE)
TESTS = """
import pytest

@pytest.mark.skip(reason="a reason of its own")
def test_mark(): pass

def test_call(): pytest.skip("a reason of its own")

@pytest.mark.parametrize("x", ["a[", "b"])
def test_parameters(x): pytest.importorskip("no_such_package")

@pytest.fixture
def fixture(): pytest.skip("a reason of its own")

def test_fixture(fixture): pass

@pytest.mark.xfail(reason="known", strict=True)
def test_xfail(): assert 0

def test_passes(): pass
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run tests with the plugin and a list of those that may be skipped."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)

    def run_tests(text: str, listed: str, *args: str) -> pytest.RunResult:
        (pytester.path / "tests").mkdir(exist_ok=True)
        (pytester.path / FILE).write_text(listed)
        pytester.makepyfile(test_it=text)
        plugins = (
            "-p",
            "tests.guards.skips",
            "-p",
            "no:hypothesispytest",
            "-p",
            "no:cacheprovider",
        )
        return pytester.runpytest_subprocess(*plugins, *args)

    return run_tests


@pytest.mark.parametrize("args", [(), ("-n2",)], ids=["alone", "xdist"])
def test_who_is_not_listed_fails(run: Run, args: tuple[str, ...]) -> None:
    result = run(TESTS, "# nothing\n", *args)

    counts = result.parseoutcomes()
    assert (counts.get("passed"), counts.get("xfailed")) == (1, 1)
    assert counts.get("failed", 0) + counts.get("errors", 0) == 5
    assert result.ret == 1
    message = "test_it.py::test_call was skipped: Skipped: a reason of its own; put what it needs*"
    result.stdout.fnmatch_lines([message])


def test_who_is_listed_is_skipped_in_a_part_of_the_run_too(run: Run) -> None:
    names = ("mark", "call", "parameters", "fixture")
    listed = "".join(f"test_it.py::test_{n} package no_such_package  # why\n" for n in names)

    run(TESTS, listed).assert_outcomes(passed=1, xfailed=1, skipped=5)
    run(TESTS, listed, "-k", "call").assert_outcomes(skipped=1, deselected=6)


def test_who_is_listed_for_something_that_is_here_fails(run: Run) -> None:
    result = run(TESTS, "test_it.py::test_call package pytest\n", "-k", "call")

    result.assert_outcomes(failed=1, deselected=6)
    result.stdout.fnmatch_lines(["*needs package pytest, which is here"])


def test_a_module_that_is_skipped_whole_fails(run: Run) -> None:
    result = run("import pytest\npytest.importorskip('no_such_package')", "")

    assert result.ret == 2
    result.stdout.fnmatch_lines(["test_it.py was skipped: *no_such_package*"])


@pytest.mark.parametrize("test", LISTED)
def test_what_is_listed_exists_and_has_a_need_that_is_known(test: str) -> None:
    file, _, name = test.partition("::")

    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert is_there(LISTED[test]) in (True, False)


def test_what_is_listed_is_not_in_the_extra_for_development() -> None:
    project = (Path(ROOT) / "pyproject.toml").read_text(encoding="utf-8")
    dev = project.partition("dev = [")[2].partition("\n]")[0]
    packages = {need.split()[1] for need in LISTED.values() if need.startswith("package ")}

    assert {p for p in packages if f'"{p}' in dev} == set()
