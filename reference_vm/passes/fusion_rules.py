"""When an operator can be computed in the same loops as others, by the shapes alone.

The *form* of a group says what loops it has: over which shape, how many of the last axes are folded
(a row), and whether something in it is transposed. In a group that folds, a value has the shape of
the domain or that of a row's result, with or without the folded axes.

A matrix product begins a group: its operands may be transposed by it alone, and what follows on its
result joins while it has the result's shape. A second product joins if its left operand is a row
fold of the first, as in attention; a transpose of a product that keeps its rows ends a group.
A convolution begins a group that one ``relu`` of its result ends, or one ``leaky_relu`` of floats
that sums are kept in.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TypeAlias, final

from reference_vm.ir.nodes import Binding, Call, Var
from reference_vm.loops.kernel import Correlation, Elementwise, LoopRule, Move, Product, Reduce
from reference_vm.loops.lower import NoLoops, row_axes_of
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.types import TensorType, VirtualDevice
from reference_vm.types.dtype import F32, F64

Shape: TypeAlias = "tuple[Hashable, ...]"
"""Dims, or one token that stands for an unknown shape."""


class Kind(Enum):
    """What an operator does to the loops around it."""

    MAP = auto()
    FOLD = auto()
    ROWS = auto()
    """Folds over the row, and yields every place of it: softmax."""

    MOVE = auto()
    PRODUCT = auto()
    WINDOWS = auto()
    """A convolution."""


@final
@dataclass(frozen=True, slots=True)
class Form:
    """The loops of a group."""

    domain: Shape
    rows: int = 0
    moved: bool = False
    lone: bool = False
    """Whether it is one transpose and nothing else."""

    products: int = 0
    bare: bool = False
    """Whether nothing follows on its last product."""

    closed: bool = False
    """Whether nothing may join it."""

    windows: bool = False
    """Whether it is a convolution and nothing else."""

    def accepts(self, shape: Shape) -> bool:
        """Whether a value of this shape has a place in the loops."""
        return shape == self.domain or (self.rows > 0 and shape in (self.kept, self.dropped))

    @property
    def kept(self) -> Shape:
        """The shape of a fold that keeps the folded axes, as ones."""
        return (*self.dropped, *(1,) * self.rows)

    @property
    def dropped(self) -> Shape:
        return self.domain[: len(self.domain) - self.rows]


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One operator that may be fused."""

    kind: Kind
    operands: tuple[Var, ...]
    shapes: tuple[Shape, ...]
    """Of the operands."""

    shape: Shape
    rows: int
    exact: bool
    place: VirtualDevice | None
    limit: int
    """The most operators in a group on that device."""

    keeps_rows: bool = False
    """For a transpose: whether a product may write its rows to where they go."""

    ends_windows: bool = False
    """Whether a convolution may compute it as it stores its result."""

    def alone(self) -> Form:
        """Return the form of a group of this operator only."""
        match self.kind:
            case Kind.FOLD:
                return Form(self.shapes[0], self.rows)
            case Kind.MOVE:
                return Form(self.shape, moved=True, lone=True)
            case Kind.PRODUCT:
                return Form(self.shape, products=1, bare=True)
            case Kind.WINDOWS:
                return Form(self.shape, windows=True)
            case Kind.MAP | Kind.ROWS:
                return Form(self.shape, self.rows)

    def joined(
        self, form: Form, group: Form, inside: Sequence[int], free: bool, sole: bool
    ) -> Form | None:
        """Return the form of a group with this operator and another group in it.

        Args:
            form: Of the group that the operator is in so far.
            group: Of the group to be added.
            inside: Which operands come from that group.
            free: Whether that group may be computed at other places than its own: nothing else
                reads it, and nothing in it is costly.
            sole: Whether nothing else reads it.
        """
        work = self.kind not in (Kind.PRODUCT, Kind.MOVE)
        if group.closed or (work and form.products + group.products > 1):
            return None
        if group.windows or form.windows:
            ends = group.windows and sole and self.ends_windows
            return Form(self.shape, closed=True) if ends else None
        match self.kind:
            case Kind.MAP:
                return _followed(self._mapped(form, group, inside, free), form, group)
            case Kind.MOVE:
                return self._moved(group, free, sole)
            case Kind.PRODUCT:
                return self._multiplied(form, group, inside, free, sole)
            case Kind.WINDOWS:
                return None
            case Kind.FOLD | Kind.ROWS:
                fits = all(self.shapes[i] == group.domain for i in inside)
                same = group.rows in (0, self.rows) and group.domain == form.domain
                alike = fits and same and not group.moved
                one = self.rows == 1 or not group.products
                return _followed(form if alike and one else None, form, group)

    def _moved(self, group: Form, free: bool, sole: bool) -> Form | None:
        """Return the form after a transpose."""
        if group.products:
            ends = group.bare and sole and self.keeps_rows
            return Form(self.shape, products=group.products, closed=True) if ends else None
        return Form(self.shape, 0, True) if group.rows == 0 and free else None

    def _multiplied(
        self, form: Form, group: Form, inside: Sequence[int], free: bool, sole: bool
    ) -> Form | None:
        """Return the form of a product with the group that an operand comes from."""
        if group.lone:
            return form if free else None
        batched = len(self.shapes[1]) > 2 and len(self.shapes[0]) == len(self.shape)
        chained = group.products == 1 and group.rows == 1 and form.products == 1
        first = list(inside) == [0] and self.shapes[0] == group.domain
        if not (batched and chained and first and sole):
            return None
        return replace(form, products=2)

    def _mapped(self, form: Form, group: Form, inside: Sequence[int], free: bool) -> Form | None:
        if group.rows:
            return self._mapped_to_rows(form, group, inside)
        if form.accepts(group.domain) and not (group.moved and form.rows):
            return replace(form, moved=form.moved or group.moved)
        if free and is_sized(group.domain) and is_sized(self.shape) and not group.moved:
            return form
        return None

    def _mapped_to_rows(self, form: Form, group: Form, inside: Sequence[int]) -> Form | None:
        if form.rows:
            fits = form == group
        else:
            fits = not form.moved and group.accepts(form.domain) and group.accepts(self.shape)
        aligned = all(
            self.shapes[i] in (group.domain, group.kept) or self.shape == group.dropped
            for i in inside
        )
        return group if fits and aligned else None


