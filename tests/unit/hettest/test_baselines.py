"""A CPU-only run serves every item that gives one program the same, and no other."""

from __future__ import annotations

from pathlib import Path

from hettest.case.expansion import expand
from hettest.outcome import Outcome
from hettest.runner import run_item
from hettest.runner.run import Environment
from reference_vm.conformance import Backend
from tests.unit.hettest.case.written import load_text

SWEPT = """format = 1
summary = "how many rows there are hangs on what is given"
level = 2
clauses = ["ops.nonzero"]
program = '''
module {
  fn @main(%x: f32[4]) -> i64[1, ?] {
    %r = nonzero(%x)
    return %r
  }
}
'''
[sweep.of]
one = { x = [0, 0, 3, 0] }
two = { x = [1, 0, 0, 2] }
[[run]]
name = "plain"
args.x = { dtype = "f32", shape = [4], data = "${of.x}" }
result = "oracle"
"""


def test_variants_of_one_program_are_not_judged_beside_one_another(tmp_path: Path) -> None:
    backend = Backend()
    environment = Environment(backend, "reference_vm", ("cpu:0", "sim:0"), {})
    records = [
        run_item(item, environment)
        for case in load_text(tmp_path, SWEPT)
        for item in expand(case, ("cpu:0", "sim:0"))
    ]
    backend.close()

    assert len(records) == 4
    assert [r.text for r in records if r.outcome is not Outcome.PASSED] == []
    assert len(environment.baselines.made) == 2
