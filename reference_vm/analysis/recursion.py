"""Which functions of a module may call themselves, directly or through others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from reference_vm.ir.nodes import (
    Binding,
    Block,
    Call,
    Function,
    FunctionValue,
    GlobalRef,
    Invoke,
    Module,
    blocks,
)

CLOSURE: Final = "vm.closure"
"""The lowered form of a closure: the name of a function, and its first arguments."""


def recursive(module: Module) -> frozenset[str]:
    """Return the names of the functions that are on a cycle of mentions of one another."""
    return frozenset(cycles(module))


def cycles(module: Module) -> Mapping[str, tuple[str, ...]]:
    """Return for each function that may call itself those that it does so through, and itself."""
    mentions = {f.name: tuple(dict.fromkeys(mentioned(f))) for f in module.functions}
    found: dict[str, tuple[str, ...]] = {}
    for component in _components(mentions):
        if len(component) > 1 or component[0] in mentions[component[0]]:
            found.update(dict.fromkeys(component, tuple(sorted(component))))
    return found


def mentioned(function: Function) -> Iterator[str]:
    """Yield the functions that ``function`` calls or names, in program order."""
    for binding in _other_than_operators(function.body):
        value = binding.value
        if isinstance(value, FunctionValue):
            yield value.ref.function
        elif isinstance(value, Invoke):
            yield from (o.function for o in (value.callee, *value.args) if isinstance(o, GlobalRef))
        elif isinstance(value, Call):
            yield from (o.function for o in value.args if isinstance(o, GlobalRef))


def _other_than_operators(block: Block) -> Iterator[Binding]:
    """Yield the bindings in ``block`` that call no operator, in program order."""
    for binding in block.bindings():
        if type(binding.value) is not Call or binding.value.op == CLOSURE:
            yield binding
            for inner in blocks(binding.value):
                yield from _other_than_operators(inner)


def _components(graph: dict[str, tuple[str, ...]]) -> Iterator[list[str]]:
    """Yield the strongly connected components of ``graph`` (Tarjan's algorithm, with a stack)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    pending: list[str] = []
    for root in graph:
        if root in number:
            continue
        open_: list[tuple[str, Iterator[str]]] = []
        _enter(root, graph, number, low, pending, open_)
        while open_:
            node, rest = open_[-1]
            following = next(rest, None)
            if following is None:
                open_.pop()
                if open_:
                    low[open_[-1][0]] = min(low[open_[-1][0]], low[node])
                if low[node] == number[node]:
                    cut = pending.index(node)
                    yield pending[cut:]
                    del pending[cut:]
            elif following not in number:
                _enter(following, graph, number, low, pending, open_)
            elif following in pending:
                low[node] = min(low[node], number[following])


def _enter(
    node: str,
    graph: dict[str, tuple[str, ...]],
    number: dict[str, int],
    low: dict[str, int],
    pending: list[str],
    open_: list[tuple[str, Iterator[str]]],
) -> None:
    number[node] = low[node] = len(number)
    pending.append(node)
    open_.append((node, (n for n in graph[node] if n in graph)))


__all__ = ["CLOSURE", "cycles", "mentioned", "recursive"]
