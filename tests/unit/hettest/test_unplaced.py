"""Where operators may run that nothing places: the default device, or where pins pull them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hettest.backend.protocol import Observation
from hettest.expect.unplaced import devices_of_unplaced
from tests.unit.hettest.situations import ones, situation

HEAD = "module {\n  vdevice @host, @accel\n"


def allowed(program: str, default: str = "sim:0") -> dict[str, str]:
    """Return the devices of each operator that nothing places, in one text each."""
    run = situation(f"{HEAD}{program}\n}}\n", (ones(2),), Observation(results=ones(2)))
    found = devices_of_unplaced(replace(run, default=default))
    return {name: " ".join(sorted(devices)) for name, devices in found.items()}


def main(body: str, params: str = "%a: f32[2]", result: str = "f32[2]") -> str:
    return f"  fn @main({params}) -> {result} attrs {{ entry = true }} {{\n{body}\n  }}"


def test_what_no_pin_touches_is_on_the_default() -> None:
    body = "%s = exp(%a)\n %t = negative(%s)\n return %t"

    assert allowed(main(body)) == {"main/%s": "sim:0", "main/%t": "sim:0"}
    assert allowed(main(body), "cpu:0") == {"main/%s": "cpu:0", "main/%t": "cpu:0"}


def test_a_request_pulls_nobody() -> None:
    found = allowed(main("%s = exp(%a) @host\n %t = negative(%s)\n return %t"))

    assert found == {"main/%t": "sim:0"}


@pytest.mark.parametrize(
    ("params", "result", "expected"),
    [
        ("%a: f32[2] @host", "f32[2]", "cpu:0"),
        ("%a: f32[2]", "f32[2] @host", "cpu:0"),
        ("%a: f32[2] @accel", "f32[2] @host", "cpu:0 sim:0"),
    ],
)
def test_pins_pull_the_whole_group(params: str, result: str, expected: str) -> None:
    found = allowed(main("%s = exp(%a)\n %t = negative(%s)\n return %t", params, result))

    assert found == {"main/%s": expected, "main/%t": expected}


def test_groups_do_not_go_through_parameters() -> None:
    body = "%s = exp(%a)\n %t = negative(%a)\n %r = (%s, %t)\n return %r"

    found = allowed(main(body, result="(f32[2] @host, f32[2])"))

    assert found == {"main/%s": "cpu:0", "main/%t": "sim:0"}


def test_items_of_tuples_are_values_of_their_own() -> None:
    body = (
        "%s = exp(%a)\n %t = tanh(%a)\n %p = (%s, %t)\n %q = %p[1]\n %r = negative(%q)\n return %r"
    )

    found = allowed(main(body, result="f32[2] @host"))

    assert found == {"main/%s": "sim:0", "main/%t": "cpu:0", "main/%r": "cpu:0"}


def test_branches_merge_what_their_arms_give() -> None:
    body = """%r = if %c {
      %p = exp(%a)
      yield %p
    } else {
      %q = negative(%a)
      yield %q
    }
    return %r"""

    found = allowed(main(body, "%c: bool[], %a: f32[2]", "f32[2] @host"))

    assert found == {"main/%p": "cpu:0", "main/%q": "cpu:0"}


def test_a_function_called_from_one_place_is_a_part_of_the_group() -> None:
    called = "  fn @f(%x: f32[2]) -> f32[2] {\n %y = exp(%x)\n return %y\n }\n"
    body = "%s = tanh(%a)\n %t = @f(%s)\n %u = negative(%t)\n return %u"

    found = allowed(called + main(body, result="f32[2] @host"))

    assert found == dict.fromkeys(("f/%y", "main/%s", "main/%u"), "cpu:0")


def test_what_is_not_followed_may_run_where_the_program_names_a_device() -> None:
    called = "  fn @f(%x: f32[2]) -> f32[2] {\n %y = exp(%x)\n return %y\n }\n"
    twice = "%s = @f(%a)\n %t = @f(%s)\n return %t"

    assert allowed(called + main(twice, result="f32[2] @host")) == {"f/%y": "cpu:0 sim:0"}
    assert allowed(called + main(twice)) == {"f/%y": "sim:0"}


def test_conditions_and_counts_may_run_on_the_host() -> None:
    body = """%m = greater(%i, %j)
    %k = add(%i, %j)
    %r = if %m {
      yield %k
    } else {
      yield %i
    }
    return %r"""

    found = allowed(main(body, "%i: i64[], %j: i64[]", "i64[]"))

    assert found == {"main/%m": "cpu:0 sim:0", "main/%k": "sim:0"}


def test_floats_of_shapes_are_no_host_facts() -> None:
    body = "%s = exp(%a)\n %t = sum(%s)\n return %t"

    assert set(allowed(main(body, result="f32[]")).values()) == {"sim:0"}
