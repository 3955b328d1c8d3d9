"""The transfers of fully explicit programs, by the definition; the numbers are counted by hand."""

from __future__ import annotations

import pytest

from hettest.case.counts import Transfers, transfers
from hettest.case.explicit import NotExplicit
from hettest.language import parse

BINDING = {"host": "cpu:0", "accel": "sim:0", "other": "sim:1"}


def count(
    body: str,
    params: str = "%a: f32[4], %b: f32[4]",
    result: str = "f32[4] @host",
    policy: str = "copy",
    binding: dict[str, str] | None = None,
) -> tuple[int, int]:
    found = counted(body, params, result, policy, binding)
    return found.copies, found.moved


def counted(
    body: str,
    params: str = "%a: f32[4], %b: f32[4]",
    result: str = "f32[4] @host",
    policy: str = "copy",
    binding: dict[str, str] | None = None,
) -> Transfers:
    text = f"module {{ vdevice @host, @accel, @other fn @main({params}) -> {result} {{ {body} }} }}"
    bound = BINDING if binding is None else binding
    return transfers(parse(text, "test"), "main", bound, "cpu:0", policy, {"n": 3})


SHARED = """
    %s = add(%a, %b) @host
    %t = multiply(%a, %b) @accel
    %d = subtract(%s, %t) @host
    return %d
"""


def test_a_shared_parameter_is_copied_and_the_intermediate_comes_back() -> None:
    assert count(SHARED) == (3, 3)


def test_replicated_parameters_are_arguments_and_move_as_much() -> None:
    assert count(SHARED, policy="replicate") == (1, 3)


def test_roles_on_one_device_copy_nothing() -> None:
    assert count(SHARED, binding=dict.fromkeys(BINDING, "cpu:0")) == (0, 0)


def test_a_parameter_read_on_the_accelerator_only_is_an_argument() -> None:
    assert count("%t = add(%a, %b) @accel return %t") == (1, 3)


def test_two_readers_on_one_device_share_a_copy() -> None:
    body = "%t = exp(%a) @accel %u = add(%a, %t) @accel %v = add(%a, %u) @host return %v"

    assert count(body) == (2, 2)


def test_a_parameter_on_two_accelerators_lives_on_the_first() -> None:
    body = "%t = exp(%a) @accel %u = exp(%a) @other %v = add(%t, %u) @host return %v"

    assert count(body) == (3, 4)


def test_a_pinned_parameter_is_made_on_its_device() -> None:
    body = "%t = add(%a, %b) @host return %t"

    assert count(body, params="%a: f32[4] @accel, %b: f32[4]") == (1, 2)


def test_an_unplaced_result_is_delivered_from_where_it_is() -> None:
    assert count("%t = add(%a, %b) @accel return %t", result="f32[4]") == (0, 2)


def test_an_explicit_copy_counts_for_itself_and_serves_later_readers() -> None:
    body = """
        %s = exp(%a) @host
        %c = device_copy(%a) @accel
        %t = add(%a, %c) @accel
        %d = subtract(%s, %t) @host
        return %d
    """

    assert count(body, params="%a: f32[4]") == (2, 2)
    own = "%c = device_copy(%a) @host %t = exp(%c) @host return %t"
    assert count(own, params="%a: f32[4]") == (1, 1)


def test_dead_operators_and_equal_ones_do_not_count() -> None:
    dead = "%u = exp(%a) @accel %t = add(%a, %b) @host return %t"
    equal = "%t = exp(%a) @accel %u = exp(%a) @accel %v = add(%t, %u) @accel return %v"

    assert count(dead) == (0, 0)
    assert count(equal, params="%a: f32[4]") == (1, 2)


def test_bytes_follow_types_and_sizes() -> None:
    body = "%t = add(%a, %a) @accel %c = cast(%t, to = f64) @accel return %c"

    found = counted(body, params="%a: f32[n, 4]", result="f64[n, 4] @host")

    assert (found.copies, found.moved) == (1, 2)
    assert (found.copied_bytes, found.moved_bytes) == (96, 144)


def test_tuples_are_looked_through() -> None:
    body = "%s = exp(%a) @accel %p = (%s, %b) %q = %p[0] %t = exp(%q) @host return %t"

    assert count(body) == (1, 2)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("%t = add(%a, %b) return %t", "%t = add is not requested"),
        ("%k = const f32[4] splat 1.0 %t = add(%a, %k) @host return %t", "%k is a constant"),
        ("%h = hint_on_device(%a) @accel %t = exp(%h) @host return %t", "hint_on_device"),
        (
            "%s = exp(%a) @host %v = reshape(%s, %b) @accel return %v",
            "view at a seam|reshape",
        ),
    ],
)
def test_what_leaves_something_to_the_planner_is_told(body: str, reason: str) -> None:
    with pytest.raises(NotExplicit, match=reason):
        count(body)
