"""What a function that is cut out of a graph needs from the graph around it.

A body that was translated in place reads variables that it does not bind. To stand alone it gets

* a constant of its own for each constant that it reads;
* a small integer tensor of which all elements are known by number or symbol made again inside,
  so that shapes which depend on it stay known;
* a parameter for everything else, and one shape value for the symbols that no parameter binds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from reference_vm.analysis.compatibility import bound_symbols, symbols_in
from reference_vm.exchange.builder import Builder
from reference_vm.ir.nodes import Binding, Block, Call, ShapeLiteral, Var, operands
from reference_vm.ir.rewrite import free_vars, walk
from reference_vm.types import Dim, Poly, Shape, ShapeType, TensorType
from reference_vm.types.dim import symbol, symbols
from reference_vm.types.dtype import I64

SIZES = "sizes"
"""What the parameter for symbols is called."""


@final
@dataclass(slots=True)
class Captures:
    """What one function body reads from outside."""

    build: Builder
    """Of the function."""

    passed: dict[Var, Var] = field(default_factory=dict)
    """The parameter for each variable that is handed over."""

    inside: dict[Var, Var] = field(default_factory=dict)
    """What is made again inside, for each variable outside."""

    sizes: Shape = ()
    """The symbols that are handed over as a shape value."""

    sizes_param: Var | None = None

    @property
    def params(self) -> tuple[Var, ...]:
        own = (self.sizes_param,) if self.sizes_param is not None else ()
        return (*self.passed.values(), *own)

    @property
    def renamed(self) -> Mapping[Var, Var]:
        """What the body reads in place of each variable outside."""
        return {**self.passed, **self.inside}

    def arguments(self, outside: Builder) -> tuple[Var, ...]:
        """Return what a caller hands over."""
        own = (outside.shape(self.sizes),) if self.sizes_param is not None else ()
        return (*self.passed, *own)


def captures(
    block: Block,
    params: Sequence[Var],
    others: Iterable[Dim],
    outside: Mapping[Var, str],
    build: Builder,
) -> Captures:
    """Return what ``block`` needs; what is made again inside is appended to ``build``.

    Args:
        block: The body.
        params: Parameters that it has already.
        others: Dims that the function's type mentions besides.
        outside: What variables outside are called.
        build: Where what is made inside goes, before the body.
    """
    found = Captures(build)
    own = set(params)
    for var in free_vars(block):
        if var not in own:
            _capture(var, outside, found)
    bound: set[str] = set()
    for param in (*params, *found.passed.values()):
        bound |= bound_symbols(param.type) if param.type is not None else set()
    used = {s for dim in others for s in symbols(dim)}
    used |= {s for p in (*params, *found.passed.values()) for s in _in_type(p)}
    used |= _mentioned(block)
    used.update(*map(_in_binding, build.bindings))
    missing = sorted(used - bound)
    if missing:
        found.sizes = tuple(map(symbol, missing))
        found.sizes_param = build.parameter(SIZES, ShapeType(found.sizes))
    return found


def _capture(var: Var, outside: Mapping[Var, str], found: Captures) -> None:
    build = found.build
    constant = build.constants.get(var)
    content = build.content(var)
    if constant is not None:
        found.inside[var] = build.bind_constant(constant)
    elif content is not None and _is_known(content):
        found.inside[var] = _made_again(content, var, build)
    else:
        assert var.type is not None
        found.passed[var] = build.parameter(outside.get(var, var.name), var.type)


def _is_known(content: Sequence[Dim]) -> bool:
    return all(isinstance(dim, int | Poly) for dim in content)


def _made_again(content: Sequence[Dim], var: Var, build: Builder) -> Var:
    """Append a shape value, or an integer tensor of rank 0 or 1, with these elements."""
    if not isinstance(var.type, TensorType):
        return build.shape(tuple(content))
    dtype, scalar = var.type.dtype, var.type.rank == 0
    if all(isinstance(dim, int) for dim in content):
        return build.constant(np.asarray(content).reshape(() if scalar else -1), dtype)
    tensor = build.call("shape_to_tensor", build.shape(tuple(content)))
    if scalar:
        tensor = build.call("reshape", tensor, build.shape(()))
    return tensor if dtype == I64 else build.call("cast", tensor, to=dtype)


def _mentioned(block: Block) -> set[str]:
    """Return the symbols that the bindings of a block and those inside it speak of."""
    return {name for binding in walk(block) for name in _in_binding(binding)}


def _in_binding(binding: Binding) -> set[str]:
    found: set[str] = set()
    for var in (binding.var, *operands(binding.value)):
        found |= _in_type(var)
    if isinstance(binding.value, ShapeLiteral):
        found.update(*map(symbols, binding.value.dims))
    if isinstance(binding.value, Call):
        for value in binding.value.attrs.values():
            if isinstance(value, Poly):
                found |= symbols(value)
    return found


def _in_type(var: Var) -> set[str]:
    return symbols_in(var.type) if var.type is not None else set()


__all__ = ["Captures", "captures"]
