"""The published profiles are what they were when they were published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hettest.corpus import own_cases
from hettest.errors import UsageError
from hettest.levels import freeze
from hettest.levels.plan import planned
from hettest.levels.profile import FOLDER, Profile, from_json, load, published

FROZEN = {
    "core@1": "0169193482ace61ee7233789bb0f096e0297b8d0307ac4d463e938a65c6e6318",
    "dynamic@1": "6b446ae73960a9a8db2022c85373b91b3d08069bdd36a68e63caabd4ad834e32",
}
"""Their digests; one that changes breaks what others were told. A change is a new version: see
`hettest.levels.freeze`."""


def test_the_published_profiles_are_frozen() -> None:
    assert {name: load(name).digest for name in published()} == FROZEN


@pytest.mark.parametrize("name", FROZEN)
def test_every_variant_of_a_profile_is_in_the_corpus(name: str) -> None:
    absent = [v for part in planned(load(name), own_cases(), freeze.PAIR) for v in part.absent]

    assert absent == []


@pytest.mark.parametrize("name", FROZEN)
def test_two_devices_are_enough_for_every_case(name: str) -> None:
    assert [
        part.beyond for part in planned(load(name), own_cases(), freeze.PAIR) if part.beyond
    ] == []


def test_no_case_stands_in_a_profile_twice() -> None:
    for name in FROZEN:
        cases = [case for step in load(name).steps for case in step.cases]
        assert len(cases) == len(set(cases))


def test_the_minimum_of_each_level_is_declared_by_the_reference() -> None:
    from hettest.levels.reached import Run, standing
    from reference_vm.conformance import Backend

    claims = Backend().capabilities
    core = load("core@1")
    found = standing(core, planned(core, (), freeze.PAIR), Run({}, claims, freeze.PAIR))

    assert [rung.undeclared for rung in found.rungs] == [()] * 5


def test_the_digest_does_not_depend_on_the_layout() -> None:
    data = json.loads((FOLDER / "core@1.json").read_text())
    again = from_json(json.loads(json.dumps(data, indent=7, sort_keys=True)))

    assert again.digest == load("core@1").digest
    assert again.to_json() == data


def test_any_change_changes_the_digest() -> None:
    data = load("core@1").to_json()
    data["steps"][0]["cases"].popitem()

    assert from_json(data).digest != load("core@1").digest


def test_an_unknown_profile_names_those_there_are() -> None:
    with pytest.raises(
        UsageError, match="no profile core@9; this installation has core@1, dynamic@1"
    ):
        load("core@9")


def test_the_rules_sort_cases_by_level_and_by_what_they_need(tmp_path: Path) -> None:
    from tests.unit.hettest.levels.small import corpus

    made: Profile = freeze.core(corpus(tmp_path))

    assert {step.level: dict(step.cases) for step in made.steps} == {
        0: {},
        1: {},
        2: {"ops/alone": ("plain",)},
        3: {"placement/apart": ("plain,policy=copy",)},
        4: {},
    }
