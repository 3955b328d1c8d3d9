"""What there is to know of one operator: `OpDef`.

A family module (`elementwise`, `reduction`, …) defines its operators and ends in the tuple ``OPS``;
`catalog` joins the families. What an operator *means* for judging results stands apart, in
`oracle`, which never calls `OpDef.compute`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

from reference_vm.diagnostics import CompileError, DataError, Diagnostic
from reference_vm.source import Span
from reference_vm.types import Attrs, AttrValue, Dim, TensorType, Type

if TYPE_CHECKING:
    from reference_vm.loops.kernel import LoopRule

Array: TypeAlias = Any
"""An array of the namespace that a kernel runs on: NumPy's or CuPy's."""

Namespace: TypeAlias = Any
"""``numpy``, ``cupy``, or what else follows NumPy's interface."""


class Trait(Enum):
    """What passes may know of an operator without knowing the operator."""

    ELEMENTWISE = auto()
    """Each result element depends on the operands' elements at the same (broadcast) place."""

    INJECTIVE = auto()
    """Each result element is one operand element: transposes, slices, concatenations."""

    REDUCTION = auto()
    """Folds axes away."""

    VIEW = auto()
    """The result is operand 0's memory seen with another shape; no kernel runs, no record."""

    MOVES_DATA = auto()
    """Reads from another device; that is what it is for. Never merged, folded or removed."""

    METADATA = auto()
    """Reads only the shape of operand 0, never its data: ``shape_of``."""

    HOST = auto()
    """Runs on the host and yields a host fact, whatever the placement of its operands."""

    EXACT = auto()
    """Every device computes the same bits: moves, integers, comparisons, + - * / and sqrt.
    Only such operators are folded (semantics section 3)."""

    CAN_FAIL = auto()
    """May report an error that depends on data: never folded away, merged or moved. It is removed,
    with the error that it might have reported, only when nobody reads its result."""

    DATA_DEPENDENT = auto()
    """The result's shape depends on the operands' data beyond its host operands."""


@final
@dataclass(frozen=True, slots=True)
class Operand:
    """One place in an operator's signature."""

    name: str
    optional: bool = False
    """May be ``none`` or left out at the end."""

    variadic: bool = False
    """Takes one operand or more; only the last may."""

    host: bool = False
    """Its *data* is read on the host, to decide a shape: a reshape target, slice bounds."""


class Required:
    """The type of `REQUIRED`, which stands where an attribute has no default."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = Required()


@final
@dataclass(frozen=True, slots=True)
class Attr:
    """One attribute: the types its value may have, and what it is when left out."""

    kinds: tuple[type, ...]
    """``(int,)``, ``(tuple,)``, ``(float,)`` (which takes integers too), ``(str,)``, ``(DType,)``,
    ``(bool,)``; add ``type(None)`` for one that may be ``none``."""

    default: AttrValue | Required = REQUIRED
    choices: tuple[AttrValue, ...] = ()
    """For a ``str``, every value it may have; empty for any."""


Content: TypeAlias = tuple[Dim, ...]
"""What is known at compile time of the elements of a small integer tensor or shape value."""


@final
@dataclass(frozen=True, slots=True)
class OpCall:
    """One call of an operator, as its type rule sees it."""

    op: OpDef
    types: tuple[Type | None, ...]
    """Of each operand, in order; ``None`` for one left out. As long as the signature, or longer
    when it ends in a variadic operand."""

    attrs: Attrs
    """With the defaults filled in."""

    contents: tuple[Content | None, ...]
    """What is known of the operands' elements, for each operand; a `ShapeType`'s dims included."""

    span: Span | None = None

    def tensor(self, index: int) -> TensorType:
        """Return operand ``index``'s type.

        Raises:
            CompileError: It is left out or no tensor.
        """
        found = self.types[index] if index < len(self.types) else None
        if isinstance(found, TensorType):
            return found
        where = self.op.operand(index).name
        raise self.error("type-mismatch", f"operand {where} is {found}, expected a tensor")

    def present(self, index: int) -> bool:
        """Whether optional operand ``index`` is there."""
        return index < len(self.types) and self.types[index] is not None

    def content(self, index: int) -> Content | None:
        return self.contents[index] if index < len(self.contents) else None

    def error(self, code: str, message: str, help: str | None = None) -> CompileError:  # noqa: A002 - the diagnostic's own word
        """Return the error that this call is wrong; the message is prefixed with the operator."""
        return CompileError(Diagnostic(code, f"{self.op.name}: {message}", self.span, help))


TypeRule: TypeAlias = Callable[[OpCall], Type]
"""Returns the result's type: a `TensorType`, a `ShapeType`, or a tuple for several results.
Devices are no concern of it: results carry none. Raises `CompileError` through `OpCall.error`."""

ContentRule: TypeAlias = Callable[[OpCall], "Content | None"]
"""Returns what is known of the result's elements, for integer results of rank 0 or 1."""

