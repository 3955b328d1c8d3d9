"""What operators' drawers share: picking operands, and making a statement of a call."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from reference_vm.diagnostics import CompileError, DataError
from reference_vm.ops.catalog import OPS
from reference_vm.ops.typing import fill_attrs, infer_call
from reference_vm.types import Attrs, ShapeType, TensorType, Type
from reference_vm.types.arrays import from_numpy
from reference_vm.types.dtype import DTYPES
from tests.dynamic.program import Array, Known, Sizes, Statement, bind

FLOATS: Final = ("f32", "f64", "f16")
INTEGERS: Final = ("i64", "i32")


class Nothing(Exception):
    """There is nothing in scope that fits."""


@final
@dataclass
class Counter:
    """Gives out names, all different in a module."""

    count: int = 0

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"


@final
@dataclass
class Scope:
    """What is in scope where the next statement goes, and the statements so far."""

    rng: random.Random
    names: Counter
    known: dict[str, Any]
    roles: tuple[str, ...] = ()
    """What operators may be placed on."""

    statements: list[Statement] = field(default_factory=list)
    vague: set[str] = field(default_factory=set)
    """Names whose rank inference may not know."""

    may_end: bool = False
    """Whether a call that ends the run may be added, as the last one."""

    end: tuple[str, str] | None = None
    """What that call would have bound, and its type."""

    def inner(self) -> Scope:
        """Return the scope of a region here."""
        return Scope(self.rng, self.names, dict(self.known), self.roles, vague=set(self.vague))

    def add(
        self, statement: Statement, reads: Sequence[str | None] = (), ends_as: str | None = None
    ) -> str:
        """Add a statement; return the name it binds, which is vague if one of ``reads`` is.

        Raises:
            DataError: A run would end in an error here. The statement is added only if this is to
                be the end, and its result would have the type ``ends_as``.
        """
        try:
            bind(statement, self.known)
        except DataError:
            if self.may_end and ends_as is not None:
                self.statements.append(statement)
                self.end = (statement.name, ends_as)
            raise
        self.statements.append(statement)
        if any(name in self.vague for name in reads):
            self.vague.add(statement.name)
        return statement.name

    def ranked(self, name: str) -> str:
        """Return the tensor under a name whose rank inference knows: cast, if need be."""
        if name not in self.vague:
            return name
        array: Array = self.value(name)
        cast = f"%{self.names.fresh('v')}"
        type_ = f"{from_numpy(array.dtype)}[{', '.join('?' * array.ndim)}]"
        text = f"{cast}: {type_} = match_cast({name})"
        return self.add(Statement(cast, (text,), _of_rank(name, array.ndim)))

    # --- picking ------------------------------------------------------------------------------

    def pick(self, fits: Callable[[Any], bool]) -> str:
        """Return a name whose value fits; later ones are more likely.

        Raises:
            Nothing: There is none.
        """
        found = [n for n, v in self.known.items() if n.startswith("%") and fits(v)]
        if not found:
            raise Nothing
        recent = found[-4:] if self.rng.random() < 0.6 else found
        return self.rng.choice(recent)

    def tensor(
        self,
        dtypes: Sequence[str] = (),
        ranks: Sequence[int] = (),
        fits: Callable[[Array], bool] = lambda _: True,
    ) -> str:
        """Return a tensor's name; of any dtype and rank unless told otherwise."""

        def is_one(value: Any) -> bool:
            if not isinstance(value, np.ndarray):
                return False
            known = not dtypes or value.dtype in [np.dtype(to_numpy_name(d)) for d in dtypes]
            return known and (not ranks or value.ndim in ranks) and fits(value)

        return self.pick(is_one)

    def value(self, name: str) -> Any:
        return self.known[name]

    def symbols(self) -> list[str]:
        return [n for n in self.known if not n.startswith("%")]

    # --- writing ------------------------------------------------------------------------------

    def call(
        self,
        op: str,
        operands: Sequence[str | None],
        attrs: dict[str, Any] | None = None,
        ends_as: str | None = None,
    ) -> str:
        """Add a call of an operator; return its name."""
        name = f"%{self.names.fresh('v')}"
        text = f"{name} = {call_text(op, operands, attrs or {})}{self._suffix(op)}"
        statement = Statement(name, (text,), _computed(op, operands, attrs or {}))
        return self.add(statement, operands, ends_as)

    def calls(
        self, op: str, operands: Sequence[str | None], attrs: dict[str, Any] | None = None
    ) -> list[str]:
        """Add a call of an operator with several results; return the names of all."""
        whole = self.call(op, operands, attrs)
        return [self.item(whole, i) for i in range(len(self.value(whole)))]

    def item(self, whole: str, index: int) -> str:
        name = f"%{self.names.fresh('v')}"
        text = f"{name} = {whole}[{index}]"
        return self.add(Statement(name, (text,), lambda known: known[whole][index]), [whole])

    def constant(self, array: Array, dtype: str) -> str:
        """Add a constant."""
        name = f"%{self.names.fresh('k')}"
        listed = [_scalar(v) for v in array.reshape(-1)]
        data = listed[0] if array.ndim == 0 else f"[{', '.join(listed)}]"
        shape = ", ".join(map(str, array.shape))
        return self.add(
            Statement(name, (f"{name} = const {dtype}[{shape}] {data}",), lambda _: array)
        )

    def integers(self, *numbers: int, rank: int = 1) -> str:
        """Add a constant of i64."""
        array = np.array(numbers, np.int64)
        return self.constant(array if rank else array.reshape(()), "i64")

    def _suffix(self, op: str) -> str:
        if not self.roles or op in HOST_OPERATORS or self.rng.random() < 0.6:
            return ""
        return f" @{self.rng.choice(self.roles)}"


