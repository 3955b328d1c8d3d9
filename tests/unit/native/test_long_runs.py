"""Of a run with very many records the last are kept, and a long run takes no more memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reference_vm.runtime.native import executor, path
from reference_vm.runtime.trace import Trace
from reference_vm.session import Session
from tests.unit.native.both import Both, renamed
from tests.unit.native.data_programs import DATA, LIST_TYPE
from tests.unit.native.programs import BUILD, LOOP, SAMPLES, Sample, X, number

KEPT = 60


@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        ("loop", 30),
        ("recursion", 40),
        ("list", 12),
        ("growing", 9),
        ("map and reverse", 9),
        ("tree with shared branches", 5),
        ("list of pairs", 12),
        ("list of functions", 9),
        ("list of tensors elsewhere", 9),
    ],
)
def test_the_last_records_are_the_interpreters(
    name: str, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "PATH", 16)
    monkeypatch.setattr(path, "SEGMENT", 32)
    monkeypatch.setattr(path, "LIMIT", KEPT)
    both = Both((SAMPLES | DATA)[name].compiled())
    for _ in range(2):
        both.native.run("main", number(rounds), X)
        both.interpreted.run("main", number(rounds), X)
        found, expected = both.native.trace, both.interpreted.trace

        assert found.truncated
        assert len(found) == KEPT < len(expected)
        last = [replace(record, index=i) for i, record in enumerate(expected[-KEPT:])]
        assert [{**r, "truncated": False} for r in renamed(found)] == renamed(Trace(last))


def test_a_million_rounds_are_run_and_the_end_of_the_trace_is_there() -> None:
    session = Session(Sample(LOOP, []).compiled())
    x, before = np.zeros(4, np.float32), session.memory()["cpu:0"].current
    result, rounds = session.run("main", number(1_000_000), x)

    assert int(rounds) == 1_000_000
    np.testing.assert_array_equal(result, x)
    assert session.memory()["cpu:0"].current == before
    assert session.memory()["cpu:0"].peak < 200


def test_a_list_of_very_many_pairs_is_given_back_at_once() -> None:
    text = f"""{LIST_TYPE}
    fn @main(%n: i64[], %x: f32[4]) -> f32[4] {{
      %nil: List[f32[4]] = Nil()
      %l = @build(%n, %x, %nil)
      %r = match %l {{ Cons(%h, %_) => {{ yield %h }} Nil => {{ yield %x }} }}
      return %r
    }}
    {BUILD}"""
    session, x = Session(Sample(text, []).compiled(), trace=False), np.zeros(4, np.float32)
    before = session.memory()["cpu:0"].current
    for _ in range(2):
        np.testing.assert_array_equal(session.run("main", number(300_000), x), x)

    assert session.memory()["cpu:0"].current == before
    assert session.memory()["cpu:0"].peak >= 300_000 * x.nbytes


def test_a_recursion_is_a_hundred_thousand_deep() -> None:
    session = Session(SAMPLES["recursion"].compiled(), trace=False)
    x = np.ones(4, np.float32)

    np.testing.assert_array_equal(session.run("main", number(100_000), x), 100_001 * x)
