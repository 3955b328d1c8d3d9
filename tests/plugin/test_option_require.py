"""``--het-require`` fails a run that does not reach a level, and says what stands in its way."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run

SUITE = ("--pyargs", "hettest.suite", "--devices=cpu,sim", "--het-level=0", "--het-isolate")


@pytest.mark.parametrize("how", [(), ("-n1",)])
def test_a_level_that_is_not_judged_fails(run: Run, how: tuple[str, ...]) -> None:
    result = run(*SUITE, "--het-require=core@1:L0", "--het-require=core@1:L1", *how)

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["required: core@1:L1 is required: L1 is not judged: none of * items of L1 were selected"]
    )


def test_what_the_backend_could_have_judged_itself_reaches_nothing(run: Run) -> None:
    result = run(*SUITE, "--het-no-isolate", "--het-require=core@1:L0")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["required: core@1:L0 is required, and items were judged in the backend's own process, *"]
    )


@pytest.mark.parametrize("args", [("--devices=cpu,sim",), ()])
def test_tests_of_ones_own_reach_nothing(
    pytester: pytest.Pytester, run: Run, args: tuple[str, ...]
) -> None:
    pytester.makepyfile("def test_it(): pass\n")

    result = run(*args, "--het-require=core@1:L2")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*core@1:L2 is required: no item of core@1 was run"])


def test_the_ini_file_asks_it_of_runs_of_the_corpus_alone(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makeini("[pytest]\nhet_require =\n    core@1:L0\n    core@1:L1\n")
    pytester.makepyfile("def test_it(device): pass\n")

    assert run("--devices=cpu,sim").ret == 0
    result = run(*SUITE)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["required: core@1:L1 is required: *"])


def test_what_names_no_level_is_wrong_usage(run: Run) -> None:
    result = run("--devices=cpu", "--het-require=core@1:L7")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*core@1:L7: core@1 has no L7; it has L0, L1, L2, L3, L4"])
