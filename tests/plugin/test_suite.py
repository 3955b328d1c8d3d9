"""``pytest --pyargs hettest.suite`` runs the corpus; counts do not depend on workers."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import Run

SUITE = ("--pyargs", "hettest.suite")


def test_it_needs_devices(run: Run) -> None:
    result = run(*SUITE)

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*the conformance suite needs devices: pytest --devices=cpu,sim*"])


def test_a_failure_tells_its_story_and_the_line_that_replays_it(run: Run) -> None:
    result = run(
        *(*SUITE, "--devices=cpu,sim", "-k", "placement/shared_input[plain"),
        backend="copy_twice",
    )

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*two readers of one input, placed apart, both get its value",
            "*copies FAILED: found 3, expected exactly 2",
            "*shared_input.toml:*",
            "*run it again: hettest run 'placement/shared_input[[]plain,*' --devices=cpu:0,sim:0*",
        ]
    )
    result.stdout.no_fnmatch_line("*test_corpus.py:[0-9]*")


def test_workers_count_the_same(pytester: pytest.Pytester, run: Run) -> None:
    chosen = (*SUITE, "--devices=cpu,sim,cuda", "-k", "placement/shared_input or ops/abs")

    run(*chosen, "--het-report=one.json")
    run(*chosen, "--het-report=two.json", "-n2")

    one, two = (json.loads((pytester.path / f"{n}.json").read_text()) for n in ("one", "two"))
    assert one["counts"] == two["counts"]
    assert one["counts"]["passed"] > 5
    assert one["counts"]["not run"] > 5
    assert one["deselected"] == two["deselected"]
