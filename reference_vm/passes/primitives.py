"""The primitive functions of a module: one for each structure of work.

Two pieces of work that differ only in the names of variables and symbols are one function::

    fn @fused_add_exp(%p0: f32[d0, 4], %p1: f32[4]) -> f32[d0, 4] attrs { primitive = true } {
      %v0 = add(%p0, %p1)
      %v1 = exp(%v0)
      return %v1
    }

Dims that are no numbers become symbols ``d0``, ``d1`` of the function's own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Call,
    Constant,
    Function,
    GlobalRef,
    MakeTuple,
    Operand,
    Var,
)
from reference_vm.types import (
    UNKNOWN,
    Attrs,
    Dim,
    ShapeType,
    TensorType,
    TupleType,
    Type,
)
from reference_vm.types.dim import substitute, symbol, symbols

_NAMED: Final = 5
"""How many operators a fused function is named after."""


@final
@dataclass
class PrimitiveTable:
    """Primitive functions made so far, by structure."""

    names: FreshNames
    """Has the names of functions that the module has."""

    functions: list[Function] = field(default_factory=list)
    _known: dict[Hashable, GlobalRef] = field(default_factory=dict)

    def intern(
        self, work: Sequence[Binding], params: Sequence[Var], results: Sequence[Var]
    ) -> GlobalRef:
        """Return the function that does this work.

        Args:
            work: Calls and constants, in order.
            params: What the calls read from outside, each once.
            results: Variables bound by ``work``; several become a tuple.
        """
        function = normalized(work, params, results)
        key = _structure(function)
        if key not in self._known:
            name = self._name([b.value.op for b in work if isinstance(b.value, Call)])
            self.functions.append(
                Function(name, function.params, function.result, function.body, attrs=_PRIMITIVE)
            )
            self._known[key] = GlobalRef(name)
        return self._known[key]

    def _name(self, ops: Sequence[str]) -> str:
        base = ops[0] if len(ops) == 1 else "_".join(("fused", *ops[:_NAMED]))
        if len(ops) > _NAMED:
            base = f"{base}_and_{len(ops) - _NAMED}_more"
        return self.names.fresh(base.replace(".", "_"))


_PRIMITIVE: Final = Attrs(primitive=True)


@final
@dataclass
class _Dims:
    """The symbols that stand for the dims of a primitive function."""

    symbols: dict[Dim, Dim] = field(default_factory=dict)

    def bind(self, type_: Type | None) -> Type | None:
        """Return a parameter's type, in the function's own symbols."""
        for dim in _dims_of(type_):
            if not isinstance(dim, int) and dim is not UNKNOWN and dim not in self.symbols:
                self.symbols[dim] = symbol(f"d{len(self.symbols)}")
        return self.rename(type_)

    def rename(self, type_: Type | None) -> Type | None:
        match type_:
            case TensorType(dtype=dtype, shape=shape, vdevice=vdevice):
                dims = None if shape is None else tuple(map(self._dim, shape))
                return TensorType(dtype, dims, vdevice)
            case ShapeType(dims=dims):
                return ShapeType(None if dims is None else tuple(map(self._dim, dims)))
            case TupleType(items=items):
                renamed = [self.rename(t) for t in items]
                return TupleType(tuple(t for t in renamed if t is not None))
            case _:
                return type_

    def _dim(self, dim: Dim) -> Dim:
        """Return ``dim`` in the function's symbols; unknown if they do not say it."""
        if isinstance(dim, int) or dim is UNKNOWN:
            return dim
        if dim in self.symbols:
            return self.symbols[dim]
        values = {name: self.symbols.get(symbol(name)) for name in symbols(dim)}
        known = {name: value for name, value in values.items() if value is not None}
        return substitute(dim, known) if len(known) == len(values) else UNKNOWN


def _dims_of(type_: Type | None) -> Iterable[Dim]:
    match type_:
        case TensorType(shape=dims) | ShapeType(dims=dims):
            return dims or ()
        case TupleType(items=items):
            return tuple(d for t in items for d in _dims_of(t))
        case _:
            return ()


def normalized(work: Sequence[Binding], params: Sequence[Var], results: Sequence[Var]) -> Function:
    """Return the function that does this work, as `PrimitiveTable.intern` does, without a name."""
    dims = _Dims()
    renamed: dict[Var, Var] = {}
    for param in params:
        renamed[param] = Var(f"p{len(renamed)}", dims.bind(param.type))
    made = tuple(renamed.values())
    bindings: list[Binding] = []
    for number, binding in enumerate(work):
        var = renamed[binding.var] = Var(f"v{number}", dims.rename(binding.var.type))
        value = binding.value
        if isinstance(value, Call):
            args = tuple(renamed[a] if isinstance(a, Var) else a for a in value.args)
            value = Call(value.op, args, value.attrs)
        elif isinstance(value, Constant):
            value = Constant(value.dtype, value.shape, value.data)
        bindings.append(Binding(var, value))
    result = renamed[results[0]]
    if len(results) > 1:
        items = tuple(renamed[r] for r in results)
        result = Var("results", TupleType(tuple(v.type for v in items if v.type is not None)))
        bindings.append(Binding(result, MakeTuple(items)))
    assert result.type is not None
    return Function("", made, result.type, Block(tuple(bindings), result))


def _structure(function: Function) -> Hashable:
    """Return what two functions share if they are alike but for names."""
    numbers: dict[Operand, int] = {p: i for i, p in enumerate(function.params)}
    items: list[Hashable] = [tuple(p.type for p in function.params)]
    for binding in function.body.bindings():
        numbers[binding.var] = len(numbers)
        value = binding.value
        match value:
            case Call(op=op, args=args, attrs=attrs):
                items.append((op, tuple(numbers.get(a, a) for a in args), attrs, binding.var.type))
            case MakeTuple(items=members):
                items.append(tuple(numbers[m] for m in members))
            case Constant(dtype=dtype, shape=shape, data=data):
                items.append((dtype, shape, data))
            case _:
                raise AssertionError(f"{type(value).__name__} is no work")
    return (*items, numbers[function.body.result])
