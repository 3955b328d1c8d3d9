"""An ONNX model as a module of ours: one function, ``main``, and one for each loop.

The parameters of ``main`` are the graph's inputs without those that an initializer backs; several
outputs become a tuple. Names are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy.typing as npt
from onnx import FunctionProto, GraphProto, ModelProto

from reference_vm.exchange.builder import Builder
from reference_vm.exchange.declared import check_declared, check_value_info
from reference_vm.exchange.finish import finished
from reference_vm.exchange.graphs import GraphImporter
from reference_vm.exchange.load import ModelSource, load
from reference_vm.exchange.operators import RULES
from reference_vm.exchange.refusals import invalid
from reference_vm.exchange.scope import DEFAULT_DOMAIN, Scope, domain_of
from reference_vm.exchange.value_types import to_tensor_type
from reference_vm.ir.nodes import Block, Function, Module, Var
from reference_vm.ops.catalog import OPS
from reference_vm.types import Attrs, TensorType
from reference_vm.types.arrays import to_numpy

ENTRY: Final = "main"


Known: TypeAlias = Mapping[str, npt.NDArray[Any]]


def from_onnx(source: ModelSource, known: Known | None = None) -> Module:
    """Return the module for a model: a path, its bytes, or a ``ModelProto``.

    The inputs in ``known`` become constants in place of parameters: a model whose shapes or axes
    depend on the values of its inputs is so translated for those values alone.

    Operators of ONNX are translated by schema version, from operator set 7 on (older ones where
    nothing changed since). A model that holds what cannot be translated is refused.

    Raises:
        CompileError: ``invalid-model``, ``unsupported-operator``, ``unsupported-type``,
            ``nondeterministic``, ``external-data``, or what an operator's own type rule finds. The
            message names the node, since there is no text to point at.
    """
    model, folder = load(source)
    build = Builder(OPS)
    main = _main(model, folder, known or {}, build)
    if not build.made:
        return Module(functions=(main,))
    return Module(functions=(replace(main, attrs=Attrs(entry=True)), *build.made))


def _main(model: ModelProto, folder: Path | None, known: Known, build: Builder) -> Function:
    graph = model.graph
    scope = Scope(label="", opsets=_opsets(model))
    params = _parameters(graph, scope, build, known)
    importer = GraphImporter(RULES, _functions(model), folder)
    importer.declare(graph, scope, build)
    importer.walk(graph.node, scope, build)
    check_value_info(graph, scope)
    results = importer.outputs((output.name for output in graph.output), scope)
    if not results:
        raise invalid("graph", "has no outputs")
    for entry, var in zip(graph.output, results, strict=True):
        check_declared(entry, var, f'output "{entry.name}"')
    result = results[0] if len(results) == 1 else build.pack(results)
    body, params = finished(Block(tuple(build.bindings), result), params, build.names)
    assert result.type is not None
    return Function(ENTRY, params, result.type, body)


def _opsets(model: ModelProto) -> dict[str, int]:
    opsets = {domain_of(o.domain): int(o.version) for o in model.opset_import}
    if not opsets and model.ir_version < 3:
        return {DEFAULT_DOMAIN: 1}
    return opsets


def _functions(model: ModelProto) -> Mapping[tuple[str, str, str], FunctionProto]:
    found: dict[tuple[str, str, str], FunctionProto] = {}
    for function in model.functions:
        key = (domain_of(function.domain), function.name, function.overload)
        if key in found:
            raise invalid("model", f'function "{function.name}" is defined twice')
        found[key] = function
    return found


def _parameters(graph: GraphProto, scope: Scope, build: Builder, known: Known) -> tuple[Var, ...]:
    backed = {tensor.name for tensor in graph.initializer}
    backed.update(sparse.values.name for sparse in graph.sparse_initializer)
    entries = [entry for entry in graph.input if entry.name not in backed]
    for name in known.keys() - {entry.name for entry in entries}:
        raise invalid("graph", f'has no input "{name}" to be known')
    params: list[Var] = []
    for entry in entries:
        where = f'input "{entry.name}"'
        if not entry.name or entry.name in scope.values:
            raise invalid(where, "has no name of its own")
        type_ = to_tensor_type(entry.type, where, build.symbols)
        if entry.name in known:
            scope.values[entry.name] = _known(entry.name, known[entry.name], type_, build)
        else:
            params.append(build.parameter(entry.name, type_))
            scope.values[entry.name] = params[-1]
    return tuple(params)


def _known(name: str, value: npt.NDArray[Any], type_: TensorType, build: Builder) -> Var:
    """Bind an input whose value is known as a constant."""
    dims = zip(type_.shape or (), value.shape, strict=False)
    fits = type_.rank in (None, value.ndim) and all(d == n for d, n in dims if isinstance(d, int))
    if not fits or value.dtype != to_numpy(type_.dtype):
        found = f"{value.dtype}{list(value.shape)}"
        raise invalid(f'input "{name}"', f"is known as {found}, expected {type_}")
    var = build.constant(value)
    build.names.give(var, name)
    return var
