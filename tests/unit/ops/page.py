"""Writes the reference page of the operators: ``python -m tests.unit.ops.page``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from reference_vm.ops.catalog import FAMILIES
from reference_vm.ops.definition import Attr, OpDef, Operand, Required, Trait
from reference_vm.types import AttrValue, DType
from tests.unit.ops.taken import named, taken

PAGE: Final = Path(__file__).parents[3] / "docs" / "reference" / "operators.md"

INTRODUCTION: Final = """\
# Operators

Written by `python -m tests.unit.ops.page` from the definitions; a test holds the two equal.

Operators that exist in the Python array API standard have its names and meaning, operators of
neural networks those of ONNX; [semantics](semantics.md) pins what these leave open. In a signature,
`?` marks an operand that may be `none` or left out at the end, `...` one that takes any number, and
`*` one whose *data* is read on the host, to decide a shape. Attributes follow with their defaults;
one without a default must be given. All operands of one call have the same dtype but for
conditions, indices and shapes; nothing is promoted. Elementwise operators broadcast.

What else is said of an operator: *exact*, every device computes the same bits; *view*, the result
is operand 0's memory; *fails*, some data is an error; *sized by data*, only the run knows the
result's shape; *host*, it runs on the host; *fuses*, it has a loop rule.

Then come the dtypes that operand 0 may have: *integers* are `i8` to `i64` and `u8` to
`u64`, *floats* `f16`, `bf16`, `f32` and `f64`, *all* these and `bool`.
"""

_NOTES: Final = {
    Trait.EXACT: "exact",
    Trait.VIEW: "view",
    Trait.CAN_FAIL: "fails",
    Trait.DATA_DEPENDENT: "sized by data",
    Trait.HOST: "host",
}
_ORIGINS: Final = {"array-api": "array API", "onnx": "ONNX", "hettest": "our own"}


def _operand(operand: Operand) -> str:
    marks = ("*" if operand.host else "") + ("?" if operand.optional else "")
    return operand.name + marks + ("..." if operand.variadic else "")


def _value(value: AttrValue) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return str(value)


def _kind(kind: type) -> str:
    names = {tuple: "[int]", type(None): "none", DType: "dtype", str: "string"}
    return names.get(kind, kind.__name__)


def _attribute(name: str, attr: Attr) -> str:
    kinds = " | ".join(map(_value, attr.choices) if attr.choices else map(_kind, attr.kinds))
    default = "" if isinstance(attr.default, Required) else f" = {_value(attr.default)}"
    return f"{name}: {kinds}{default}"


def signature(op: OpDef) -> str:
    """Return how a call of ``op`` looks: ``sum(x, axis: [int] | none = none, …)``."""
    parts = [*map(_operand, op.operands), *(_attribute(n, a) for n, a in op.attrs.items())]
    return f"{op.name}({', '.join(parts)})"


def _entry(op: OpDef) -> str:
    notes = [_ORIGINS[op.origin], *(text for trait, text in _NOTES.items() if op.has(trait))]
    if op.loops is not None:
        notes.append("fuses")
    dtypes = named(taken(op))
    takes = f"\n\nDtypes of {op.operands[0].name}: {dtypes}." if dtypes else ""
    said = f"{op.summary} *{', '.join(notes)}*{takes}"
    return f"### {op.name}\n\n```text\n{signature(op)}\n```\n\n{said}\n"


def page() -> str:
    """Return the text of the page."""
    parts = [INTRODUCTION]
    for family, ops in FAMILIES.items():
        parts.append(f"## {family[0].upper()}{family[1:]}\n")
        parts.extend(map(_entry, ops))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
