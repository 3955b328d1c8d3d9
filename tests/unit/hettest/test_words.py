"""Device lists, device maps and capability words."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hettest.capability import covers, missing
from hettest.devicemap import (
    Bind,
    bindings,
    canonical,
    first_of_each_kind,
    index_of,
    is_straight,
    kind_of,
    parse_binding,
    parse_devices,
    show,
)
from hettest.errors import UsageError


def test_devices_are_canonical() -> None:
    assert parse_devices("cpu, sim,sim.no-f64:2") == ("cpu:0", "sim:0", "sim.no-f64:2")
    assert (kind_of("sim.no-f64:2"), index_of("sim.no-f64:2")) == ("sim", 2)


def test_a_map_is_read_and_shown() -> None:
    assert show(parse_binding("@host=cpu, accel=sim:1")) == "host=cpu:0,accel=sim:1"


@given(st.from_regex(r"[a-z][a-z0-9_]{0,5}(\.[a-z0-9_-]{1,4})?(:[0-9]{1,2})?", fullmatch=True))
def test_a_canonical_name_is_its_own(text: str) -> None:
    name = canonical(text)

    assert canonical(name) == name


@given(st.integers(1, 4), st.integers(1, 4))
def test_every_binding_is_distinct_and_complete(roles: int, devices: int) -> None:
    names = [f"r{i}" for i in range(roles)]
    named = ["cpu:0", *(f"sim:{i}" for i in range(devices - 1))]

    found = bindings(names, named, Bind.HOST_FIRST, roles)

    assert bool(found) == (devices >= roles)
    assert len({show(b) for b in found}) == len(found)
    for binding in found:
        assert list(binding) == names
        assert is_straight(binding, "cpu:0")


def test_one_of_each_kind_is_the_first() -> None:
    assert first_of_each_kind(("cpu:0", "sim:1", "sim:0", "cpu:1")) == ("cpu:0", "sim:1")


@pytest.mark.parametrize(
    ("claim", "word", "covered"),
    [
        ("op:add", "op:add", True),
        ("op:add", "op:add:f32", True),
        ("op:add:f32", "op:add", False),
        ("op:*", "op:add:f32", True),
        ("construct:if|tuple", "construct:tuple", True),
        ("construct:if|tuple", "construct:match", False),
        ("dtype:f*", "dtype:f16", True),
        ("op:ad", "op:add", False),
    ],
)
def test_a_claim_covers_what_it_says_and_what_is_narrower(
    claim: str, word: str, covered: bool
) -> None:
    assert covers(claim, word) is covered


def test_missing_words_are_named_once_in_order() -> None:
    claims = {"op:*", "-op:det", "-op:add:u16", "dtype:f32"}

    found = missing(["dtype:f64", "op:add:f32", "op:add:u16", "op:det", "dtype:f64"], claims)

    assert found == ("dtype:f64", "op:add:u16", "op:det")


@given(st.from_regex(r"[a-z]{1,4}(:[a-z0-9]{1,4}){1,2}", fullmatch=True))
def test_every_word_covers_itself(word: str) -> None:
    assert covers(word, word)
    assert fnmatchcase(word, word)


def test_a_wrong_map_says_what_is_expected() -> None:
    with pytest.raises(UsageError, match="expected role=device such as accel=sim:0"):
        parse_binding("accel")
