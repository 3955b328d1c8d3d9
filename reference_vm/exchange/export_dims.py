"""Dims computed in an ONNX graph: ``4*n + 1`` becomes nodes that read ``n`` off an operand's shape.

Every dim is a vector of one element, so that a shape is one ``Concat``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import final

import numpy as np

from reference_vm.exchange.export_writer import GraphWriter, inexpressible
from reference_vm.types import Dim, Poly, Shape
from reference_vm.types.dim import Atom, Monomial, Opaque


@final
@dataclass(frozen=True, slots=True)
class SymbolSource:
    """Where a symbol can be read: an axis of a value, or an element of a shape value."""

    value: str
    axis: int
    is_shape: bool = False


@final
@dataclass(frozen=True, slots=True)
class DimWriter:
    """Writes dims into one graph."""

    writer: GraphWriter
    sources: Mapping[str, SymbolSource]
    where: str

    def shape(self, dims: Shape) -> str:
        """Return the name of an i64 vector of these dims.

        Raises:
            CompileError: ``inexpressible``, one is unknown.
        """
        numbers = [d for d in dims if isinstance(d, int)]
        if len(numbers) == len(dims):
            return self.writer.constant(np.asarray(numbers, np.int64))
        return self._emit("Concat", *map(self.dim, dims), axis=0)

    def dim(self, dim: Dim) -> str:
        if isinstance(dim, int):
            return self.writer.constant(np.asarray([dim], np.int64))
        if not isinstance(dim, Poly):
            raise inexpressible(self.where, "a dim of the shape is unknown")
        terms = [self._term(monomial, factor) for monomial, factor in dim.terms]
        return reduce(lambda x, y: self._emit("Add", x, y), terms)

    def _term(self, monomial: Monomial, factor: int) -> str:
        parts = [self._atom(atom) for atom in monomial]
        if factor != 1 or not parts:
            parts.append(self.dim(factor))
        return reduce(lambda x, y: self._emit("Mul", x, y), parts)

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Opaque):
            return self._function(atom)
        source = self.sources.get(atom)
        if source is None:
            raise inexpressible(self.where, f"nothing here has the dim {atom} by itself")
        if source.is_shape:
            place = self.writer.constant(np.asarray([source.axis], np.int64))
            return self._emit("Gather", source.value, place, axis=0)
        return self._emit("Shape", source.value, start=source.axis, end=source.axis + 1)

    def _function(self, term: Opaque) -> str:
        left, right = self.dim(term.left), self.dim(term.right)
        match term.function:
            case "min" | "max":
                return self._emit(term.function.capitalize(), left, right)
            case "mod":
                return self._emit("Mod", left, right)
            case "floordiv":
                return self._floordiv(left, right)
            case _:
                return self._emit("Neg", self._floordiv(self._emit("Neg", left), right))

    def _floordiv(self, left: str, right: str) -> str:
        """ONNX's ``Div`` rounds towards 0, its ``Mod`` towards minus infinity."""
        whole = self._emit("Sub", left, self._emit("Mod", left, right))
        return self._emit("Div", whole, right)

    def _emit(self, op: str, *inputs: str, **attrs: int) -> str:
        return self.writer.emit(op, inputs, **attrs)[0]


__all__ = ["DimWriter", "SymbolSource"]
