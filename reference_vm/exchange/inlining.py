"""Function bodies: those of the model itself, and those that ONNX publishes for its operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, defs

from reference_vm.exchange.protobuf import parsed
from reference_vm.exchange.refusals import invalid
from reference_vm.exchange.schemas import given_attributes
from reference_vm.exchange.scope import Scope, domain_of
from reference_vm.exchange.value_types import to_type_proto
from reference_vm.ir.nodes import Var
from reference_vm.types import TensorType


def call_attributes(
    node: NodeProto, function: FunctionProto, scope: Scope, where: str
) -> dict[str, AttributeProto]:
    """Return what the body of a model's own function sees: what the call gives, and defaults.

    Raises:
        CompileError: ``invalid-model``: the call gives one that the function does not have, or
            leaves out one without a default.
    """
    given = given_attributes(node, scope, where)
    defaults = {a.name: a for a in function.attribute_proto}
    for name in given:
        if name not in function.attribute and name not in defaults:
            raise invalid(where, f"function {function.name} has no attribute {name}")
    for name in function.attribute:
        if name not in given:
            raise invalid(where, f"attribute {name} of function {function.name} is missing")
    return {**defaults, **given}


def schema_function(
    node: NodeProto,
    schema: defs.OpSchema,
    inputs: tuple[Var | None, ...],
    scope: Scope,
    where: str,
) -> FunctionProto | None:
    """Return the body that ONNX publishes for ``node``, or ``None`` if there is none.

    Some bodies depend on the node's inputs: which are there, their types and ranks.
    """
    published: Any = schema  # its stub leaves these members out
    opset = scope.opsets[domain_of(node.domain)]
    if published.has_function:
        return _body(published.get_function_with_opset_version(opset))
    if not published.has_context_dependent_function:
        return None
    seen = _as_seen(node, inputs, scope, where).SerializeToString()
    types = [_type_of(var).SerializeToString() for var in inputs]
    return _body(published.get_context_dependent_function_with_opset_version(opset, seen, types))


def _as_seen(
    node: NodeProto, inputs: tuple[Var | None, ...], scope: Scope, where: str
) -> NodeProto:
    """Return ``node`` as a function body may ask of it: which inputs are there, its attributes."""
    seen = NodeProto()
    seen.CopyFrom(node)
    del seen.attribute[:], seen.input[:]
    for name, attribute in given_attributes(node, scope, where).items():
        seen.attribute.add().CopyFrom(attribute)
        seen.attribute[-1].name = name
    seen.input.extend("" if var is None else f"i{index}" for index, var in enumerate(inputs))
    return seen


def _body(data: bytes) -> FunctionProto | None:
    function = parsed(FunctionProto(), data)
    return function if function is not None and function.node else None


def _type_of(var: Var | None) -> TypeProto:
    return to_type_proto(var.type) if var and isinstance(var.type, TensorType) else TypeProto()


def body_scope(
    function: FunctionProto,
    attributes: Mapping[str, AttributeProto],
    node: NodeProto,
    inputs: tuple[Var | None, ...],
    where: str,
    scope: Scope,
    depth: int,
) -> Scope:
    """Return the scope of a body: its inputs are the call's, its results have the call's names.

    Raises:
        CompileError: ``invalid-model``: the call has too many operands or results.
    """
    if len(inputs) > len(function.input) or len(node.output) > len(function.output):
        raise invalid(where, f"function {function.name} takes fewer operands or has fewer results")
    padded = inputs + (None,) * (len(function.input) - len(inputs))
    called = next((name for name in node.output if name), node.name or function.name)
    prefix = f"{scope.display(called)}/"
    named = zip(function.output, node.output, strict=False)
    opsets = {domain_of(o.domain): o.version for o in function.opset_import}
    return Scope(
        label=f"{where}, ",
        opsets={**scope.opsets, **opsets},
        depth=depth,
        attributes=attributes,
        prefix=prefix,
        node=scope.node_name(node.name),
        shown={inner: scope.display(outer) for inner, outer in named if outer},
        values=dict(zip(function.input, padded, strict=True)),
    )
