"""What one type promises of another, and what two types have in common."""

from __future__ import annotations

import pytest

from reference_vm.analysis.compatibility import (
    Agreement,
    agreement,
    bound_symbols,
    forget_symbols,
    join,
)
from reference_vm.text import parse
from reference_vm.types import Type


def type_(text: str) -> Type:
    """Return the type that ``text`` says."""
    symbols = ", ".join(f"%{s}: f32[{s}]" for s in "nmk")
    module = parse(f"module {{ fn @f({symbols}, %x: {text}) -> f32[n] {{ return %n }} }}")
    found = module.functions[0].params[-1].type
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("found", "asked", "expected"),
    [
        ("f32[4]", "f32[4]", Agreement.ALWAYS),
        ("f32[n, 4]", "f32[?, 4]", Agreement.ALWAYS),
        ("f32[2*n + 2]", "f32[n*2 + 2]", Agreement.ALWAYS),
        ("f32[4]", "f32[...]", Agreement.ALWAYS),
        ("f32[?, 4]", "f32[n, 4]", Agreement.MAYBE),
        ("f32[...]", "f32[4]", Agreement.MAYBE),
        ("f32[n]", "f32[m]", Agreement.MAYBE),
        ("f32[n]", "f32[4]", Agreement.MAYBE),
        ("f32[4]", "f32[5]", Agreement.NEVER),
        ("f32[2*n]", "f32[2*m + 1]", Agreement.NEVER),
        ("f32[4]", "f64[4]", Agreement.NEVER),
        ("f32[4]", "f32[4, 1]", Agreement.NEVER),
        ("shape[n]", "shape[?]", Agreement.ALWAYS),
        ("shape[4]", "f32[4]", Agreement.NEVER),
        ("(f32[4], f32[n])", "(f32[4], f32[m])", Agreement.MAYBE),
        ("(f32[4], f32[4])", "(f32[4], f32[5])", Agreement.NEVER),
        ("(f32[4],)", "(f32[4], f32[4])", Agreement.NEVER),
        ("()", "()", Agreement.ALWAYS),
    ],
)
def test_agreement(found: str, asked: str, expected: Agreement) -> None:
    assert agreement(type_(found), type_(asked)) is expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("f32[n, 4]", "f32[n, 4]", "f32[n, 4]"),
        ("f32[n, 4]", "f32[m, 4]", "f32[?, 4]"),
        ("f32[4]", "f32[4, 4]", "f32[...]"),
        ("(f32[4], i64[])", "(f32[5], i64[])", "(f32[?], i64[])"),
        ("shape[n, 4]", "shape[n, 5]", "shape[n, ?]"),
    ],
)
def test_join(left: str, right: str, expected: str) -> None:
    assert join(type_(left), type_(right)) == type_(expected)
    assert join(type_(right), type_(left)) == type_(expected)


def test_different_dtypes_have_nothing_in_common() -> None:
    assert join(type_("f32[4]"), type_("f64[4]")) is None
    assert join(type_("(f32[4],)"), type_("(f64[4],)")) is None


def test_symbols_stand_alone_or_inside_an_expression() -> None:
    found = type_("(f32[n, 2*m], f32[k + 1])")

    assert bound_symbols(found) == {"n"}
    assert forget_symbols(found, {"n", "k"}) == type_("(f32[n, ?], f32[k + 1])")
