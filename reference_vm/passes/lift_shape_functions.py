"""Turn computations of shapes into shapes: what symbols say needs no operator.

Before::

    %s = shape_of(%x)                   // %x: f32[n, 4]
    %t = shape_to_tensor(%s)
    %i = const i64[] 0
    %m = take(%t, %i, axis = 0)
    %r = reshape(%y, %target)           // f32[2*n, 2], from a chain of such operators

After::

    %m = shape_to_tensor and squeeze of the literal shape [n]
    %r.shape = shape [2*n, 2]
    %r = reshape(%y, %r.shape, allow_zero = true)

Symbols are bound when a function is entered, so such literals cost nothing in a run and tie no
operator to the host. The operators that computed them are left for ``eliminate-dead-code``. What
only the run can tell, and what the program places, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, final

from reference_vm.analysis import contents
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Binding, Call, Constant, Function, Module, ShapeLiteral, Var
from reference_vm.ops.definition import Content, OpDef, Trait
from reference_vm.ops.shapes import lower_bound
from reference_vm.passes.context import PassContext, Property
from reference_vm.types import Attrs, Dim, Poly, ShapeType, TensorType, Unknown
from reference_vm.types.dim import DIVIDING, Opaque
from reference_vm.types.dtype import I64

TARGETS: Final[Mapping[str, int]] = {"reshape": 1, "broadcast_to": 1, "expand": 1, "full": 0}
"""Operators whose result has the very shape that an operand says, and which operand."""


@final
@dataclass(frozen=True)
class LiftShapeFunctions:
    """``lift-shape-functions``: turn computations of shapes into shapes."""

    name: ClassVar[str] = "lift-shape-functions"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with every shape that symbols say written as a literal."""
        return module.with_functions([_Lifter(f, ctx.ops).run() for f in module.functions])


class _Lifter:
    """Lifts within one function."""

    def __init__(self, function: Function, ops: Mapping[str, OpDef]) -> None:
        self.function = function
        self.ops = ops
        self.contents = contents.of_function(function, ops)
        self.literals: set[Var] = set()
        self.vectors: set[Var] = set()
        """What ``shape_to_tensor`` makes of a literal."""

    def run(self) -> Function:
        body = rewrite.rebuild(self.function.body, self._binding, {})
        return replace(self.function, body=body)

    def _binding(self, binding: Binding) -> Iterable[Binding]:
        value, var = binding.value, binding.var
        if isinstance(value, ShapeLiteral):
            self.literals.add(var)
        if not isinstance(value, Call) or value.op == "match_cast":
            return (binding,)
        if self.ops[value.op].has(Trait.MOVES_DATA):
            return (binding,)
        known = self.contents.get(var)
        if known is not None and self._is_lifted(var, value) and not _is_static(known):
            return (binding,)
        if known is not None and _is_said(known) and not _is_placed(binding):
            lifted = _literal(var, known)
            if lifted:
                return lifted
        return self._with_target(binding, value)

    def _is_lifted(self, var: Var, call: Call) -> bool:
        """Whether ``call`` makes a tensor of a shape literal, with nothing between but a vector."""
        lifted = (call.op == "shape_to_tensor" and call.args[0] in self.literals) or (
            call.op == "squeeze" and call.args[0] in self.vectors
        )
        if lifted and call.op == "shape_to_tensor":
            self.vectors.add(var)
        return lifted

    def _with_target(self, binding: Binding, call: Call) -> Iterable[Binding]:
        """Write the shape that ``call`` is asked for as its result's own."""
        type_, position = binding.var.type, TARGETS.get(call.op)
        if position is None or not isinstance(type_, TensorType) or not type_.is_sized:
            return (binding,)
        target = call.args[position]
        if target in self.literals or type_.shape is None or not _is_said(type_.shape):
            return (binding,)
        asked = self.contents.get(target) if isinstance(target, Var) else None
        if asked is None or not _is_met(call.op, asked, type_.shape):
            return (binding,)
        literal = Var(f"{binding.var.name}.shape", ShapeType(type_.shape))
        self.literals.add(literal)
        args = (*call.args[:position], literal, *call.args[position + 1 :])
        attrs = call.attrs.with_(allow_zero=True) if "allow_zero" in call.attrs else call.attrs
        new = replace(binding, value=replace(call, args=args, attrs=attrs))
        return (Binding(literal, ShapeLiteral(type_.shape)), new)


def _is_placed(binding: Binding) -> bool:
    type_ = binding.var.type
    pinned = isinstance(type_, TensorType) and type_.vdevice is not None
    return binding.request is not None or pinned


def _is_met(op: str, asked: Content, shape: Content) -> bool:
    """Whether ``shape`` certainly answers what was asked for, so that no run can find a fault.

    A target of ``expand`` may be less than the result, and one that is not known may be wrong.
    """
    if op == "expand":
        last = shape[len(shape) - len(asked) :]
        return all(want in (1, dim) for want, dim in zip(asked, last, strict=True))
    return not any(isinstance(want, Unknown) for want in asked)


def _is_static(known: Content) -> bool:
    return all(isinstance(dim, int) for dim in known)


def _is_said(dims: Content) -> bool:
    """Whether every dim is a size: a number or an expression that is never negative."""
    return all(_is_size(dim) for dim in dims)


def _is_size(dim: Dim) -> bool:
    return not isinstance(dim, Unknown) and lower_bound(dim) >= 0 and not _may_fail(dim)


def _may_fail(dim: Dim) -> bool:
    """Whether something in ``dim`` is divided by what may be 0."""
    atoms = [a for m, _ in dim.terms for a in m] if isinstance(dim, Poly) else []
    return any(
        (a.function in DIVIDING and (not isinstance(a.right, int) or a.right == 0))
        or _may_fail(a.left)
        or _may_fail(a.right)
        for a in atoms
        if isinstance(a, Opaque)
    )


def _literal(var: Var, known: Content) -> tuple[Binding, ...]:
    """Return bindings that give ``var`` its known elements; none if there is no way to."""
    type_ = var.type
    if isinstance(type_, ShapeType):
        return (Binding(var, ShapeLiteral(known)),)
    if not isinstance(type_, TensorType) or type_.shape is None:
        return ()
    numbers = [d for d in known if isinstance(d, int)]
    if len(numbers) == len(known):
        return (Binding(var, _constant(type_, numbers)),)
    if type_.dtype != I64:
        return ()
    shape = Var(f"{var.name}.shape", ShapeType(known))
    literal = Binding(shape, ShapeLiteral(known))
    if type_.rank == 1:
        return (literal, Binding(var, Call("shape_to_tensor", (shape,))))
    vector = Var(f"{var.name}.vector", TensorType(I64, (1,)))
    made = Binding(vector, Call("shape_to_tensor", (shape,)))
    return (literal, made, Binding(var, Call("squeeze", (vector,), Attrs(axes=(0,)))))


def _constant(type_: TensorType, numbers: list[int]) -> Constant:
    size, signed = type_.dtype.itemsize, type_.dtype.is_signed
    data = b"".join(n.to_bytes(size, "little", signed=signed) for n in numbers)
    shape = (len(numbers),) if type_.rank == 1 else ()
    return Constant(type_.dtype, shape, data)


__all__ = ["TARGETS", "LiftShapeFunctions"]
