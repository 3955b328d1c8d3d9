"""What people do with pytest beside running it: nothing ends in a traceback, and all is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.plugin.conftest import Run

SUITE = """
def test_one(device): pass
def test_two(device): pass
"""
SHOWING = [
    ("--collect-only",),
    ("--co", "-q"),
    ("--co", "-qq"),
    ("--collect-only", "-v"),
    ("--setup-plan",),
    ("--fixtures",),
    ("--fixtures-per-test",),
    ("--markers",),
    ("--help",),
]


def report(pytester: pytest.Pytester) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((pytester.path / "r.json").read_text())
    return found


def counts(pytester: pytest.Pytester) -> dict[str, int]:
    return {outcome: count for outcome, count in report(pytester)["counts"].items() if count}


@pytest.mark.parametrize("left_out", [(), ("-k", "one"), ("--deselect", "test_it.py::test_one")])
@pytest.mark.parametrize("how", SHOWING)
def test_what_only_shows_tests_counts_none(
    pytester: pytest.Pytester, run: Run, how: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_it=SUITE)

    result = run("--devices=cpu,sim", "--het-report=r.json", *how, *left_out)

    assert result.ret == 0
    result.stdout.no_fnmatch_line("*Error*")
    result.stdout.no_fnmatch_line("*items: *")
    assert not (pytester.path / "r.json").exists()
    if left_out and "--co" in how[0]:
        result.stdout.fnmatch_lines(["deselected: 2 by pytest *"])


def test_a_run_of_setups_alone_runs_no_test(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_it=SUITE)

    result = run("--devices=cpu,sim", "--het-report=r.json", "--setup-only")

    assert result.ret == 6
    assert counts(pytester) == {"not run": 4}


@pytest.mark.parametrize("fixture", ["device", "accelerator", "device_pair"])
def test_a_device_that_is_asked_for_as_a_test_runs_is_refused_and_counted(
    pytester: pytest.Pytester, run: Run, fixture: str
) -> None:
    body = f"def test_{{}}(request): request.getfixturevalue({fixture!r})\n"
    pytester.makepyfile(test_it=body.format("one") + body.format("two"))

    result = run("--devices=cpu,sim", "--het-report=r.json")

    assert result.ret == 1
    assert counts(pytester) == {"failed": 2}
    sentence = f"*the fixture {fixture} was asked for while the test ran *usefixtures(*{fixture}*)*"
    result.stdout.fnmatch_lines([sentence])


@pytest.mark.parametrize("fixture", ["het", "device_map", "het_golden"])
def test_what_needs_no_device_may_be_asked_for_as_a_test_runs(
    pytester: pytest.Pytester, run: Run, fixture: str
) -> None:
    body = f"def test_{{}}(request): assert request.getfixturevalue({fixture!r})\n"
    pytester.makepyfile(test_it=body.format("one") + body.format("two"))

    assert run("--devices=cpu,sim", "--het-report=r.json").ret == 0

    assert counts(pytester) == {"passed": 2}


def test_a_marked_test_may_ask_for_its_device_as_it_runs(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        "import pytest\n\n"
        "@pytest.mark.usefixtures('device')\n"
        "def test_it(request): assert request.getfixturevalue('device').kind in ('cpu', 'sim')\n"
    )

    run("--devices=cpu,sim").assert_outcomes(passed=2)


def test_methods_of_unittest_are_refused_and_counted(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        "import pytest, unittest\n\n"
        "@pytest.mark.usefixtures('device')\n"
        "class TestIt(unittest.TestCase):\n"
        "    def test_it(self): pass\n"
    )

    result = run("--devices=cpu,sim", "--het-report=r.json")

    assert counts(pytester) == {"failed": 1}
    result.stdout.fnmatch_lines(["*pytest does not do with methods of unittest.TestCase*"])


@pytest.mark.parametrize(
    ("fixture", "value", "names"),
    [
        ("device", "cpu", "cpu:0"),
        ("device", "sim:0", "sim:0"),
        ("accelerator", "sim", "sim:0"),
        ("device_pair", ("sim", "cpu"), "sim:0 cpu:0"),
        ("device_pair", ["cpu:0", "sim"], "cpu:0 sim:0"),
    ],
)
def test_a_test_may_name_its_devices(
    pytester: pytest.Pytester, run: Run, fixture: str, value: object, names: str
) -> None:
    pytester.makepyfile(
        "import pytest\n\n"
        f"@pytest.mark.parametrize({fixture!r}, [{value!r}], indirect=True)\n"
        f"def test_it({fixture}):\n"
        f"    found = {fixture} if isinstance({fixture}, tuple) else [{fixture}]\n"
        f"    assert ' '.join(map(str, found)) == {names!r}\n"
    )

    run("--devices=cpu,sim").assert_outcomes(passed=1)


def test_a_test_that_names_another_device_is_left_out_and_counted(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        "import pytest\n\n"
        "@pytest.mark.parametrize('device', ['cpu', 'cuda:1'], indirect=True)\n"
        "def test_it(device): pass\n"
    )

    result = run("--devices=cpu,sim")

    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["deselected: 1 are for cuda:1, not among the named devices"])


@pytest.mark.parametrize(
    ("fixture", "value"),
    [
        ("device", "toaster!"),
        ("device", 5),
        ("device", ("cpu", "sim")),
        ("device", None),
        ("accelerator", "cpu"),
        ("device_pair", "cpu"),
        ("device_pair", ("cpu", "cpu")),
        ("device_pair", ("cpu", "sim", "sim:1")),
        ("het_case", "placement/given"),
    ],
)
def test_another_parameter_is_refused_in_a_sentence(
    pytester: pytest.Pytester, run: Run, fixture: str, value: object
) -> None:
    pytester.makepyfile(
        "import pytest\n\n"
        f"@pytest.mark.parametrize({fixture!r}, [{value!r}], indirect=True)\n"
        f"def test_it({fixture}): pass\n"
    )

    result = run("--devices=cpu,sim")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    line = f"ERROR: *.py::test_it*: the fixture {fixture} is parametrized with *, expected *"
    result.stderr.fnmatch_lines([line])


def test_an_override_of_ones_own_keeps_the_device(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        "import pytest\n\n"
        "@pytest.fixture\n"
        "def device(device): return device\n\n"
        "@pytest.fixture(scope='session')\n"
        "def kept(accelerator): return accelerator\n\n"
        "def test_it(device): assert device.kind in ('cpu', 'sim')\n"
        "def test_session(kept): assert kept.kind == 'sim'\n"
    )

    result = run("--devices=cpu,sim")

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["3 items: 3 passed, *"])


@pytest.mark.parametrize("how", [(), ("-n1",), ("--import-mode=importlib",), ("--rootdir=.",)])
def test_conftest_files_in_subfolders_change_no_count(
    pytester: pytest.Pytester, run: Run, how: tuple[str, ...]
) -> None:
    for folder in ("one", "two"):
        (pytester.path / folder).mkdir()
        (pytester.path / folder / "conftest.py").write_text(
            "import pytest\n\n@pytest.fixture\ndef deep(device): return device\n"
        )
        text = f"def test_{folder}(deep): pass\n"
        (pytester.path / folder / f"test_{folder}.py").write_text(text)

    run("--devices=cpu,sim", "--het-report=r.json", *how)

    assert counts(pytester) == {"passed": 4}


def test_a_part_of_a_test_that_fails_fails_the_item_once(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytest.importorskip("_pytest.subtests", reason="subtests are of pytest 9")
    pytester.makepyfile(
        "def test_it(device, subtests):\n"
        "    for i in range(3):\n"
        "        with subtests.test(i=i): assert i != 1 or device.kind == 'cpu'\n"
    )

    run("--devices=cpu,sim", "--het-report=r.json")

    assert counts(pytester) == {"passed": 1, "failed": 1}
    (failed,) = (item for item in report(pytester)["items"] if item["outcome"] == "failed")
    assert "assert (1 != 1 or" in failed["reason"]


RERUN = """
import pytest

