"""The catalog as a whole: definitions are sound, and the reference page is theirs."""

from __future__ import annotations

import pytest

from reference_vm.ops.catalog import FAMILIES, OPS
from reference_vm.ops.definition import OpDef, Required, Trait
from tests.unit.ops.page import PAGE, page

EVERY = pytest.mark.parametrize("op", OPS.values(), ids=list(OPS))


def test_the_reference_page_is_written_from_the_definitions() -> None:
    found = PAGE.read_text(encoding="utf-8")
    assert found == page(), "rewrite it: python -m tests.unit.ops.page"


def test_every_operator_is_in_one_family() -> None:
    assert sorted(op.name for family in FAMILIES.values() for op in family) == sorted(OPS)


@EVERY
def test_required_operands_come_first_and_only_the_last_is_variadic(op: OpDef) -> None:
    optional = [operand.optional for operand in op.operands]
    assert optional == sorted(optional)
    assert not any(operand.variadic for operand in op.operands[:-1])


@EVERY
def test_defaults_are_of_the_attributes_types(op: OpDef) -> None:
    for name, attr in op.attrs.items():
        if not isinstance(attr.default, Required):
            assert isinstance(attr.default, attr.kinds), name
            assert not attr.choices or attr.default in attr.choices, name


@EVERY
def test_the_summary_is_one_line_that_ends_in_a_stop(op: OpDef) -> None:
    assert op.summary.endswith(".")
    assert "\n" not in op.summary


@EVERY
def test_traits_do_not_contradict_each_other(op: OpDef) -> None:
    if op.has(Trait.METADATA):
        assert op.has(Trait.HOST)
    if op.has(Trait.MOVES_DATA):
        assert not op.has(Trait.EXACT)
    if op.has(Trait.VIEW):
        assert len(op.operands) == 1 or all(o.host for o in op.operands[1:])
