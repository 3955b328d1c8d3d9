"""``--het-lock`` holds a run to a list of items; whatever is missing makes it incomplete."""

from __future__ import annotations

from pathlib import Path

import pytest

from hettest.corpus import own_cases, select
from tests.plugin.conftest import Run

SHARED = ("--pyargs", "hettest.suite", "--devices=cpu,sim", "-k", "placement/shared_input[plain")


@pytest.fixture
def listed(pytester: pytest.Pytester) -> Path:
    """The list of all items of one case."""
    items = select(own_cases(), ("cpu:0", "sim:0"), patterns=("placement/shared_input",)).items
    path = pytester.path / "hettest.lock"
    plain = (item.id for item in items if item.name == "plain")
    path.write_text("# one case\n" + "".join(f"{item}\n" for item in plain))
    return path


def test_a_run_of_what_is_listed_is_whole(run: Run, listed: Path) -> None:
    result = run(*SHARED, "--het-lock=hettest.lock")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*2 items, as hettest.lock lists them"])


@pytest.mark.parametrize("how", [(), ("-n1",)])
def test_a_missing_item_is_not_run_and_named(run: Run, listed: Path, how: tuple[str, ...]) -> None:
    listed.write_text(listed.read_text() + "ops/gone[plain,default=cpu:0]\n")

    result = run(*SHARED, "--het-lock=hettest.lock", *how)

    assert result.ret == 6
    result.stdout.fnmatch_lines(
        [
            "3 items: 2 passed, 0 failed, 0 crashed, 1 not run, *",
            "*1 missing, 0 not listed*",
            "*ops/gone[[]plain,default=cpu:0]: listed in hettest.lock, and not among the items *",
        ]
    )


def test_deselecting_what_is_listed_makes_the_run_incomplete(run: Run, listed: Path) -> None:
    narrower = (*SHARED[:-1], "placement/shared_input[plain and not replicate")

    result = run(*narrower, "--het-lock=hettest.lock")

    assert result.ret == 6
    result.stdout.fnmatch_lines(["2 items: 1 passed, 0 failed, 0 crashed, 1 not run, *"])


def test_what_is_not_listed_is_named(run: Run, listed: Path) -> None:
    *lines, last = listed.read_text().splitlines()
    listed.write_text("\n".join(lines))

    result = run(*SHARED, "--het-lock=hettest.lock")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*0 missing, 1 not listed*"])
    assert f"not listed: {last}" in result.stdout.str()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a  pased\n", "hettest.lock:1: a: found the outcome 'pased', expected one of passed, *"),
        ("a  failed\n", "hettest.lock:1: a: found the outcome 'failed', expected one of passed, *"),
        ("a  passed\na\n", "hettest.lock:2: a is listed on line 1 already"),
        ("", "hettest.lock: lists no item; hettest list --devices=... > hettest.lock writes it"),
        ("a\nb\na\n", "hettest.lock:3: a is listed on line 1 already"),
    ],
)
def test_a_list_that_is_none_is_wrong_usage(
    pytester: pytest.Pytester, run: Run, text: str, message: str
) -> None:
    (pytester.path / "hettest.lock").write_text(text)

    result = run("--devices=cpu", "--het-lock=hettest.lock")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])


@pytest.fixture
def written(run: Run, listed: Path) -> Path:
    """The same list with outcomes, as the plugin writes it."""
    assert run(*SHARED, "--het-lock=hettest.lock", "--het-update-lock").ret == 0
    return listed


def test_a_lock_is_written_with_outcomes(pytester: pytest.Pytester, run: Run) -> None:
    result = run(*SHARED, "--het-lock=new.lock", "--het-update-lock", "-n1")

    assert result.ret == 0
    text = (pytester.path / "new.lock").read_text()
    assert text.startswith("# ")
    assert text.count("  passed on cpu:0 sim:0\n") == 2
    assert run(*SHARED, "--het-lock=new.lock").ret == 0


@pytest.mark.parametrize("how", [(), ("-n1",)])
def test_what_passed_and_is_unsupported_now_fails(
    run: Run, written: Path, how: tuple[str, ...]
) -> None:
    result = run(*SHARED, "--het-lock=hettest.lock", *how, backend="without_add")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["2 items: 0 passed, 2 failed, *", "*: unsupported, and passed by *hettest.lock:2: not *"]
    )


def test_no_lock_cannot_be_written_again(run: Run) -> None:
    result = run("--devices=cpu", "--het-update-lock")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no lock is named that could be written again; *--het-lock=FILE"])