class Attempts:
    '''What a plugin that runs failed tests again does.'''

    def pytest_runtest_protocol(self, item, nextitem):
        from _pytest.runner import runtestprotocol

        for attempt in (1, 2):
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            again = attempt == 1 and any(report.failed for report in reports)
            for report in reports:
                if again and report.failed:
                    report.outcome = "rerun"
                item.ihook.pytest_runtest_logreport(report=report)
                if report.outcome == "rerun":
                    break
            if not again:
                return True

def pytest_configure(config):
    config.pluginmanager.register(Attempts())

def pytest_report_teststatus(report):
    if report.outcome == "rerun":
        return "rerun", "R", "RERUN"
"""
FLAKY = """
import pytest

tries = {}

def try_again(name):
    tries[name] = tries.get(name, 0) + 1
    assert tries[name] > 1

@pytest.fixture
def early(device): try_again(("early", device.name))

@pytest.fixture
def late(device):
    yield
    try_again(("late", device.name))

def test_call(device): try_again(("call", device.name))
def test_setup(early): pass
def test_teardown(late): pass
def test_always(device): assert device.kind == "cpu"
"""


@pytest.mark.parametrize("how", [(), ("-n1",)])
def test_of_several_attempts_the_last_counts(
    pytester: pytest.Pytester, run: Run, how: tuple[str, ...]
) -> None:
    pytester.makeconftest(RERUN)
    pytester.makepyfile(test_it=FLAKY)

    result = run("--devices=cpu,sim", "--het-report=r.json", *how)

    assert result.ret == 1
    assert counts(pytester) == {"passed": 7, "failed": 1}


def test_what_a_conftest_makes_of_a_report_counts(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeconftest(
        "import pytest\n\n"
        "@pytest.hookimpl(wrapper=True)\n"
        "def pytest_runtest_makereport(item, call):\n"
        "    report = yield\n"
        "    if report.when == 'call' and 'leaks' in item.name:\n"
        "        report.outcome, report.longrepr = 'failed', 'it leaks'\n"
        "    if report.when == 'call' and 'known' in item.name:\n"
        "        report.outcome, report.wasxfail = 'skipped', 'known'\n"
        "    return report\n"
    )
    pytester.makepyfile("def test_leaks(device): pass\ndef test_known(device): assert 0\n")

    result = run("--devices=cpu", "--het-report=r.json")

    assert result.ret == 1
    assert counts(pytester) == {"failed": 1, "waived": 1}


@pytest.mark.parametrize(
    ("how", "code", "expected"),
    [
        ((), 6, {"not run": 2}),
        (("--continue-on-collection-errors",), 1, {"passed": 2}),
        (("-n1",), 1, {"passed": 2}),  # pytest-xdist goes on
        (("-n1", "--continue-on-collection-errors"), 1, {"passed": 2}),
    ],
)
def test_a_file_that_cannot_be_collected_is_said(
    pytester: pytest.Pytester,
    run: Run,
    how: tuple[str, ...],
    code: int,
    expected: dict[str, int],
) -> None:
    pytester.makepyfile(test_good=SUITE.partition("def test_two")[0], test_bad="import nowhere\n")

    result = run("--devices=cpu,sim", "--het-report=r.json", *how)

    assert result.ret == code
    assert counts(pytester) == expected
    (problem,) = report(pytester)["problems"]
    assert problem.startswith("test_bad.py could not be collected: ModuleNotFoundError: ")


def test_a_file_that_skips_itself_is_said(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_bad="import pytest\npytest.importorskip('nowhere')\n", test_it=SUITE)

    result = run("--devices=cpu", "--het-report=r.json")

    assert result.ret == 0
    reason = "files that skipped themselves while they were collected"
    assert report(pytester)["deselected"] == {reason: 1}


@pytest.mark.parametrize(
    ("body", "code", "expected"),
    [
        ("pytest.exit('enough', returncode=0)", 6, {"passed": 1, "not run": 2}),
        ("pytest.exit('enough')", 6, {"passed": 1, "not run": 2}),
        ("pytest.exit('enough', returncode=42)", 42, {"passed": 1, "not run": 2}),
        ("raise KeyboardInterrupt", 6, {"passed": 1, "not run": 2}),
        ("raise SystemExit(0)", 1, {"passed": 2, "failed": 1}),
    ],
)
def test_a_test_that_ends_the_run_is_no_success(
    pytester: pytest.Pytester, run: Run, body: str, code: int, expected: dict[str, int]
) -> None:
    pytester.makepyfile(
        "import pytest\n\ndef test_a(device): pass\n"
        f"def test_b(device):\n    {body}\n"
        "def test_c(device): pass\n"
    )

    result = run("--devices=cpu", "--het-report=r.json")

    assert (result.ret, counts(pytester)) == (code, expected)


@pytest.mark.parametrize(("code", "ends"), [(0, 6), (42, 42)])
def test_an_end_before_anything_is_collected_is_no_success(
    pytester: pytest.Pytester, run: Run, code: int, ends: int
) -> None:
    pytester.makeconftest(
        f"import pytest\ndef pytest_sessionstart(): pytest.exit('enough', returncode={code})\n"
    )
    pytester.makepyfile(test_it=SUITE)

    result = run("--devices=cpu", "--het-report=r.json")

    assert (result.ret, counts(pytester)) == (ends, {})
    assert report(pytester)["problems"] == ["the run ended before all tests were collected"]


@pytest.mark.parametrize("hook", ["pytest_runtest_logfinish(nodeid)", "pytest_runtest_teardown()"])
def test_a_plugin_that_breaks_is_no_success(pytester: pytest.Pytester, run: Run, hook: str) -> None:
    pytester.makeconftest(f"def {hook}: raise RuntimeError('boom')\n")
    pytester.makepyfile(test_it=SUITE)

    result = run("--devices=cpu", "--het-report=r.json")

    assert result.ret in (1, 3)
    assert sum(counts(pytester).values()) == 2
    assert counts(pytester).get("passed", 0) < 2


def test_a_plugin_that_breaks_at_the_end_costs_no_report(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makeconftest("def pytest_sessionfinish(): raise RuntimeError('late')\n")
    pytester.makepyfile(test_it=SUITE)

    result = pytester.runpytest_subprocess("--devices=cpu", "--het-report=r.json")

    assert result.ret == 1
    assert counts(pytester) == {"passed": 2}


def test_a_test_that_is_run_twice_ends_twice(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        test_it="count = []\ndef test_it(device): count.append(1) or count[1:] or 1 / 0\n"
    )

    run("--devices=cpu", "--het-report=r.json", "test_it.py", "test_it.py", "--keep-duplicates")

    assert counts(pytester) == {"failed": 1}


@pytest.mark.parametrize(
    "settings",
    ["python_files = check_*.py", "python_functions = check_*", "python_classes = Check*"],
)
def test_the_suite_is_collected_whatever_tests_are_called_here(
    pytester: pytest.Pytester, run: Run, settings: str
) -> None:
    pytester.makeini(f"[pytest]\n{settings}\n")
    pytester.makepyfile(check_it="def check_it(device): pass\n")

    result = run(
        "--devices=cpu,sim", "--pyargs", "hettest.suite", "-k", "placement/shared_input[plain"
    )

    assert result.ret == 0
    result.stdout.fnmatch_lines(["* items: * passed, 0 failed, 0 crashed, 0 not run, *"])


@pytest.mark.parametrize(
    "how", [("--stepwise",), ("--lf",), ("--ff",), ("--nf",), ("--sw", "--sw-skip"), ("-x", "--lf")]
)
def test_orders_and_choices_of_pytest_add_up(
    pytester: pytest.Pytester, how: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_it="def test_a(device): assert 0\n" + SUITE)
    chosen = ("--devices=cpu,sim", "--het-backend=tests.unit.hettest.fake_backend:Backend")
    pytester.runpytest_inprocess(*chosen)

    result = pytester.runpytest_inprocess(*chosen, *how, "--het-report=r.json")

    assert result.ret == 1
    found = report(pytester)
    assert sum(found["counts"].values()) == found["selected"] == len(found["items"])
    assert found["selected"] + sum(found["deselected"].values()) == 6


def test_golden_texts_of_different_tests_have_different_files(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        "import pytest\n\n"
        "@pytest.mark.parametrize('text', ['a/b', 'a b', 'a_b', 'a:b', 'x' * 300])\n"
        "def test_it(het_golden, text): het_golden.check(text)\n\n"
        "class TestOne:\n    def test_it(self, het_golden): het_golden.check('one')\n\n"
        "class TestTwo:\n    def test_it(self, het_golden): het_golden.check('two')\n\n"
        "def test_plain(het_golden): het_golden.check('plain')\n"
    )
    (golden,) = pytester.path.glob("*.py")

    run("--het-update-golden").assert_outcomes(passed=8)
    run().assert_outcomes(passed=8)

    files = sorted(path.name for path in golden.with_suffix(".golden").iterdir())
    assert len(files) == 8
    assert "test_plain.txt" in files
    assert "TestOne.test_it.txt" in files


def test_a_fixture_that_there_is_not_is_the_reason(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_it="def test_one(device, rng): pass")

    result = run("--devices=cpu")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["  test_it.py::test_one*: setup: fixture 'rng' not found"])