HOST_OPERATORS: Final = ("shape_of", "size_of", "shape_to_tensor", "tensor_to_shape")


def to_numpy_name(dtype: str) -> str:
    kinds = {"f": "float", "i": "int", "u": "uint"}
    return "bool" if dtype == "bool" else f"{kinds[dtype[0]]}{dtype[1:]}"


def call_text(op: str, operands: Sequence[str | None], attrs: dict[str, Any]) -> str:
    """Return the text of a call."""
    parts = [o if o is not None else "none" for o in operands]
    parts += [f"{name} = {_attr(value)}" for name, value in attrs.items()]
    return f"{op}({', '.join(parts)})"


def _attr(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_attr, value))}]"
    if isinstance(value, str) and value not in DTYPES:
        return f'"{value}"'
    return str(value)


def _scalar(value: Any) -> str:
    if value.dtype.kind == "b":
        return str(bool(value)).lower()
    if value.dtype.kind in "iu":
        return str(int(value))
    return repr(float(value))


def _computed(
    op: str, operands: Sequence[str | None], attrs: dict[str, Any]
) -> Callable[[Known], Any]:
    definition = OPS[op]
    filled = fill_attrs(
        definition,
        Attrs({n: DTYPES[v] if n in ("to", "dtype") else v for n, v in attrs.items()}),
    )

    def apply(known: Known) -> Any:
        given = [None if o is None else known[o] for o in operands]
        _check(op, given, filled)
        plain = [v.dims if isinstance(v, Sizes) else v for v in given]
        with np.errstate(all="ignore"):
            result = definition.compute(np, *plain, **filled)
        if op in ("shape_of", "tensor_to_shape"):
            return Sizes(tuple(map(int, result)))
        return tuple(map(_owned, result)) if isinstance(result, tuple) else _owned(result)

    return apply


def _check(op: str, given: Sequence[Any], attrs: Attrs) -> None:
    """Raise `DataError` unless the type rule takes such operands."""
    types: list[Type | None] = []
    contents: list[tuple[int, ...] | None] = []
    for value in given:
        if isinstance(value, Sizes):
            types.append(ShapeType(value.dims))
        else:
            types.append(
                None if value is None else TensorType(from_numpy(value.dtype), value.shape)
            )
        few = isinstance(value, np.ndarray) and value.dtype.kind == "i" and value.ndim < 2
        contents.append(tuple(map(int, value.reshape(-1))) if few else None)
    try:
        infer_call(OPS[op], types, attrs, contents)
    except CompileError as error:
        first = error.diagnostics[0]
        raise DataError(first.code, first.message) from error


def _of_rank(name: str, rank: int) -> Callable[[Known], Any]:
    def apply(known: Known) -> Any:
        if known[name].ndim != rank:
            raise DataError("match-cast", f"the rank is {known[name].ndim}, expected {rank}")
        return known[name]

    return apply


def _owned(array: Any) -> Array:
    return np.array(array, order="C")
