"""Walks the nodes of an ONNX graph in order and translates each.

A node is translated by the first of these that there is: a function of the model itself, a rule
for its operator and schema version (`operators.RULES`), or ONNX's own function body for it, which
is inlined. What has none of the three is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, defs

from reference_vm.exchange import inlining, schemas
from reference_vm.exchange.builder import Builder
from reference_vm.exchange.declared import check_declared, check_value_info
from reference_vm.exchange.node import OnnxNode, RuleTable
from reference_vm.exchange.refusals import invalid, unsupported
from reference_vm.exchange.scope import Scope, domain_of, read_names
from reference_vm.exchange.tensors import to_constant
from reference_vm.ir.nodes import Var

DEPTH_LIMIT = 40
"""How deep subgraphs and function bodies may nest."""

INLINE_LIMIT = 50_000
"""How many nodes inlining may add: functions that call functions grow without bound."""


@final
@dataclass(slots=True)
class GraphImporter:
    """Translates graphs of one model."""

    rules: Mapping[str, RuleTable]
    """By domain."""

    functions: Mapping[tuple[str, str, str], FunctionProto]
    """The model's own, by domain, name and overload."""

    folder: Path | None
    inlined: int = field(default=0, init=False)

    def declare(self, graph: GraphProto, scope: Scope, build: Builder) -> None:
        """Bind the initializers of ``graph`` that anything reads.

        Raises:
            CompileError: Two values have one name, or an initializer is at fault.
        """
        read = read_names(graph)
        for tensor in graph.initializer:
            if tensor.name in scope.values:
                raise invalid(scope.label or "graph", f'"{tensor.name}" is defined twice')
            where = f"{scope.label}initializer"
            if tensor.name in read:
                var = build.bind_constant(to_constant(tensor, where, self.folder))
                build.names.give(var, scope.display(tensor.name))
                scope.values[tensor.name] = var
        for sparse in graph.sparse_initializer:
            if sparse.values.name in read:
                where = f'{scope.label}initializer "{sparse.values.name}"'
                raise unsupported(where, "sparse initializers are not translated")

    def walk(self, nodes: Sequence[NodeProto], scope: Scope, build: Builder) -> None:
        """Translate ``nodes`` in order.

        Raises:
            CompileError: One is at fault or cannot be translated; the message names it.
        """
        scope.later = frozenset(name for node in nodes for name in node.output if name)
        for index, node in enumerate(nodes):
            self._import_node(node, f"{scope.label}{_label(node, index)}", scope, build)

    def outputs(self, names: Iterable[str], scope: Scope) -> tuple[Var, ...]:
        """Return the values of a graph's outputs."""
        found: list[Var] = []
        for name in names:
            var = scope.look_up(name) if scope.knows(name) else None
            if var is None:
                raise invalid(f"{scope.label}output", f'nothing makes "{name}"')
            found.append(var)
        return tuple(found)

    def _import_node(self, node: NodeProto, where: str, scope: Scope, build: Builder) -> None:
        build.where, build.node = where, scope.node_name(node.name)
        inputs = tuple(_look_up(name, scope, where) for name in node.input)
        _check_outputs_new(node, scope, where)
        results = self._results(node, inputs, where, scope, build)
        if len(results) < len(node.output):
            raise unsupported(where, f"output {len(results)} is not translated")
        for name, var in zip(node.output, results, strict=False):
            if not name:
                continue
            if var is None:
                raise unsupported(where, f'output "{name}" is not translated')
            scope.values[name] = var
            if var not in build.names.given:
                build.names.give(var, scope.display(name))

    def _results(
        self,
        node: NodeProto,
        inputs: tuple[Var | None, ...],
        where: str,
        scope: Scope,
        build: Builder,
    ) -> Sequence[Var | None]:
        function = self.functions.get((domain_of(node.domain), node.op_type, node.overload))
        if function is not None:
            attributes = inlining.call_attributes(node, function, scope, where)
            return self._inline(function, attributes, node, inputs, where, scope, build)
        schema = schemas.schema_of(node, scope, where)
        schemas.check_counts(node, schema, where)
        attributes = schemas.attributes_of(node, schema, scope, where)
        known = self.rules.get(domain_of(node.domain), {}).get(node.op_type, {})
        rule = known.get(schema.since_version)
        if rule is not None:
            view = self._view(node, schema, inputs, attributes, where, scope, build)
            found = rule(view)
            return (found,) if isinstance(found, Var) else tuple(found)
        body = inlining.schema_function(node, schema, inputs, scope, where)
        if body is not None:
            return self._inline(body, attributes, node, inputs, where, scope, build)
        raise unsupported(where, _unsupported_message(node, schema, tuple(known)))

    def _view(
        self,
        node: NodeProto,
        schema: defs.OpSchema,
        inputs: tuple[Var | None, ...],
        attributes: Mapping[str, AttributeProto],
        where: str,
        scope: Scope,
        build: Builder,
    ) -> OnnxNode:
        return OnnxNode(
            op=node.op_type,
            version=schema.since_version,
            where=where,
            inputs=inputs,
            outputs=tuple(bool(name) for name in node.output),
            attributes=attributes,
            build=build,
            folder=self.folder,
            translate=lambda graph, given, inner: self._subgraph(graph, given, where, scope, inner),
        )

    def _subgraph(
        self, graph: GraphProto, inputs: Sequence[Var], where: str, scope: Scope, inner: Builder
    ) -> tuple[Var, ...]:
        """Translate a subgraph, such as a branch of ``If``, into ``inner``; return its results."""
        depth = _deeper(scope, where)
        if len(graph.input) != len(inputs):
            message = f'subgraph "{graph.name}" has {len(graph.input)} inputs'
            raise invalid(where, f"{message}, expected {len(inputs) or 'none'}")
        child = Scope(
            label=f"{where}, ",
            opsets=scope.opsets,
            depth=depth,
            parent=scope,
            attributes=scope.attributes,
            prefix=scope.prefix,
            node=scope.node,
        )
        for entry, var in zip(graph.input, inputs, strict=True):
            if not entry.name or entry.name in child.values:
                raise invalid(f'{child.label}input "{entry.name}"', "has no name of its own")
            check_declared(entry, var, f'{child.label}input "{entry.name}"')
            child.values[entry.name] = var
        self.declare(graph, child, inner)
        self.walk(graph.node, child, inner)
        check_value_info(graph, child)
        results = self.outputs((output.name for output in graph.output), child)
        for output, var in zip(graph.output, results, strict=True):
            check_declared(output, var, f'{child.label}output "{output.name}"')
        return results

    def _inline(
        self,
        function: FunctionProto,
        attributes: Mapping[str, AttributeProto],
        node: NodeProto,
        inputs: tuple[Var | None, ...],
        where: str,
        scope: Scope,
        build: Builder,
    ) -> Sequence[Var | None]:
        """Translate a function body in place of the node that calls it."""
        depth = _deeper(scope, where)
        self.inlined += len(function.node)
        if self.inlined > INLINE_LIMIT:
            raise unsupported(where, f"inlining functions makes more than {INLINE_LIMIT} nodes")
        child = inlining.body_scope(function, attributes, node, inputs, where, scope, depth)
        self.walk(function.node, child, build)
        return tuple(_result(name, child) for name in function.output[: len(node.output)])


