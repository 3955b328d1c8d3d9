"""Where the names of an ONNX graph are looked up: its values, operator sets and attributes.

A subgraph sees the values of the graph around it; the body of a function sees none of its caller's
but gets the caller's attributes, which its nodes name by ``ref_attr_name``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import final

from onnx import AttributeProto, GraphProto, NodeProto

from reference_vm.ir.nodes import Var

DEFAULT_DOMAIN = ""


@final
@dataclass(slots=True)
class Scope:
    """The names of one graph or function body."""

    label: str
    """Put before places in messages: empty for the model's own graph."""

    opsets: Mapping[str, int]
    depth: int = 0
    parent: Scope | None = None
    attributes: Mapping[str, AttributeProto] | None = None
    """Of the call, in a function body; ``None`` outside of one."""

    prefix: str = ""
    """Put before the names of values, in a function body."""

    node: str = ""
    """The name of the node that calls, in a function body."""

    shown: Mapping[str, str] = field(default_factory=dict)
    """What values that are results of a function body are called instead."""

    values: dict[str, Var | None] = field(default_factory=dict)
    """``None`` for an optional input of a function that the call left out."""

    later: frozenset[str] = frozenset()
    """Every value that some node of this graph makes."""

    def knows(self, name: str) -> bool:
        return any(name in scope.values for scope in self._chain())

    def look_up(self, name: str) -> Var | None:
        """Return a value that is known; ``None`` for one left out."""
        return next(scope.values[name] for scope in self._chain() if name in scope.values)

    def makes(self, name: str) -> bool:
        """Whether some node here or around makes ``name``, before or after."""
        return any(name in scope.later for scope in self._chain())

    def display(self, name: str) -> str:
        """Return what the variable for the value ``name`` is called."""
        return self.shown.get(name, self.prefix + name)

    def node_name(self, name: str) -> str:
        """Return what a node is called for placement, ``layer.1/MatMul`` in a function body."""
        return "/".join(filter(None, (self.node, name)))

    def _chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


def domain_of(name: str) -> str:
    """Return a domain in its one spelling: ``ai.onnx`` is the empty one."""
    return DEFAULT_DOMAIN if name == "ai.onnx" else name


def read_names(graph: GraphProto) -> set[str]:
    """Return every name that ``graph`` or a graph inside it reads, its outputs included."""
    read: set[str] = set()
    pending = [graph]
    while pending:
        current = pending.pop()
        read.update(output.name for output in current.output)
        for node in current.node:
            read.update(node.input)
            pending.extend(subgraphs(node))
    return read


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs
