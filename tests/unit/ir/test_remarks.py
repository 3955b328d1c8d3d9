"""What is odd about a program, though it has its meaning, is remarked on and runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import reference_vm as rv
from reference_vm.cli.main import application
from reference_vm.ir.verify import check, remarks
from reference_vm.source import Source
from reference_vm.text.markers import markers

PROGRAM = """module {
  type Nat { Z, S(Nat) }
  fn @main(%p: (Nat, Nat), %x: f32[2], %y: f32[2]) -> f32[2] {
    %n = %p[0]
    %a = match %n {
      Z => { yield %x }
      _ => {
        %b = match %p {
          (%l, _) => { yield %x }
          (Z, _) => { yield %y } //~ unreachable-arm
        }
        yield %b
      }
      S(_) => { yield %y } //~ unreachable-arm
      %v => { yield %y } //~ unreachable-arm
    }
    %c = match %p {
      (Z, _) => { yield %a }
      (_, Z) => { yield %a }
      (_, S(_)) => { yield %a }
    }
    return %c
  }
}
"""


def test_arms_behind_one_that_takes_every_value_are_remarked_on() -> None:
    module = rv.parse(PROGRAM)

    found = remarks(module)

    lines = [(d.span.line if d.span else 0, d.code) for d in found]
    assert sorted(lines) == list(markers(Source("program", PROGRAM)))
    assert check(module) == []
    assert "warning[unreachable-arm]: no value reaches this arm" in found[0].text("warning")
    assert "this arm takes every value" in str(found[0])


def test_such_a_program_runs_and_the_shell_warns(tmp_path: Path) -> None:
    x, y = np.zeros(2, np.float32), np.ones(2, np.float32)
    session = rv.Session(rv.compile(rv.parse(PROGRAM)))
    np.testing.assert_array_equal(session.run("main", (("S", ("Z",)), ("Z",)), x, y), x)

    path = tmp_path / "program.hir"
    path.write_text(PROGRAM)
    result = CliRunner().invoke(application(), ["opt", str(path)])
    assert result.exit_code == 0
    assert result.stderr.count("warning[unreachable-arm]") == 3
    assert "warning" not in result.stdout
