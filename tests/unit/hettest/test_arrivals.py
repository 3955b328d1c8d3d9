"""A value that was read where it was not made was brought there: in branches, functions, tuples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from hettest.backend.protocol import Copy, Execution, Observation
from hettest.expect import arrivals
from hettest.outcome import Clause, Status
from tests.unit.hettest.situations import ones, situation

HOST, ACCEL = "cpu:0", "sim:0"

BRANCH = """
module {
  vdevice @host, @accel
  fn @main(%a: f32[4], %c: bool[]) -> f32[4] {
    %s = negative(%a) @host
    %r = if %c {
      %t = abs(%s) @accel
      yield %t
    } else {
      yield %s
    }
    %d = negative(%r) @host
    return %d
  }
}
"""

CALL = """
module {
  vdevice @host, @accel
  fn @f(%x: f32[4]) -> f32[4] {
    %y = abs(%x) @accel
    return %y
  }
  fn @main(%a: f32[4]) -> f32[4] {
    %s = negative(%a) @host
    %r = @f(%s)
    %d = negative(%r) @host
    return %d
  }
}
"""

TUPLE = """
module {
  vdevice @host, @accel
  fn @main(%p: (f32[4], f32[4])) -> f32[4] {
    %a = %p[0]
    %b = %p[1]
    %d = add(%a, %b) @accel
    return %d
  }
}
"""

SPLIT = """
module {
  vdevice @host, @accel
  fn @main(%x: f32[4]) -> f32[2] {
    %p = split(%x, axis = 0, num_outputs = 2) @host
    %a = %p[0]
    %b = %p[1]
    %d = add(%a, %b) @accel
    return %d
  }
}
"""


def found(
    program: str, args: tuple[object, ...], ran: Mapping[str, str], *copies: Copy
) -> Clause | None:
    executions = [Execution("op", (name,), device) for name, device in ran.items()]
    seen = Observation(results=ones(4), executions=executions, copies=copies)
    return next(arrivals.check(situation(program, args, seen)), None)


def brought(value: str, source: str = HOST, target: str = ACCEL, count: int = 1) -> Copy:
    return Copy(source, target, value, 16, "read", count=count)


RAN = {"main/%s": HOST, "main/%t": ACCEL, "main/%d": HOST}


@pytest.mark.parametrize(
    ("copies", "missing"),
    [
        ((brought("main/%s"), brought("main/%t", ACCEL, HOST)), ""),
        ((brought("main/%s"), brought("main/%r", ACCEL, HOST)), ""),
        ((brought("main/%t", ACCEL, HOST),), "main/%s was made on cpu:0 and read on sim:0"),
        ((brought("main/%s"),), "main/%t was made on sim:0 and read on cpu:0 by main/%d"),
    ],
)
def test_the_arm_that_was_taken_is_followed(copies: tuple[Copy, ...], missing: str) -> None:
    clause = found(BRANCH, (ones(4), np.array(True)), RAN, *copies)

    assert clause is not None
    assert (clause.status is Status.FAILED) == bool(missing)
    assert missing in clause.detail


def test_what_the_other_arm_yields_is_read_where_it_was_made() -> None:
    ran = {"main/%s": HOST, "main/%d": HOST}
    assert found(BRANCH, (ones(4), np.array(False)), ran) is None


def test_of_an_unknown_condition_only_reads_inside_the_arms_are_known() -> None:
    program = BRANCH.replace("%c: bool[]", "%b: bool[]").replace(
        "%s = negative", "%c = logical_not(%b) @host\n    %s = negative"
    )
    clause = found(program, (ones(4), np.array(False)), RAN)

    assert clause is not None
    assert "read on sim:0 by main/%t" in clause.detail
    assert "main/%d" not in clause.detail


def test_a_function_that_is_called_once_is_followed() -> None:
    ran = {"main/%s": HOST, "f/%y": ACCEL, "main/%d": HOST}
    there, back = brought("f/%x"), brought("f/%y", ACCEL, HOST)

    right = found(CALL, (ones(4),), ran, there, back)
    without = found(CALL, (ones(4),), ran, there)

    assert right is not None
    assert right.status is Status.PROVEN
    assert without is not None
    assert "f/%y was made on sim:0 and read on cpu:0 by main/%d" in without.detail


def test_of_a_function_that_is_called_twice_nothing_is_said() -> None:
    program = CALL.replace("%r = @f(%s)", "%q = @f(%s)\n    %r = @f(%q)")
    assert found(program, (ones(4),), {"main/%s": HOST, "f/%y": ACCEL, "main/%d": HOST}) is None


@pytest.mark.parametrize("names", [("main/%p", "main/%p"), ("main/%a", "main/%p.1")])
def test_each_leaf_of_a_tuple_needs_a_transfer(names: tuple[str, str]) -> None:
    args, ran = ((ones(4), ones(4)),), {"main/%d": ACCEL}
    both = found(TUPLE, args, ran, *map(brought, names))
    one = found(TUPLE, args, ran, brought(names[0]))

    assert both is not None
    assert both.status is Status.PROVEN
    assert one is not None
    assert one.status is Status.FAILED
    assert "main/%p.1 was made on cpu:0" in one.detail


def test_each_result_of_an_operator_needs_a_transfer() -> None:
    ran = {"main/%p": HOST, "main/%d": ACCEL}
    assert found(SPLIT, (ones(4),), ran, brought("main/%a"), brought("main/%b")) is not None
    one = found(SPLIT, (ones(4),), ran, brought("main/%p"))

    assert one is not None
    assert one.status is Status.FAILED


def test_transfers_without_names_serve_one_value_each() -> None:
    args, ran = ((ones(4), ones(4)),), {"main/%d": ACCEL}
    unnamed = Copy(HOST, ACCEL, None, 32, "read")

    one = found(TUPLE, args, ran, unnamed)
    two = found(TUPLE, args, ran, Copy(HOST, ACCEL, None, 32, "read", count=2))
    mixed = found(TUPLE, args, ran, unnamed, brought("main/%a"))

    assert [c and c.status for c in (one, two, mixed)] == [
        Status.FAILED,
        Status.PROVEN,
        Status.PROVEN,
    ]


def test_equal_operators_that_ran_once_need_one_transfer() -> None:
    program = """
    module {
      vdevice @host, @accel
      fn @main(%a: f32[4], %b: f32[4]) -> f32[4] {
        %s = add(%a, %b) @host
        %t = add(%b, %a) @host
        %d = subtract(%s, %t) @accel
        return %d
      }
    }
    """
    once = Execution("add", ("main/%s", "main/%t"), HOST)
    last = Execution("subtract", ("main/%d",), ACCEL)
    seen = Observation(results=ones(4), executions=[once, last], copies=[brought("main/%t")])

    (clause,) = arrivals.check(situation(program, (ones(4), ones(4)), seen))

    assert clause.status is Status.PROVEN, clause.detail


def test_an_explicit_copy_in_a_branch_may_be_one_onto_itself() -> None:
    program = BRANCH.replace("abs(%s) @accel", "device_copy(%s) @host")
    ran = {"main/%s": HOST, "main/%d": HOST}

    assert found(program, (ones(4), np.array(True)), ran, brought("main/%s", HOST, HOST)) is None
