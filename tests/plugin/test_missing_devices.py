"""A device that is asked for and missing never looks like success, whoever asks, and how."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import FAKE, PROGRAM, Run
from tests.unit.hettest.fake_backend import MISSING
from tests.unit.hettest.unruly import ABSENT

UNRULY = "tests.unit.hettest.unruly"

HEAD = f"import numpy as np\nimport pytest\n{PROGRAM}\nARGS = (np.ones(4, np.float32),) * 2\n"
USES = {
    "device": "def test_it(device): pass\n",
    "accelerator": "def test_it(accelerator): pass\n",
    "device_pair": "def test_it(device_pair): pass\n",
    "device_map": "def test_it(device_map): pass\n",
    "het on the pair": (
        "def test_it(het, device_pair): het.check(PROGRAM, ARGS, on=device_pair)\n"
    ),
    "het by name": "def test_it(het): het.check(PROGRAM, ARGS, on='cpu,cuda')\n",
    "het by role": "def test_it(het): het.check(PROGRAM, ARGS, on='host=cpu,accel=cuda')\n",
    "het by map": "def test_it(het, device_map): het.check(PROGRAM, ARGS, on=device_map)\n",
    "het with a default": (
        "def test_it(het): het.check(PROGRAM, ARGS, on='cpu,sim', default='cuda')\n"
    ),
    "het prepared": "def test_it(het): het.prepare(PROGRAM, on='cpu,cuda')\n",
    "het in a fixture": (
        "@pytest.fixture\n"
        "def ready(het): return het.prepare(PROGRAM, on='cpu,cuda')\n"
        "def test_it(ready): pass\n"
    ),
    "het_benchmark": "def test_it(het_benchmark): het_benchmark(PROGRAM, ARGS, on='cpu,cuda')\n",
    "het_golden": (
        "def test_it(het_golden, het, device_pair):\n"
        "    het_golden.check(str(het.check(PROGRAM, ARGS, on=device_pair)))\n"
    ),
    "het_case": (
        "def test_it(het_case, request):\n"
        "    from hettest.items import conclude\n"
        "    from hettest.session import KEY\n"
        "    conclude(request.node, request.config.stash[KEY].run(het_case))\n"
    ),
}
CODES = {"incomplete": 6, "fail": 1, "skip": 0}


@pytest.mark.parametrize("policy", CODES)
def test_what_is_asked_for_and_missing_ends_as_the_policy_says(
    pytester: pytest.Pytester, run: Run, policy: str
) -> None:
    files = {f"test_{number}": HEAD + text for number, text in enumerate(USES.values())}
    pytester.makepyfile(**files)

    result = run(
        "--devices=cpu,cuda", "--het-level=0", f"--het-policy={policy}", "--het-report=report.json"
    )

    assert result.ret == CODES[policy], result.stdout.str()
    records = json.loads((pytester.path / "report.json").read_text())["items"]
    for number, use in enumerate(USES):
        mine = [r for r in records if f"test_{number}.py" in r["id"]]
        mine += [r for r in records if use == "het_case" and "case" in r]
        missed = [r for r in mine if MISSING in r["reason"]]
        assert missed, use
        for record in missed:
            assert record["reason"].startswith("missing device cuda:0: "), use
            assert record["outcome"] == ("failed" if policy == "fail" else "not run"), use
            assert record["counted"] is (policy != "skip"), use


@pytest.mark.parametrize("use", USES)
def test_each_by_itself_is_no_success(pytester: pytest.Pytester, run: Run, use: str) -> None:
    pytester.makepyfile(HEAD + USES[use])

    result = run("--devices=cpu,cuda", "--het-level=0")

    assert result.ret == 6, result.stdout.str()
    assert f"missing device cuda:0: {MISSING}" in result.stdout.str()


@pytest.mark.parametrize("use", ["het by name", "het in a fixture"])
def test_without_named_devices_what_was_not_run_is_said(
    pytester: pytest.Pytester, run: Run, use: str
) -> None:
    pytester.makepyfile(HEAD + USES[use])

    result = run()

    assert result.ret == 6, result.stdout.str()
    assert MISSING in result.stdout.str()


def test_a_kind_that_no_one_has_fails_whatever_the_policy(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(HEAD + "def test_it(het): het.check(PROGRAM, ARGS, on='cpu,qpu')\n")

    result = run("--het-policy=skip")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*found device qpu:0, but fake has devices of kind cpu, sim, *"])


@pytest.mark.parametrize("use", ["device", "het by name", "het_case"])
def test_a_backend_that_cannot_be_loaded_is_wrong_usage(
    pytester: pytest.Pytester, run: Run, use: str
) -> None:
    pytester.makepyfile(HEAD + USES[use])

    result = run("--devices=cpu,sim", f"--het-backend={FAKE}_that_is_not:Backend")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "cannot be loaded" in result.stderr.str()


ADAPTER = "from hettest.suite.adapter import test_the_adapter_keeps_the_protocol\n"


@pytest.mark.parametrize("policy", CODES)
@pytest.mark.parametrize("devices", [(), ("--devices=cpu,npu",)])
@pytest.mark.parametrize("backend", ["AllGone", "AcceleratorGone", "SeenWithoutAccelerator"])
def test_an_adapter_whose_devices_are_missing_is_not_checked(
    pytester: pytest.Pytester, backend: str, devices: tuple[str, ...], policy: str
) -> None:
    pytester.makepyfile(ADAPTER)
    asked = (f"--het-backend={UNRULY}:{backend}", f"--het-policy={policy}", *devices)

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *asked)

    assert result.ret == CODES[policy], result.stdout.str()
    assert ABSENT in result.stdout.str()
