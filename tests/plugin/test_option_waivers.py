"""``--het-waivers`` makes known faults *waived*; a waiver that is not true fails the run."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run

SHARED = ("--pyargs", "hettest.suite", "--devices=cpu,sim", "-k", "placement/shared_input[plain")
WAIVERS = """
format = 1
[[waiver]]
case = "placement/shared_input"
stage = "values"
kind = "permanent"
reason = "it adds one"
owner = "me"
expires = {expires}
"""


@pytest.fixture
def waivers(pytester: pytest.Pytester) -> str:
    """A waiver for the values of one case, as an option."""
    (pytester.path / "w.toml").write_text(WAIVERS.format(expires="2999-01-01"))
    return "--het-waivers=w.toml"


def test_a_known_fault_is_waived_and_told(run: Run, waivers: str) -> None:
    result = run(*SHARED, waivers, backend="wrong_value")

    assert result.ret == 0
    result.assert_outcomes(xfailed=2)
    result.stdout.fnmatch_lines(["2 items: 0 passed, 0 failed, 0 crashed, *, 2 waived"])
    result.stdout.fnmatch_lines(["*permanent: it adds one (me, until 2999-01-01)*"])


def test_one_that_is_not_needed_fails_the_run(run: Run, waivers: str) -> None:
    result = run(*SHARED, waivers)

    assert result.ret == 1
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*w.toml:3: the waiver of values for * is not needed any more*"])


def test_one_that_has_expired_waives_nothing(
    pytester: pytest.Pytester, run: Run, waivers: str
) -> None:
    (pytester.path / "w.toml").write_text(WAIVERS.format(expires="2020-01-01"))

    result = run(*SHARED, waivers, backend="wrong_value")

    assert result.ret == 1
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*w.toml:3: the waiver of values for * expired on 2020-01-01*"])


@pytest.mark.parametrize("how", [(), ("-n1",)])
def test_a_backend_brings_its_own(pytester: pytest.Pytester, run: Run, how: tuple[str]) -> None:
    result = run(*SHARED, "--het-backend=tests.unit.hettest.moody:BringsWaivers", *how)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*moody_waivers.toml:3: * is not needed any more*"])


def test_a_malformed_file_is_wrong_usage(pytester: pytest.Pytester, run: Run, waivers: str) -> None:
    (pytester.path / "w.toml").write_text(WAIVERS.format(expires='"soon"'))

    result = run("--devices=cpu", waivers)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*w.toml:9: waiver[[]0].expires: found 'soon', expected a date*"])


def test_the_ini_file_names_one_from_where_it_stands(
    pytester: pytest.Pytester, run: Run, waivers: str
) -> None:
    pytester.makeini("[pytest]\nhet_waivers = w.toml\n")
    pytester.mkdir("below")
    pytester.makepyfile("def test_it(): pass\n")

    assert run("--rootdir=.").ret == 0
    (pytester.path / "w.toml").unlink()
    assert run("--rootdir=.").ret == pytest.ExitCode.USAGE_ERROR
