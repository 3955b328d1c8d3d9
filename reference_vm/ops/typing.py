"""The type of one call: arity, attributes and the operator's own rule.

Used wherever IR is made or checked: ``infer-types``, the ONNX importer, legalization.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ops.definition import Attr, Content, OpCall, OpDef, Required
from reference_vm.source import Span
from reference_vm.types import Attrs, AttrValue, DType, ShapeType, Type

_WRITTEN: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a text",
    DType: "a dtype such as f32",
    tuple: "a list such as [1]",
    type(None): "none",
}
"""What the text of a program has for each kind of attribute."""


@final
@dataclass(frozen=True, slots=True)
class TypedCall:
    """What inference found out about one call."""

    type: Type
    attrs: Attrs
    """With the defaults filled in."""

    content: Content | None
    """What is known of the result's elements."""


def infer_call(
    op: OpDef,
    types: Sequence[Type | None],
    attrs: Attrs,
    contents: Sequence[Content | None],
    span: Span | None = None,
) -> TypedCall:
    """Return the type of ``op`` applied to operands of these types.

    Raises:
        CompileError: The arity, an attribute or a type is wrong.
    """
    _check_arity(op, types, span)
    filled = fill_attrs(op, attrs, span)
    padded = tuple(types) + (None,) * (len(op.operands) - len(types))
    known = [
        type_.dims if isinstance(type_, ShapeType) else content
        for type_, content in zip(types, contents, strict=True)
    ]
    known.extend([None] * (len(padded) - len(known)))
    call = OpCall(op, padded, filled, tuple(known), span)
    result = op.infer(call)
    if isinstance(result, ShapeType):
        return TypedCall(result, filled, result.dims)
    content = op.content(call) if op.content is not None else None
    return TypedCall(result, filled, content)


def _check_arity(op: OpDef, types: Sequence[Type | None], span: Span | None) -> None:
    least, most = op.arity()
    required = all(o.optional or i < len(types) for i, o in enumerate(op.operands))
    if not required or (most is not None and len(types) > most):
        raise CompileError(catalog.wrong_arity(op.name, len(types), least, most, span))
    for index, type_ in enumerate(types):
        if type_ is None and not op.operand(index).optional:
            raise CompileError(catalog.missing_operand(op.name, op.operand(index).name, span))


def fill_attrs(op: OpDef, attrs: Attrs, span: Span | None = None) -> Attrs:
    """Return ``attrs`` with defaults filled in and integers for floats made floats.

    Raises:
        CompileError: One is unknown, missing, or of a type that the operator does not take.
    """
    values: dict[str, AttrValue] = {}
    for name, value in attrs.items():
        if name not in op.attrs:
            raise CompileError(catalog.unknown_attribute(op.name, name, tuple(op.attrs), span))
        values[name] = _checked(op, name, value, op.attrs[name], span)
    for name, attr in op.attrs.items():
        if name in values:
            continue
        if isinstance(attr.default, Required):
            raise CompileError(catalog.missing_attribute(op.name, name, span))
        values[name] = attr.default
    return Attrs(values)


def _checked(op: OpDef, name: str, value: AttrValue, attr: Attr, span: Span | None) -> AttrValue:
    if float in attr.kinds and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, attr.kinds) or (isinstance(value, bool) and bool not in attr.kinds):
        expected = " or ".join(_WRITTEN[kind] for kind in attr.kinds)
        raise CompileError(catalog.attribute_type(op.name, name, value, expected, span))
    if attr.choices and value not in attr.choices:
        listed = " or ".join(map(repr, attr.choices))
        raise CompileError(catalog.attribute_type(op.name, name, value, listed, span))
    return value


def operator(ops: Mapping[str, OpDef], name: str, span: Span | None = None) -> OpDef:
    """Return the operator called ``name``.

    Raises:
        CompileError: There is none.
    """
    if name not in ops:
        raise CompileError(catalog.unknown_operator(name, tuple(ops), span))
    return ops[name]


__all__ = ["TypedCall", "fill_attrs", "infer_call", "operator"]
