"""Patterns match item ids, brackets and all, wherever the kit takes them."""

from __future__ import annotations

import datetime

import pytest

from hettest.bench.gate.limits import Limit
from hettest.corpus import own_cases, select
from hettest.outcome import Outcome, Record
from hettest.patterns import fits
from hettest.waivers.model import Waiver

CASE = "planning/pins_of_every_dtype"
ITEM = f"{CASE}[small,dtype=f32,host=cpu:0,accel=sim:0,policy=copy]"
FITTING = [ITEM, f"{CASE}[small,dtype=f32*", f"{CASE}*f32*", "*[small,dtype=f?2,*]", f"{CASE}*"]
OTHER = [f"{CASE}[small,dtype=f64*", f"{CASE}*f64*", "[small]*", f"{CASE}[!x]*"]


@pytest.mark.parametrize("pattern", FITTING)
def test_a_pattern_names_the_item(pattern: str) -> None:
    assert fits(ITEM, pattern)


@pytest.mark.parametrize("pattern", OTHER)
def test_a_pattern_names_no_other_item(pattern: str) -> None:
    assert not fits(ITEM, pattern)


@pytest.mark.parametrize("pattern", [f"{CASE}[small,dtype=f32*", f"{CASE}*f32*"])
def test_items_are_chosen_by_patterns_of_their_ids(pattern: str) -> None:
    found = select(own_cases(), ("cpu:0", "sim:0"), patterns=[pattern]).items

    assert ITEM in {item.id for item in found}
    assert all("dtype=f32," in item.id for item in found)


@pytest.mark.parametrize("pattern", [f"{CASE}[small,dtype=f32*", f"{CASE}*f32*"])
def test_waivers_and_limits_take_the_same_patterns(pattern: str) -> None:
    waiver = Waiver(
        case=pattern,
        stage="values",
        kind="permanent",
        reason="r",
        owner="o",
        expires=datetime.date(2100, 1, 1),
    )

    assert waiver.covers(Record(ITEM, Outcome.FAILED, case=CASE))
    assert waiver.names(CASE)
    assert not waiver.names("planning/another")
    assert Limit(pattern).names(ITEM)