Compute: TypeAlias = Callable[..., Any]
"""``compute(xp, *operands, **attrs)``: the result array, or a tuple of them.

Operands are arrays of the namespace ``xp``; host operands (`Operand.host`) are NumPy arrays or, for
shape values, tuples of ints; one left out is ``None``. Written once, it runs on every device that
has an array namespace. Must return fresh or aliased memory, never write its operands. Raises
`DataError` for what only the data can tell. One with a parameter ``out`` is given the array that
its result is to be in, or ``None``, and may write and return that.
"""


SizeRule: TypeAlias = Callable[[Sequence["Type | None"], Sequence[Any], Attrs], "Type | None"]
"""``sizes(types, data, attrs)``: the result's type by what host operands hold that no `Content`
can say, such as the floats that ``resize`` scales by.

The dims of ``types`` are numbers; ``data`` are NumPy arrays, ``None`` for what is not read on the
host. Returns ``None`` if that does not settle it either. Raises `DataError`.
"""


@final
@dataclass(frozen=True)
class OpDef:
    """An operator."""

    name: str
    summary: str
    """What it computes, one sentence."""

    operands: tuple[Operand, ...]
    infer: TypeRule
    compute: Compute
    attrs: Mapping[str, Attr] = field(default_factory=lambda: MappingProxyType({}))
    loops: LoopRule | None = None
    """The operator in the loop IR; with it, it fuses and is compiled."""

    content: ContentRule | None = None
    sizes: SizeRule | None = None
    """Tells before a launch what ``infer`` leaves open, for operators with such host operands."""

    traits: frozenset[Trait] = frozenset()
    origin: str = "array-api"
    """Who defines its meaning: ``array-api``, ``onnx``, or ``hettest`` for our own."""

    def has(self, trait: Trait) -> bool:
        return trait in self.traits

    def can_fail(self, result: Type | None) -> bool:
        """Whether a call with this result type may report an error that depends on data.

        Elementwise operators fail on integers only: division by zero, negative exponents.
        """
        floats = isinstance(result, TensorType) and result.dtype.is_float
        return Trait.CAN_FAIL in self.traits and not (Trait.ELEMENTWISE in self.traits and floats)

    def operand(self, index: int) -> Operand:
        """Return the signature's operand that argument ``index`` is for."""
        return self.operands[min(index, len(self.operands) - 1)]

    def is_host_operand(self, index: int) -> bool:
        """Whether the data of argument ``index`` is read on the host."""
        if Trait.METADATA in self.traits:
            return False
        return self.operand(index).host or Trait.HOST in self.traits

    def arity(self) -> tuple[int, int | None]:
        """Return the least and the greatest number of arguments; ``None`` for no limit."""
        least = sum(1 for o in self.operands if not o.optional)
        variadic = bool(self.operands) and self.operands[-1].variadic
        return least, None if variadic else len(self.operands)


__all__ = [
    "REQUIRED",
    "Array",
    "Attr",
    "Compute",
    "Content",
    "ContentRule",
    "DataError",
    "Namespace",
    "OpCall",
    "OpDef",
    "Operand",
    "Required",
    "SizeRule",
    "Trait",
    "TypeRule",
]


def is_view(ops: Mapping[str, OpDef], name: str) -> bool:
    """Return whether an operator's result is its first operand's memory, seen in another way."""
    return name in ops and Trait.VIEW in ops[name].traits