def _followed(form: Form | None, own: Form, group: Form) -> Form | None:
    """Return ``form`` with the products of both that it is made of, none of them bare."""
    if form is None:
        return None
    products = own.products + group.products
    return replace(form, products=products, bare=False, lone=False)


def _keeps_rows(call: Call, rank: int) -> bool:
    axes = call.attrs.get("axes")
    return isinstance(axes, tuple) and bool(axes) and axes[-1] in (rank - 1, -1)


@final
@dataclass
class StepReader:
    """Says what the operators of one function are, to fusion."""

    _shapes: dict[Var, Shape] = field(default_factory=dict)

    def step(self, binding: Binding, call: Call, op: OpDef, limit: int) -> Step | None:
        """Return the step that a call is; ``None`` if it has no form that fuses."""
        operands = tuple(a for a in call.args if isinstance(a, Var))
        if not operands or not all(_is_ranked(v) for v in (*operands, binding.var)):
            return None
        shapes = tuple(map(self.shape, operands))
        found = self._kind(binding, call, op.loops, shapes)
        if found is None:
            return None
        kind, rows = found
        exact, place = op.has(Trait.EXACT), binding.var.tensor.vdevice
        shape = self.shape(binding.var)
        keeps = kind is Kind.MOVE and _keeps_rows(call, len(shapes[0]))
        wide = binding.var.tensor.dtype in (F32, F64)
        ends = op.name == "relu" or (op.name == "leaky_relu" and wide)
        return Step(kind, operands, shapes, shape, rows, exact, place, limit, keeps, ends)

    def _kind(
        self, binding: Binding, call: Call, rule: LoopRule | None, shapes: Sequence[Shape]
    ) -> tuple[Kind, int] | None:
        """Return what an operator does, and how many axes it folds."""
        match rule:
            case Elementwise():
                self._inherit(binding.var, shapes)
                return Kind.MAP, 0
            case Move(kind="permute"):
                return Kind.MOVE, 0
            case Product():
                return Kind.PRODUCT, 0
            case Correlation():
                return Kind.WINDOWS, 0
            case None | Move():
                return None
        try:
            rows = row_axes_of(call, len(shapes[0]), rule)
        except NoLoops:
            return None
        if not is_sized(shapes[0]):
            return None
        return Kind.FOLD if isinstance(rule, Reduce) else Kind.ROWS, rows

    def shape(self, var: Var) -> Shape:
        """Return the dims of ``var``, or a token of its own if they are not known."""
        if var not in self._shapes:
            type_ = var.tensor
            sized = type_.is_sized and type_.shape is not None
            self._shapes[var] = tuple(type_.shape or ()) if sized else (_Token(),)
        return self._shapes[var]

    def _inherit(self, var: Var, shapes: Sequence[Shape]) -> None:
        """An elementwise operator of one shape yields that shape, whatever it is."""
        wide = {s for s in shapes if s != ()}
        if not var.tensor.is_sized and len(wide) == 1:
            self._shapes[var] = wide.pop()


@final
class _Token:
    """Stands for an unknown shape; equal to itself only."""


def is_sized(shape: Shape) -> bool:
    return not any(isinstance(d, _Token) for d in shape)


def _is_ranked(var: Var) -> bool:
    return isinstance(var.type, TensorType) and var.type.shape is not None
