"""What ONNX's own schemas say of a node: does it exist, is it well formed, what are the defaults.

Checked before a node is translated, so that a rule can rely on attribute types and input counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onnx import AttributeProto, NodeProto, defs

from reference_vm.exchange.refusals import invalid, unsupported
from reference_vm.exchange.scope import DEFAULT_DOMAIN, Scope, domain_of

_VALUE_FIELDS: Final = {
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
}


def schema_of(node: NodeProto, scope: Scope, where: str) -> defs.OpSchema:
    """Return the schema that ``node`` follows.

    Raises:
        CompileError: ``invalid-model`` if its operator set is not imported,
            ``unsupported-operator`` if the installed onnx package does not know it.
    """
    domain = domain_of(node.domain)
    shown = f"{domain}.{node.op_type}" if domain else node.op_type
    if domain not in scope.opsets:
        raise invalid(where, f"{shown} is of operator set {domain!r}, which is not imported")
    opset = scope.opsets[domain]
    latest = defs.onnx_opset_version()
    if domain == DEFAULT_DOMAIN and not 1 <= opset <= latest:
        raise unsupported(where, f"operator set {opset}, expected 1 to {latest}")
    if not 1 <= opset < 2**31:
        raise invalid(where, f"operator set {domain!r} has the version {opset}")
    try:
        schema = defs.get_schema(node.op_type, opset, domain)
    except defs.SchemaError as error:
        message = f"{shown} is no operator of ONNX at version {opset}"
        raise unsupported(where, message) from error
    if schema.deprecated:
        raise unsupported(where, f"{shown} is deprecated at version {opset}")
    return schema


def check_counts(node: NodeProto, schema: defs.OpSchema, where: str) -> None:
    """Check the numbers of inputs and outputs.

    Raises:
        CompileError: ``invalid-model``.
    """
    for what, found, least, most in (
        ("inputs", len(node.input), schema.min_input, schema.max_input),
        ("outputs", len(node.output), schema.min_output, schema.max_output),
    ):
        if not least <= found <= most:
            raise invalid(where, f"has {found} {what}, expected {least} to {most}")


def attributes_of(
    node: NodeProto, schema: defs.OpSchema, scope: Scope, where: str
) -> dict[str, AttributeProto]:
    """Return the node's attributes, checked, with the schema's defaults filled in.

    Raises:
        CompileError: ``invalid-model``: one is unknown, has another type, is missing or repeated.
    """
    given = given_attributes(node, scope, where)
    for name, value in given.items():
        if name not in schema.attributes:
            raise invalid(where, f"{node.op_type} has no attribute {name}")
        _check_type(name, value, _declared_type(schema, name), where)
    for name, declared in schema.attributes.items():
        if name in given:
            continue
        if declared.required:
            raise invalid(where, f"attribute {name} is missing")
        if declared.default_value.type != AttributeProto.UNDEFINED:
            given[name] = declared.default_value
    return given


def _declared_type(schema: defs.OpSchema, name: str) -> int:
    kind: Any = schema.attributes[name].type  # an enumeration; its stub says otherwise
    return int(kind.value)


def given_attributes(node: NodeProto, scope: Scope, where: str) -> dict[str, AttributeProto]:
    """Return what stands at the node, references to a function's attributes followed."""
    given: dict[str, AttributeProto] = {}
    for attribute in node.attribute:
        if attribute.name in given:
            raise invalid(where, f"attribute {attribute.name} is given twice")
        value = _followed(attribute, scope.attributes, where)
        if value is not None:
            given[attribute.name] = value
    return given


def _followed(
    attribute: AttributeProto, call: Mapping[str, AttributeProto] | None, where: str
) -> AttributeProto | None:
    if not attribute.ref_attr_name:
        return attribute
    if call is None:
        raise invalid(where, f"attribute {attribute.name} refers to a function's, outside of one")
    return call.get(attribute.ref_attr_name)


def _check_type(name: str, value: AttributeProto, expected: int, where: str) -> None:
    found = int(value.type) or _type_by_content(value)
    if found != expected:
        names = {number: text for text, number in AttributeProto.AttributeType.items()}
        shown = names.get(found, str(found))
        message = f"attribute {name} is of type {shown}, expected {names[expected]}"
        raise invalid(where, message)


def _type_by_content(value: AttributeProto) -> int:
    """Return the type of an attribute that says none, as the oldest exporters wrote them."""
    for kind, field in _VALUE_FIELDS.items():
        if value.HasField(field):
            return int(kind)
    return int(AttributeProto.INTS if value.ints else AttributeProto.FLOATS)
