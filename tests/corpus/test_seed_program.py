"""``(a + b) - (b + c)`` with the sums apart: every order, policy, default and pair of devices."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from hettest.backend.protocol import Copy, Observation, Options, Rejected
from hettest.case.counts import Transfers, transfers
from hettest.language import parse
from hettest.runner.program import TextProgram
from reference_vm.conformance import Backend

ARGS = (
    np.array([1, 2, 3, 4], np.float32),
    np.array([10, 20, 30, 40], np.float32),
    np.array([5, 5, 5, 5], np.float32),
)
ORDERS = list(product((False, True), repeat=3))
ROLES = {
    "host-accel": ("host", "accel", "host"),
    "accel-host": ("accel", "host", "host"),
    "accel-host-accel": ("accel", "host", "accel"),
    "one-two": ("one", "two", "host"),
    "two-one": ("two", "one", "one"),
}
"""Where the two sums and the difference are asked for; the result is placed with the latter."""

MAPS = {
    "host-accel": {"host": "cpu:0", "accel": "sim:0"},
    "accel-host": {"host": "cpu:0", "accel": "sim:1"},
    "accel-host-accel": {"host": "cpu:0", "accel": "cpu:1"},
    "one-two": {"host": "cpu:0", "one": "sim:0", "two": "sim:1"},
    "two-one": {"host": "cpu:0", "one": "sim:1", "two": "sim:0"},
}
COPIES = frozenset({"read", "host", "result", "explicit"})


def text(ways: str, left: bool, right: bool, last: bool) -> str:
    """Return the program with the operands of either sum exchanged, or the second sum first."""
    s, t, d = ROLES[ways]
    one = f"%s = add({'%b, %a' if left else '%a, %b'}) @{s}"
    two = f"%t = add({'%c, %b' if right else '%b, %c'}) @{t}"
    first, second = (two, one) if last else (one, two)
    roles = ", ".join(f"@{role}" for role in MAPS[ways])
    return f"""module {{
  vdevice {roles}
  fn @main(%a: f32[4], %b: f32[4], %c: f32[4]) -> f32[4] @{d} {{
    {first}
    {second}
    %d = subtract(%s, %t) @{d}
    return %d
  }}
}}
"""


def run(program: str, ways: str, policy: str, default: str) -> Observation:
    executable = Backend().compile(
        TextProgram("seed", program), MAPS[ways], Options(policy, default)
    )
    return executable.run("main", ARGS)


def counted(copies: list[Copy]) -> tuple[int, int, int, int]:
    made = [c for c in copies if c.cause in COPIES]
    moved = [c for c in copies if c.cause in COPIES | {"argument"}]
    return len(made), len(moved), total(made), total(moved)


def total(copies: list[Copy]) -> int:
    """Return the bytes of all of them."""
    return sum(copy.bytes or 0 for copy in copies)


def defined(program: str, ways: str, policy: str, default: str) -> Transfers:
    return transfers(parse(program, "seed"), "main", MAPS[ways], default, policy, {})


@pytest.mark.parametrize("ways", ROLES)
@pytest.mark.parametrize("policy", ["copy", "replicate"])
@pytest.mark.parametrize("order", ORDERS, ids=["".join("-x"[o] for o in order) for order in ORDERS])
def test_values_places_and_copies(order: tuple[bool, bool, bool], policy: str, ways: str) -> None:
    program = text(ways, *order)
    wanted = dict(zip("std", (MAPS[ways][role] for role in ROLES[ways]), strict=True))
    for default in MAPS[ways].values():
        seen = run(program, ways, policy, default)

        np.testing.assert_array_equal(seen.results, [-4, -3, -2, -1])
        places = {name: e.device for e in seen.executions or () for name in e.defines}
        assert places == {f"main/%{name}": device for name, device in wanted.items()}
        expected = defined(program, ways, policy, default)
        found = counted(list(seen.copies or ()))
        assert found == (
            expected.copies,
            expected.moved,
            expected.copied_bytes,
            expected.moved_bytes,
        )


@pytest.mark.parametrize("default", ["cpu:0", "sim:0"])
@pytest.mark.parametrize("order", ORDERS, ids=["".join("-x"[o] for o in order) for order in ORDERS])
def test_three_are_moved_under_both_policies(order: tuple[bool, bool, bool], default: str) -> None:
    program = text("host-accel", *order)

    copied = counted(list(run(program, "host-accel", "copy", default).copies or ()))
    replicated = counted(list(run(program, "host-accel", "replicate", default).copies or ()))

    assert copied == (2, 3, 32, 48)
    assert replicated == (1, 3, 16, 48)


@pytest.mark.parametrize("ways", ROLES)
@pytest.mark.parametrize("order", ORDERS, ids=["".join("-x"[o] for o in order) for order in ORDERS])
def test_policy_error_names_the_value_and_both_readers(
    order: tuple[bool, bool, bool], ways: str
) -> None:
    for default in MAPS[ways].values():
        with pytest.raises(Rejected) as refused:
            run(text(ways, *order), ways, "error", default)

        assert refused.value.code == "value-on-two-devices"
        message = str(refused.value)
        assert re.search(r"%b is read by %[st] on @\w+ and read by %[st] on @\w+", message)
        assert "%s" in message
        assert "%t" in message