def _result(name: str, scope: Scope) -> Var | None:
    """Return a result of a function body; ``None`` for one that this call has no use for."""
    return scope.look_up(name) if scope.knows(name) else None


def _label(node: NodeProto, index: int) -> str:
    name = f' "{node.name}"' if node.name else ""
    return f"node {index} ({node.op_type}{name})"


def _look_up(name: str, scope: Scope, where: str) -> Var | None:
    if not name:
        return None
    if scope.knows(name):
        return scope.look_up(name)
    if scope.makes(name):
        message = f'reads "{name}", which is made by a later node or by itself'
        raise invalid(where, message, "sort the nodes, and break the cycle if there is one")
    raise invalid(where, f'reads "{name}", which is no input, initializer or result of a node')


def _check_outputs_new(node: NodeProto, scope: Scope, where: str) -> None:
    names = [name for name in node.output if name]
    for index, name in enumerate(names):
        if name in scope.values or name in names[:index]:
            raise invalid(where, f'makes "{name}", which is defined already')


def _deeper(scope: Scope, where: str) -> int:
    if scope.depth >= DEPTH_LIMIT:
        message = f"subgraphs and functions nest deeper than {DEPTH_LIMIT}"
        raise unsupported(where, message, "a function must not call itself")
    return scope.depth + 1


def _unsupported_message(node: NodeProto, schema: defs.OpSchema, known: tuple[int, ...]) -> str:
    if known:
        listed = ", ".join(map(str, sorted(known)))
        return f"{node.op_type} version {schema.since_version} is not known, only {listed}"
    domain = domain_of(node.domain)
    return (
        f"{domain}.{node.op_type} is not translated"
        if domain
        else f"{node.op_type} is not translated"
    )
